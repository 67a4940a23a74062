//! Addresses of the web, read as Go's standard library reads them.

use std::collections::BTreeMap;

use super::{Function, fail, unfit};
use crate::error::EvaluationError;
use crate::value::{Entries, Map, Outcome, Value};

/// A URL in its parts, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    scheme: String,
    host: String,
    path: String,
    query: String,
    fragment: String,
}

impl Url {
    /// Reads an absolute URL or path, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        parse(text).map_err(|why| format!("parse {text:?}: {why}"))
    }

    fn hostname(&self) -> &str {
        let host = self
            .host
            .strip_prefix('[')
            .and_then(|rest| rest.split_once(']'))
            .map(|(host, _)| host);
        host.unwrap_or_else(|| {
            self.host
                .rsplit_once(':')
                .map_or(self.host.as_str(), |(host, _)| host)
        })
    }

    fn port(&self) -> &str {
        let after = self
            .host
            .rsplit_once(']')
            .map_or(self.host.as_str(), |(_, after)| after);
        after.rsplit_once(':').map_or("", |(_, port)| port)
    }

    fn escaped_path(&self) -> String {
        if self
            .path
            .bytes()
            .all(|byte| byte == b'%' || path_byte(byte) || b"!'()*[]".contains(&byte))
        {
            return self.path.clone();
        }
        let plain = unescape(&self.path, Plus::Itself).unwrap_or_default();
        let mut escaped = String::new();
        for byte in plain {
            if path_byte(byte) {
                escaped.push(byte as char);
            } else {
                escaped.push_str(&format!("%{byte:02X}"));
            }
        }
        escaped
    }

    fn query_values<'a>(&self) -> Outcome<'a> {
        let mut values: BTreeMap<String, Vec<Value<'a>>> = BTreeMap::new();
        for pair in self
            .query
            .split('&')
            .filter(|pair| !pair.is_empty() && !pair.contains(';'))
        {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Ok(key), Ok(value)) = (unescape(key, Plus::Space), unescape(value, Plus::Space))
            else {
                continue;
            };
            let value = String::from_utf8_lossy(&value).into_owned();
            values
                .entry(String::from_utf8_lossy(&key).into_owned())
                .or_default()
                .push(Value::from(value));
        }
        let mut entries = Entries::default();
        for (key, values) in values {
            entries.insert(Value::from(key), Value::list(values))?;
        }
        Ok(Value::Map(Map::Values(entries.into())))
    }
}

fn path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&byte)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Plus {
    Itself,
    Space,
}

fn unescape(text: &str, plus: Plus) -> Result<Vec<u8>, String> {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        match bytes[index] {
            b'%' => {
                let digits = text
                    .get(index + 1..index + 3)
                    .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
                let Some(digits) = digits else {
                    let shown: String = text[index..].chars().take(3).collect();
                    return Err(format!("invalid URL escape {shown:?}"));
                };
                plain.push(u8::from_str_radix(digits, 16).map_err(|error| error.to_string())?);
                index += 2;
            }
            b'+' if plus == Plus::Space => plain.push(b' '),
            other => plain.push(other),
        }
        index += 1;
    }
    Ok(plain)
}

fn parse(text: &str) -> Result<Url, String> {
    if text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    if text.is_empty() {
        return Err("empty url".to_owned());
    }
    let (scheme, rest) = scheme(text)?;
    if !rest.starts_with('/') && scheme.is_empty() && text != "*" {
        return Err("invalid URI for request".to_owned());
    }
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (host, path) = match rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
        Some(after) => after.split_at(after.find('/').unwrap_or(after.len())),
        None => ("", rest),
    };
    unescape(path, Plus::Itself)?;
    Ok(Url {
        scheme,
        host: host_of(host)?.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        fragment: fragment.to_owned(),
    })
}

fn scheme(text: &str) -> Result<(String, &str), String> {
    for (index, character) in text.char_indices() {
        match character {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if index > 0 => {}
            ':' if index == 0 => return Err("missing protocol scheme".to_owned()),
            ':' => return Ok((text[..index].to_ascii_lowercase(), &text[index + 1..])),
            _ => break,
        }
    }
    Ok((String::new(), text))
}

/// The host and port of an authority, without who logs in.
fn host_of(authority: &str) -> Result<&str, String> {
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let after = if host.starts_with('[') {
        let end = host
            .rfind(']')
            .ok_or_else(|| "missing ']' in host".to_owned())?;
        &host[end + 1..]
    } else {
        host.find(':').map_or("", |index| &host[index..])
    };
    let port = after.strip_prefix(':').unwrap_or(after);
    if (!after.is_empty() && !after.starts_with(':'))
        || !port.bytes().all(|byte| byte.is_ascii_digit())
    {
        return Err(format!("invalid port {after:?} after host"));
    }
    if let Some(bad) = host.chars().find(|character| {
        matches!(
            character,
            ' ' | '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}'
        )
    }) {
        return Err(format!(
            "invalid character {:?} in host name",
            bad.to_string()
        ));
    }
    Ok(host)
}

pub(super) fn implementation(overload: &str) -> Option<Function> {
    Some(match overload {
        "string_to_url" => |arguments| match parsed(arguments)? {
            Ok(url) => Ok(Value::Url(url.into())),
            Err(why) => fail(format!(
                "URL parse error during conversion from string: {why}"
            )),
        },
        "is_url_string" => |arguments| Ok(Value::Bool(parsed(arguments)?.is_ok())),
        "url_get_scheme" => |arguments| Ok(Value::from(url(arguments)?.scheme.clone())),
        "url_get_host" => |arguments| Ok(Value::from(url(arguments)?.host.clone())),
        "url_get_hostname" => |arguments| Ok(Value::from(url(arguments)?.hostname().to_owned())),
        "url_get_port" => |arguments| Ok(Value::from(url(arguments)?.port().to_owned())),
        "url_get_escaped_path" => |arguments| Ok(Value::from(url(arguments)?.escaped_path())),
        "url_get_query" => |arguments| url(arguments)?.query_values(),
        _ => return None,
    })
}

fn parsed(arguments: &[Value<'_>]) -> Result<Result<Url, String>, EvaluationError> {
    match arguments {
        [Value::String(text)] => Ok(Url::parse(text)),
        _ => unfit(),
    }
}

fn url<'v>(arguments: &'v [Value<'_>]) -> Result<&'v Url, EvaluationError> {
    match arguments {
        [Value::Url(url)] => Ok(url),
        _ => unfit(),
    }
}
