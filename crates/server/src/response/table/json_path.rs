//! The part of JSONPath that columns of custom kinds use.
//!
//! ```text
//! .spec.replicas   .metadata.annotations['a.b/c']   .spec.items[0].name   .spec.items[*].name
//! .status.conditions[?(@.type=="Ready")].status
//! ```

use serde_json::Value;

/// A path to values in an object.
#[derive(Debug, PartialEq)]
pub(super) struct JsonPath(Vec<Step>);

#[derive(Debug, PartialEq)]
enum Step {
    Member(String),
    /// An item, counted from the end when negative.
    Item(i64),
    /// Every item or member.
    Every,
    /// Every item that passes.
    Matching(Filter),
}

#[derive(Debug, PartialEq)]
struct Filter {
    path: JsonPath,
    test: Test,
}

#[derive(Debug, PartialEq)]
enum Test {
    Exists,
    Compares(Operator, Value),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The operators as they are written, the longer ones first.
const OPERATORS: [(&str, Operator); 6] = [
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

/// Bytes of a path, which bound how deep filters nest. A longer one is not understood.
const PATH_BYTES_MAX: usize = 4096;

impl JsonPath {
    /// Reads a path; `None` for what is not understood.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = Some(text.trim()).filter(|text| text.len() <= PATH_BYTES_MAX)?;
        let text = match text.strip_prefix('{') {
            Some(inner) => inner.strip_suffix('}')?,
            None => text,
        };
        let mut rest = text.strip_prefix('$').unwrap_or(text);
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let (step, after) = next_step(rest)?;
            steps.extend(step);
            rest = after;
        }
        Some(Self(steps))
    }

    /// The first value that the path leads to.
    pub(super) fn first<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        first(&self.0, value)
    }
}

fn next_step(text: &str) -> Option<(Option<Step>, &str)> {
    if let Some(inside) = text.strip_prefix('[') {
        let end = closing_bracket(inside)?;
        let step = bracketed(inside[..end].trim())?;
        return Some((Some(step), &inside[end + 1..]));
    }
    let (name, rest) = member_name(text.strip_prefix('.')?);
    match name.as_str() {
        "" if rest.is_empty() || rest.starts_with('[') => Some((None, rest)),
        "" => None,
        "*" => Some((Some(Step::Every), rest)),
        _ => Some((Some(Step::Member(name)), rest)),
    }
}

/// A name up to the next dot or bracket; a backslash makes the next letter part of it.
fn member_name(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '.' | '[' => return (name, &text[at..]),
            '\\' => name.extend(letters.next().map(|(_, escaped)| escaped)),
            _ => name.push(letter),
        }
    }
    (name, "")
}

/// Where the bracket closes that has just been opened.
fn closing_bracket(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            (None, _) => {}
        }
    }
    None
}

fn bracketed(text: &str) -> Option<Step> {
    if text == "*" {
        return Some(Step::Every);
    }
    if let Some(condition) = text.strip_prefix("?(") {
        return filter(condition.strip_suffix(')')?).map(Step::Matching);
    }
    match quoted(text) {
        Some(name) => Some(Step::Member(name.replace('\\', ""))),
        None => text.parse().ok().map(Step::Item),
    }
}

fn quoted(text: &str) -> Option<&str> {
    ['\'', '"']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
        .filter(|inner| !inner.contains(['\'', '"']))
}

fn filter(text: &str) -> Option<Filter> {
    let (path, test) = match text.find(['=', '!', '<', '>']) {
        None => (text, Test::Exists),
        Some(at) => {
            let (path, comparison) = text.split_at(at);
            let (symbol, operator) = OPERATORS
                .into_iter()
                .find(|(symbol, _)| comparison.starts_with(symbol))?;
            let value = literal(comparison[symbol.len()..].trim())?;
            (path, Test::Compares(operator, value))
        }
    };
    let path = JsonPath::parse(path.trim().strip_prefix('@')?)?;
    Some(Filter { path, test })
}

fn literal(text: &str) -> Option<Value> {
    match quoted(text) {
        Some(text) => Some(Value::from(text)),
        None => serde_json::from_str(text)
            .ok()
            .filter(|value: &Value| value.is_number() || value.is_boolean()),
    }
}

fn first<'a>(steps: &[Step], value: &'a Value) -> Option<&'a Value> {
    let Some((step, rest)) = steps.split_first() else {
        return Some(value);
    };
    match step {
        Step::Member(name) => first(rest, value.get(name)?),
        Step::Item(index) => first(rest, item(value, *index)?),
        Step::Every => match value {
            Value::Array(items) => items.iter().find_map(|item| first(rest, item)),
            Value::Object(members) => members.values().find_map(|member| first(rest, member)),
            _ => None,
        },
        Step::Matching(filter) => {
            let mut matching = value.as_array()?.iter().filter(|item| filter.passes(item));
            matching.find_map(|item| first(rest, item))
        }
    }
}

fn item(value: &Value, index: i64) -> Option<&Value> {
    let items = value.as_array()?;
    let distance = usize::try_from(index.unsigned_abs()).ok()?;
    match index {
        0.. => items.get(distance),
        _ => items.get(items.len().checked_sub(distance)?),
    }
}

impl Filter {
    fn passes(&self, item: &Value) -> bool {
        let Some(value) = self.path.first(item) else {
            return false;
        };
        match &self.test {
            Test::Exists => true,
            Test::Compares(operator, literal) => operator.holds(value, literal),
        }
    }
}

impl Operator {
    fn holds(self, left: &Value, right: &Value) -> bool {
        let order = match (left, right) {
            (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
            (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
            _ => match (left.as_f64(), right.as_f64()) {
                (Some(left), Some(right)) => left.partial_cmp(&right),
                _ => None,
            },
        };
        order.is_some_and(|order| match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn find(path: &str) -> Option<Value> {
        let object = json!({
            "spec": {"color": "blue", "sizes": [3, 5, 8], "empty": []},
            "metadata": {"annotations": {"a.b/c": "dotted"}},
            "status": {"conditions": [
                {"type": "Synced", "status": "False", "weight": 1},
                {"type": "Ready", "status": "True", "weight": 2, "extra": true},
            ]},
        });
        JsonPath::parse(path)?.first(&object).cloned()
    }

    #[test]
    fn members_and_items_are_found() {
        assert_eq!(find(".spec.color"), Some(json!("blue")));
        assert_eq!(find("{.spec.color}"), Some(json!("blue")));
        assert_eq!(find("$.spec['color']"), Some(json!("blue")));
        assert_eq!(find(".spec.sizes[1]"), Some(json!(5)));
        assert_eq!(find(".spec.sizes[-1]"), Some(json!(8)));
        assert_eq!(find(".spec.sizes"), Some(json!([3, 5, 8])));
        assert_eq!(find(".spec.sizes[*]"), Some(json!(3)));
    }

    #[test]
    fn a_name_with_dots_is_escaped_or_quoted() {
        for path in [
            r".metadata.annotations.a\.b/c",
            ".metadata.annotations['a.b/c']",
            r#".metadata.annotations["a.b/c"]"#,
            r".metadata.annotations['a\.b/c']",
        ] {
            assert_eq!(find(path), Some(json!("dotted")), "{path}");
        }
    }

    #[test]
    fn a_filter_chooses_items() {
        let status = |condition: &str| find(&format!(".status.conditions[?({condition})].status"));
        for condition in [
            r#"@.type=="Ready""#,
            "@.type == 'Ready'",
            r#"@.type!="Synced""#,
            "@.weight>1",
            "@.weight>=2",
            "@.extra==true",
            "@.extra",
        ] {
            assert_eq!(status(condition), Some(json!("True")), "{condition}");
        }
        assert_eq!(status("@.weight<2"), Some(json!("False")));
        assert_eq!(status("@.weight<=1"), Some(json!("False")));
        assert_eq!(status(r#"@.type=="Other""#), None);
        assert_eq!(status(r#"@.weight=="1""#), None);
    }

    #[test]
    fn what_is_not_there_is_not_found() {
        for path in [
            ".spec.shape",
            ".spec.color.x",
            ".spec.sizes[3]",
            ".spec.sizes[-4]",
            ".x.y",
        ] {
            assert_eq!(find(path), None, "{path}");
        }
        assert_eq!(find(".spec.empty[*]"), None);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for path in [
            "spec",
            "..a",
            ".a[",
            ".a[x]",
            ".a['b','c']",
            ".a[?(b)]",
            "{.a",
            ".a[?(@.b=c)]",
        ] {
            assert_eq!(JsonPath::parse(path), None, "{path}");
        }
    }

    #[test]
    fn a_path_has_a_longest_length() {
        let longest = ".a".repeat(PATH_BYTES_MAX / 2);
        assert!(JsonPath::parse(&longest).is_some());
        assert_eq!(JsonPath::parse(&format!("{longest}.a")), None);
        let nested = format!("{}@{}", "[?(@".repeat(900), ")]".repeat(200));
        assert_eq!(JsonPath::parse(&nested), None);
    }
}
