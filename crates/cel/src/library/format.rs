//! Named formats of text, such as names of objects, and what is said about text that does not have
//! them.

use base64::Engine;

use super::time::Timestamp;
use super::url::Url;
use super::{Function, unfit};
use crate::value::{Outcome, Value};

/// A format with a name.
#[derive(Debug)]
pub struct NamedFormat {
    pub(crate) name: &'static str,
    /// How long the pattern is that checks it, for what checking costs.
    pub(crate) pattern_length: u64,
    check: fn(&str) -> Vec<String>,
}

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric \
    characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  \
    or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case \
    alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character \
    (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters \
    or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. \
    'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start \
    and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex \
    used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric \
    characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
    'MyValue',  or 'my_value',  or '12345', regex used for validation is \
    '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

const LABEL_MAX: usize = 63;
const SUBDOMAIN_MAX: usize = 253;

static FORMATS: [(&str, NamedFormat); 13] = [
    (
        "dns1123Label",
        NamedFormat {
            name: "DNS1123Label",
            pattern_length: 30,
            check: label,
        },
    ),
    (
        "dns1123Subdomain",
        NamedFormat {
            name: "DNS1123Subdomain",
            pattern_length: 60,
            check: subdomain,
        },
    ),
    (
        "dns1035Label",
        NamedFormat {
            name: "DNS1035Label",
            pattern_length: 30,
            check: label_1035,
        },
    ),
    (
        "qualifiedName",
        NamedFormat {
            name: "QualifiedName",
            pattern_length: 60,
            check: qualified_name,
        },
    ),
    (
        "dns1123LabelPrefix",
        NamedFormat {
            name: "DNS1123LabelPrefix",
            pattern_length: 30,
            check: |text| label(&as_prefix(text)),
        },
    ),
    (
        "dns1123SubdomainPrefix",
        NamedFormat {
            name: "DNS1123SubdomainPrefix",
            pattern_length: 60,
            check: |text| subdomain(&as_prefix(text)),
        },
    ),
    (
        "dns1035LabelPrefix",
        NamedFormat {
            name: "DNS1035LabelPrefix",
            pattern_length: 30,
            check: |text| label_1035(&as_prefix(text)),
        },
    ),
    (
        "labelValue",
        NamedFormat {
            name: "LabelValue",
            pattern_length: 40,
            check: label_value,
        },
    ),
    (
        "uri",
        NamedFormat {
            name: "URI",
            pattern_length: 1_103,
            check: |text| Url::parse(text).err().into_iter().collect(),
        },
    ),
    (
        "uuid",
        NamedFormat {
            name: "uuid",
            pattern_length: 71,
            check: |text| {
                unless(
                    is_uuid(text).then_some(()),
                    "does not match the UUID format",
                )
            },
        },
    ),
    (
        "byte",
        NamedFormat {
            name: "byte",
            pattern_length: 84,
            check: |text| unless(is_base64(text).then_some(()), "invalid base64"),
        },
    ),
    (
        "date",
        NamedFormat {
            name: "date",
            pattern_length: 69,
            check: |text| unless(Timestamp::parse_date(text), "invalid date"),
        },
    ),
    (
        "datetime",
        NamedFormat {
            name: "datetime",
            pattern_length: 69,
            check: |text| unless(super::time::parse_lenient(text), "invalid datetime"),
        },
    ),
];

/// The complaint about text that is not what it should be.
fn unless<T>(read: Option<T>, complaint: &str) -> Vec<String> {
    match read {
        Some(_) => Vec::new(),
        None => vec![complaint.to_owned()],
    }
}

/// A generated name begins with the prefix, so that a dash at its end does no harm.
fn as_prefix(text: &str) -> String {
    match text.strip_suffix('-').filter(|rest| !rest.is_empty()) {
        Some(rest) => format!("{rest}a"),
        None => text.to_owned(),
    }
}

fn too_long(text: &str, most: usize) -> Option<String> {
    (text.len() > most).then(|| format!("must be no more than {most} characters"))
}

/// Letters in lower case, digits and dashes, the last of which stand at neither end.
fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

fn is_name(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let ends = |character: char| character.is_ascii_alphanumeric();
    !text.is_empty() && text.bytes().all(inner) && text.starts_with(ends) && text.ends_with(ends)
}

fn label(text: &str) -> Vec<String> {
    let complaint = (!is_label(text)).then(|| LABEL.to_owned());
    too_long(text, LABEL_MAX)
        .into_iter()
        .chain(complaint)
        .collect()
}

fn subdomain(text: &str) -> Vec<String> {
    let complaint = (!text.split('.').all(is_label)).then(|| SUBDOMAIN.to_owned());
    too_long(text, SUBDOMAIN_MAX)
        .into_iter()
        .chain(complaint)
        .collect()
}

fn label_1035(text: &str) -> Vec<String> {
    let fits = is_label(text) && text.starts_with(|character: char| character.is_ascii_lowercase());
    let complaint = (!fits).then(|| LABEL_1035.to_owned());
    too_long(text, LABEL_MAX)
        .into_iter()
        .chain(complaint)
        .collect()
}

fn label_value(text: &str) -> Vec<String> {
    let complaint = (!text.is_empty() && !is_name(text)).then(|| LABEL_VALUE.to_owned());
    too_long(text, LABEL_MAX)
        .into_iter()
        .chain(complaint)
        .collect()
}

fn qualified_name(text: &str) -> Vec<String> {
    let parts: Vec<&str> = text.split('/').collect();
    let mut complaints = Vec::new();
    let name = match parts[..] {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                complaints.push("prefix part must be non-empty".to_owned());
            } else {
                complaints.extend(
                    subdomain(prefix)
                        .into_iter()
                        .map(|complaint| format!("prefix part {complaint}")),
                );
            }
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {NAME} with an optional DNS subdomain prefix and '/' (e.g. \
                    'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        complaints.push("name part must be non-empty".to_owned());
    }
    complaints.extend(too_long(name, LABEL_MAX).map(|complaint| format!("name part {complaint}")));
    if !is_name(name) {
        complaints.push(format!("name part {NAME}"));
    }
    complaints
}

fn is_uuid(text: &str) -> bool {
    let digits: String = text.chars().filter(|character| *character != '-').collect();
    let grouped = text.len() == digits.len()
        || text.len() == 36
            && [8, 13, 18, 23]
                .iter()
                .all(|index| text.as_bytes()[*index] == b'-');
    grouped && digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_base64(text: &str) -> bool {
    !text.is_empty()
        && base64::engine::general_purpose::STANDARD
            .decode(text)
            .is_ok()
}

fn named(name: &str) -> Option<&'static NamedFormat> {
    FORMATS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, format)| format)
}

/// Makes one function for each format: functions take no part of their name along.
macro_rules! constants {
    ($overload:expr, $($name:literal),*) => {
        match $overload {
            $(concat!("format.", $name) => Some((|_| constant($name)) as Function),)*
            _ => None,
        }
    };
}

fn constant<'a>(name: &str) -> Outcome<'a> {
    named(name).map_or_else(unfit, |format| Ok(Value::Format(format)))
}

pub(super) fn implementation(overload: &str) -> Option<Function> {
    match overload {
        "format-named" => Some(|arguments| match arguments {
            [Value::String(name)] => Ok(named(name).map_or(Value::Optional(None), |format| {
                Value::some(Value::Format(format))
            })),
            _ => unfit(),
        }),
        "format-validate" => Some(|arguments| match arguments {
            [Value::Format(format), Value::String(text)] => {
                let complaints: Vec<Value<'_>> =
                    (format.check)(text).into_iter().map(Value::from).collect();
                Ok(if complaints.is_empty() {
                    Value::Optional(None)
                } else {
                    Value::some(Value::list(complaints))
                })
            }
            _ => unfit(),
        }),
        other => constants!(
            other,
            "dns1123Label",
            "dns1123Subdomain",
            "dns1035Label",
            "qualifiedName",
            "dns1123LabelPrefix",
            "dns1123SubdomainPrefix",
            "dns1035LabelPrefix",
            "labelValue",
            "uri",
            "uuid",
            "byte",
            "date",
            "datetime"
        ),
    }
}
