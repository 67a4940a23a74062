//! Finds where an answer differs from the recorded one.

use std::{collections::BTreeSet, fmt};

use serde_json::{Map, Value};

use super::{
    bindings::Bindings,
    connection::Response,
    script::{Expected, Extent, documents},
};

/// Stands for a value that is not there.
const ABSENT: &str = "{{absent}}";

/// One place where the answers differ.
pub(super) struct Difference {
    /// `status`, `header NAME`, `lines`, or a JSON pointer behind the number of the document.
    pub(super) at: String,
    pub(super) expected: Value,
    pub(super) found: Value,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            at,
            expected,
            found,
        } = self;
        write!(
            formatter,
            "at {at}\n  recorded {expected}\n  ours     {found}"
        )
    }
}

/// Everything that differs, apart from fields that are `ignored` wherever they stand.
pub(super) fn compare(
    expected: &Expected,
    found: &Response,
    ignored: &[String],
    bindings: &mut Bindings,
) -> Vec<Difference> {
    let mut comparison = Comparison {
        extent: expected.extent,
        bindings,
        differences: Vec::new(),
    };
    comparison.value("status", &expected.status.into(), &found.status.into());
    let content_type = ("content-type".to_owned(), expected.content_type.clone());
    for (name, value) in expected.headers.iter().chain([&content_type]) {
        let all = found.header_values(name).join(" | ");
        let found = if all.contains(value.as_str()) {
            value.clone()
        } else {
            all
        };
        comparison.value(
            &format!("header {name}"),
            &value.as_str().into(),
            &found.into(),
        );
    }
    comparison.body(expected, &found.body, ignored);
    comparison.differences
}

/// Whether a value is as expected, placeholders included.
pub(super) fn same(expected: &Value, found: &Value, bindings: &mut Bindings) -> bool {
    let mut comparison = Comparison {
        extent: Extent::Whole,
        bindings,
        differences: Vec::new(),
    };
    comparison.value("", expected, found);
    comparison.differences.is_empty()
}

struct Comparison<'a> {
    extent: Extent,
    bindings: &'a mut Bindings,
    differences: Vec<Difference>,
}

impl Comparison<'_> {
    fn body(&mut self, expected: &Expected, found: &str, ignored: &[String]) {
        if expected.extent == Extent::Pretty && !found.starts_with("{\n  \"") {
            self.differ("layout", "indented".into(), "not indented".into());
        }
        match (expected.documents(), documents(found)) {
            (Some(expected), Some(mut found)) => {
                found
                    .iter_mut()
                    .for_each(|document| strip(document, ignored));
                self.documents(&expected, &found);
            }
            _ => self.lines(&expected.body, found),
        }
    }

    fn documents(&mut self, expected: &[Value], found: &[Value]) {
        if let ([expected], [found]) = (expected, found) {
            return self.value("", expected, found);
        }
        self.list("", expected, found);
    }

    fn lines(&mut self, expected: &[String], found: &str) {
        let mut lines = found.lines();
        let as_recorded = match self.extent {
            Extent::Part => expected.iter().all(|line| lines.any(|found| found == line)),
            Extent::Whole | Extent::Pretty => lines.eq(expected),
        };
        if !as_recorded {
            self.differ("lines", expected.join("\n").into(), found.into());
        }
    }

    fn value(&mut self, at: &str, expected: &Value, found: &Value) {
        match (expected, found) {
            (Value::String(any), _) if any == "{{any}}" => {}
            (Value::Object(expected), Value::Object(found)) => self.object(at, expected, found),
            (Value::Array(expected), Value::Array(found)) => self.list(at, expected, found),
            (Value::String(pattern), Value::String(text)) => {
                if !self.bindings.matches(pattern, text) {
                    self.differ(at, expected.clone(), found.clone());
                }
            }
            _ if expected == found => {}
            _ => self.differ(at, expected.clone(), found.clone()),
        }
    }

    fn object(&mut self, at: &str, expected: &Map<String, Value>, found: &Map<String, Value>) {
        let keys: BTreeSet<&String> = match self.extent {
            Extent::Part => expected.keys().collect(),
            Extent::Whole | Extent::Pretty => expected.keys().chain(found.keys()).collect(),
        };
        for key in keys {
            let at = format!("{at}/{key}");
            self.pair(&at, expected.get(key), found.get(key));
        }
    }

    fn list(&mut self, at: &str, expected: &[Value], found: &[Value]) {
        if self.extent == Extent::Part && expected.iter().all(Value::is_string) {
            let missing = expected.iter().filter(|name| !found.contains(name));
            return missing.for_each(|name| self.differ(at, name.clone(), ABSENT.into()));
        }
        let count = match self.extent {
            Extent::Part => expected.len(),
            Extent::Whole | Extent::Pretty => expected.len().max(found.len()),
        };
        for index in 0..count {
            let at = format!("{at}/{index}");
            self.pair(&at, expected.get(index), found.get(index));
        }
    }

    fn pair(&mut self, at: &str, expected: Option<&Value>, found: Option<&Value>) {
        match (expected, found) {
            (Some(expected), Some(found)) => self.value(at, expected, found),
            (expected, found) => {
                let shown = |value: Option<&Value>| value.cloned().unwrap_or(ABSENT.into());
                self.differ(at, shown(expected), shown(found));
            }
        }
    }

    fn differ(&mut self, at: &str, expected: Value, found: Value) {
        self.differences.push(Difference {
            at: at.to_owned(),
            expected,
            found,
        });
    }
}

fn strip(value: &mut Value, ignored: &[String]) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !ignored.contains(name));
            fields.values_mut().for_each(|field| strip(field, ignored));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| strip(item, ignored)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(recorded: &str, extent: Extent, found: &str) -> Vec<String> {
        let expected = Expected {
            status: 200,
            content_type: "application/json".to_owned(),
            extent,
            body: recorded.lines().map(str::to_owned).collect(),
            ..Expected::default()
        };
        let found = Response {
            status: 200,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: found.to_owned(),
        };
        let ignored = ["managedFields".to_owned()];
        let differences = compare(&expected, &found, &ignored, &mut Bindings::default());
        differences
            .into_iter()
            .map(|difference| difference.at)
            .collect()
    }

    #[test]
    fn a_changed_a_missing_and_a_new_field_are_found() {
        let found = places(
            r#"{"a":1,"b":[1,2],"c":3}"#,
            Extent::Whole,
            r#"{"a":2,"b":[1],"d":4}"#,
        );
        assert_eq!(found, ["/a", "/b/1", "/c", "/d"]);
    }

    #[test]
    fn a_part_asks_for_no_more_than_it_says() {
        let recorded = r#"{"a":1,"b":[1]}"#;
        assert!(places(recorded, Extent::Part, r#"{"a":1,"b":[1,2],"c":3}"#).is_empty());
        assert_eq!(
            places(recorded, Extent::Part, r#"{"a":1,"b":[2]}"#),
            ["/b/0"]
        );
    }

    #[test]
    fn a_missing_event_is_found() {
        assert_eq!(
            places("{\"a\":1}\n{\"a\":2}", Extent::Whole, "{\"a\":1}\n"),
            ["/1"]
        );
        assert_eq!(places("", Extent::Whole, "{\"a\":1}\n"), ["/0"]);
    }

    #[test]
    fn ignored_fields_are_ignored_wherever_they_stand() {
        let found = r#"{"a":{"managedFields":[1]}}"#;
        assert!(places(r#"{"a":{}}"#, Extent::Whole, found).is_empty());
    }

    #[test]
    fn text_is_compared_line_by_line() {
        assert!(places("[+]ping ok", Extent::Part, "[+]ping ok\n[+]more ok\n").is_empty());
        assert_eq!(
            places("[+]ping ok", Extent::Whole, "[+]ping ok\n[+]more ok\n"),
            ["lines"]
        );
    }

    #[test]
    fn a_pretty_answer_is_indented() {
        let recorded = r#"{"a":1}"#;
        assert!(places(recorded, Extent::Pretty, "{\n  \"a\": 1\n}").is_empty());
        assert_eq!(places(recorded, Extent::Pretty, recorded), ["layout"]);
    }
}
