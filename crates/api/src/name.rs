//! Which texts may be names, labels and annotations, in Kubernetes' words when they may not.
//!
//! Every check returns what is wrong, as sentences; an empty list means that nothing is.

/// Bytes that a DNS subdomain, and so most names, may have.
pub const SUBDOMAIN_BYTES_MAX: usize = 253;
/// Bytes that a DNS label may have.
pub const LABEL_BYTES_MAX: usize = 63;
/// Bytes that a label's value may have.
pub const LABEL_VALUE_BYTES_MAX: usize = 63;
/// Bytes that the part of a qualified name after the slash may have.
const QUALIFIED_NAME_BYTES_MAX: usize = 63;

const DNS_LABEL_PATTERN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS_SUBDOMAIN_PATTERN: &str =
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const DNS_1035_LABEL_PATTERN: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED_NAME_PATTERN: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE_PATTERN: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";

/// What the names of a kind must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NameRule {
    /// Lower case labels joined by dots; the rule of most kinds.
    DnsSubdomain,
    /// One lower case label, as for namespaces.
    DnsLabel,
    /// One lower case label that begins with a letter, as for services.
    Dns1035Label,
    /// Anything that can stand in a path, as for roles.
    PathSegment,
}

impl NameRule {
    /// What is wrong with `name`.
    pub fn check(self, name: &str) -> Vec<String> {
        match self {
            Self::DnsSubdomain => check_dns_subdomain(name),
            Self::DnsLabel => check_dns_label(name),
            Self::Dns1035Label => check_dns_1035_label(name),
            Self::PathSegment => check_path_segment(name),
        }
    }

    /// What is wrong with `prefix` as the beginning of a generated name.
    pub fn check_prefix(self, prefix: &str) -> Vec<String> {
        if self == Self::PathSegment {
            return check_path_segment_prefix(prefix);
        }
        match prefix.strip_suffix('-') {
            // Something will follow the dash, so it need not be a proper end.
            Some(rest) if !rest.is_empty() => self.check(&mask_last_dash(rest)),
            _ => self.check(prefix),
        }
    }
}

/// Kubernetes drops the character before the dash as well, so `a.-` is a good prefix.
fn mask_last_dash(rest: &str) -> String {
    let kept = rest
        .strip_suffix(|last: char| last.is_ascii())
        .unwrap_or(rest);
    format!("{kept}a")
}

/// What is wrong with `text` as a DNS subdomain (RFC 1123).
pub fn check_dns_subdomain(text: &str) -> Vec<String> {
    let mut problems = check_length(text, SUBDOMAIN_BYTES_MAX, "characters");
    problems.extend(subdomain_problem(text));
    problems
}

fn subdomain_problem(text: &str) -> Option<String> {
    let rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
                characters, '-' or '.', and must start and end with an alphanumeric character";
    let problem = || pattern_problem(rule, DNS_SUBDOMAIN_PATTERN, &["example.com"]);
    (!is_dns_subdomain(text)).then(problem)
}

/// What is wrong with `text` as a DNS label (RFC 1123).
pub fn check_dns_label(text: &str) -> Vec<String> {
    let mut problems = check_length(text, LABEL_BYTES_MAX, "characters");
    if is_dns_label(text) {
        return problems;
    }
    if is_dns_subdomain(text) {
        problems.push("must not contain dots".to_owned());
    } else {
        let rule = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters \
                    or '-', and must start and end with an alphanumeric character";
        problems.push(pattern_problem(
            rule,
            DNS_LABEL_PATTERN,
            &["my-name", "123-abc"],
        ));
    }
    problems
}

/// What is wrong with `text` as a DNS label that begins with a letter (RFC 1035).
pub fn check_dns_1035_label(text: &str) -> Vec<String> {
    let mut problems = check_length(text, LABEL_BYTES_MAX, "characters");
    if !(is_dns_label(text) && text.starts_with(|first: char| first.is_ascii_lowercase())) {
        let rule = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', \
                    start with an alphabetic character, and end with an alphanumeric character";
        problems.push(pattern_problem(
            rule,
            DNS_1035_LABEL_PATTERN,
            &["my-name", "abc-123"],
        ));
    }
    problems
}

/// What is wrong with `text` as a segment of a path.
pub fn check_path_segment(text: &str) -> Vec<String> {
    if matches!(text, "." | "..") {
        return vec![format!("may not be '{text}'")];
    }
    check_path_segment_prefix(text)
}

fn check_path_segment_prefix(text: &str) -> Vec<String> {
    let forbidden = ["/", "%"].into_iter().filter(|part| text.contains(part));
    forbidden
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}

/// What is wrong with `text` as the key of a label or annotation, or as a finalizer.
pub fn check_qualified_name(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut parts = text.split('/');
    let name = match (parts.next(), parts.next(), parts.next()) {
        (Some(prefix), Some(name), None) => {
            problems.extend(check_prefix_part(prefix));
            name
        }
        (Some(name), None, _) => name,
        _ => return vec![too_many_parts()],
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    }
    let length = check_length(name, QUALIFIED_NAME_BYTES_MAX, "bytes");
    problems.extend(
        length
            .into_iter()
            .map(|problem| format!("name part {problem}")),
    );
    if !is_qualified_name_part(name) {
        problems.push(format!("name part {}", qualified_name_problem()));
    }
    problems
}

/// What is wrong with `text` as the value of a label.
pub fn check_label_value(text: &str) -> Vec<String> {
    let mut problems = check_length(text, LABEL_VALUE_BYTES_MAX, "bytes");
    if !text.is_empty() && !is_qualified_name_part(text) {
        let rule = "a valid label must be an empty string or consist of alphanumeric characters, \
                    '-', '_' or '.', and must start and end with an alphanumeric character";
        let examples = ["MyValue", "my_value", "12345"];
        problems.push(pattern_problem(rule, LABEL_VALUE_PATTERN, &examples));
    }
    problems
}

fn check_prefix_part(prefix: &str) -> Vec<String> {
    if prefix.is_empty() {
        return vec!["prefix part must be non-empty".to_owned()];
    }
    let mut problems = check_length(prefix, SUBDOMAIN_BYTES_MAX, "bytes");
    problems.extend(subdomain_problem(prefix));
    problems
        .into_iter()
        .map(|problem| format!("prefix part {problem}"))
        .collect()
}

fn too_many_parts() -> String {
    format!(
        "a valid label key {} with an optional DNS subdomain prefix and '/' \
         (e.g. 'example.com/MyName')",
        qualified_name_problem()
    )
}

fn qualified_name_problem() -> String {
    let rule = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
                with an alphanumeric character";
    pattern_problem(
        rule,
        QUALIFIED_NAME_PATTERN,
        &["MyName", "my.name", "123-abc"],
    )
}

/// Kubernetes counts bytes, but calls them characters where names are concerned.
fn check_length(text: &str, bytes_max: usize, unit: &str) -> Vec<String> {
    if text.len() <= bytes_max {
        return Vec::new();
    }
    vec![format!("must be no more than {bytes_max} {unit}")]
}

fn pattern_problem(rule: &str, pattern: &str, examples: &[&str]) -> String {
    let quoted: Vec<String> = examples
        .iter()
        .map(|example| format!("'{example}', "))
        .collect();
    let examples = quoted.join(" or ");
    format!("{rule} (e.g. {examples}regex used for validation is '{pattern}')")
}

fn is_dns_subdomain(text: &str) -> bool {
    text.split('.').all(is_dns_label)
}

fn is_dns_label(text: &str) -> bool {
    is_framed(text, LOWER, LOWER | DASH)
}

fn is_qualified_name_part(text: &str) -> bool {
    is_framed(text, LOWER | UPPER, LOWER | UPPER | DASH | JOINT)
}

/// Lower case letters and digits.
const LOWER: u8 = 1;
/// Upper case letters.
const UPPER: u8 = 2;
/// The dash.
const DASH: u8 = 4;
/// What else joins the parts of names of labels.
const JOINT: u8 = 8;

/// What each byte is, in names; zero for those that no name has.
static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b'a'..=b'z' | b'0'..=b'9' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'-' => DASH,
            b'_' | b'.' => JOINT,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

/// Whether `text` consists of bytes of some classes, and begins and ends with one of fewer.
fn is_framed(text: &str, ends: u8, parts: u8) -> bool {
    let is = |classes: u8, byte: u8| CLASSES[usize::from(byte)] & classes != 0;
    let bytes = text.as_bytes();
    let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    is(ends, first) && is(ends, last) && bytes.iter().all(|&byte| is(parts, byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case \
        alphanumeric characters, '-' or '.', and must start and end with an alphanumeric \
        character (e.g. 'example.com', regex used for validation is \
        '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric \
        characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  \
        or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
    const KEY: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start \
        and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', \
        regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric \
        characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
        'MyValue',  or 'my_value',  or '12345', regex used for validation is \
        '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

    #[test]
    fn a_subdomain_is_lower_case_labels_joined_by_dots() {
        for good in ["a", "a-b.c", "0.1", &"a".repeat(253)] {
            assert_eq!(check_dns_subdomain(good), Vec::<String>::new(), "{good}");
        }
        for bad in ["", ".", "Bad_Name", "-a", "a-", "a..b", "a.-b", "é"] {
            assert_eq!(check_dns_subdomain(bad), [SUBDOMAIN], "{bad}");
        }
        assert_eq!(
            check_dns_subdomain(&"a".repeat(254)),
            ["must be no more than 253 characters"]
        );
    }

    #[test]
    fn a_label_has_no_dots() {
        assert_eq!(check_dns_label("a.b"), ["must not contain dots"]);
        assert_eq!(check_dns_label("Bad"), [LABEL]);
        assert_eq!(
            check_dns_label(&"a".repeat(64)),
            ["must be no more than 63 characters"]
        );
        assert_eq!(check_dns_1035_label("a1"), Vec::<String>::new());
        assert_eq!(check_dns_1035_label("1a").len(), 1);
    }

    #[test]
    fn a_path_segment_is_anything_but_a_way_out() {
        assert_eq!(check_path_segment("system:a b"), Vec::<String>::new());
        assert_eq!(check_path_segment(".."), ["may not be '..'"]);
        assert_eq!(
            check_path_segment("a/%"),
            ["may not contain '/'", "may not contain '%'"]
        );
    }

    #[test]
    fn a_key_has_a_name_and_perhaps_a_prefix() {
        assert_eq!(
            check_qualified_name("example.com/My_name.1"),
            Vec::<String>::new()
        );
        assert_eq!(check_qualified_name("-x"), [format!("name part {KEY}")]);
        assert_eq!(
            check_qualified_name("/x"),
            ["prefix part must be non-empty"]
        );
        assert_eq!(
            check_qualified_name("A/x"),
            [format!("prefix part {SUBDOMAIN}")]
        );
        let empty = [
            "name part must be non-empty".to_owned(),
            format!("name part {KEY}"),
        ];
        assert_eq!(check_qualified_name(""), empty);
        let long = check_qualified_name(&"a".repeat(64));
        assert_eq!(long, ["name part must be no more than 63 bytes"]);
        let parts = check_qualified_name("a/b/c");
        assert!(parts[0].starts_with("a valid label key must consist of"));
        assert!(parts[0].ends_with("prefix and '/' (e.g. 'example.com/MyName')"));
    }

    #[test]
    fn a_label_value_may_be_empty() {
        assert_eq!(check_label_value(""), Vec::<String>::new());
        assert_eq!(check_label_value("v a l"), [VALUE]);
        let long = "-".repeat(64);
        assert_eq!(
            check_label_value(&long),
            ["must be no more than 63 bytes", VALUE]
        );
    }

    #[test]
    fn a_prefix_may_end_with_a_dash() {
        let rule = NameRule::DnsSubdomain;
        assert_eq!(rule.check_prefix("gen-"), Vec::<String>::new());
        assert_eq!(rule.check_prefix("a.-"), Vec::<String>::new());
        assert_eq!(rule.check_prefix("-"), [SUBDOMAIN]);
        assert_eq!(rule.check_prefix("Gen-"), [SUBDOMAIN]);
        assert_eq!(rule.check_prefix("é-"), [SUBDOMAIN]);
        assert_eq!(
            NameRule::PathSegment.check_prefix(".."),
            Vec::<String>::new()
        );
    }
}
