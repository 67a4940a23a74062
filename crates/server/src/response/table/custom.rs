//! The columns that the definition of a custom kind asks for.

use std::borrow::Cow;

use jiff::Timestamp;
use listwatch_api::timestamp;
use serde_json::Value;

use super::{columns::Column, field::Field, json_path::JsonPath};

/// A column of a custom kind and where its cells come from.
#[derive(Debug)]
pub(super) struct CustomColumn {
    kind: CellKind,
    /// Cells of a path that is not understood are null.
    path: Option<JsonPath>,
}

#[derive(Clone, Copy, Debug)]
enum CellKind {
    Text,
    Integer,
    Number,
    Boolean,
    Date,
    /// A type that no cell can have.
    Unknown,
}

impl CustomColumn {
    /// Reads one entry of `additionalPrinterColumns`.
    pub(super) fn read(entry: &Value) -> (Column, Self) {
        let entry = Field::of(entry);
        let text = |name: &str| Cow::Owned(entry.member(name).text().to_owned());
        let path = entry.member("jsonPath").text();
        let column = Column {
            name: text("name"),
            kind: text("type"),
            format: text("format"),
            description: match entry.member("description").text() {
                "" => Cow::Owned(format!("The value at {path}.")),
                description => Cow::Owned(description.to_owned()),
            },
            priority: i32::try_from(entry.member("priority").integer()).unwrap_or_default(),
        };
        let kind = CellKind::of(&column.kind);
        let path = JsonPath::parse(path);
        (column, Self { kind, path })
    }

    /// The cell of an object: null where it has no value of the column's type.
    pub(super) fn cell(&self, object: &Value, now: Timestamp) -> Value {
        let path = self.path.as_ref();
        let value = path.and_then(|path| path.first(object));
        value.map_or(Value::Null, |value| self.kind.cell(value, now))
    }
}

impl CellKind {
    fn of(name: &str) -> Self {
        match name {
            "string" => Self::Text,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "date" => Self::Date,
            _ => Self::Unknown,
        }
    }

    fn cell(self, value: &Value, now: Timestamp) -> Value {
        match self {
            Self::Text => text(value),
            Self::Integer => integer(value),
            Self::Number => value.as_f64().into(),
            Self::Boolean => value.as_bool().into(),
            Self::Date => date(value, now),
            Self::Unknown => Value::Null,
        }
    }
}

/// Plain values as they read, lists and objects as JSON.
fn text(value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::String(text) => text.as_str().into(),
        other => other.to_string().into(),
    }
}

fn integer(value: &Value) -> Value {
    let truncated = || value.as_f64().map(|number| number as i64);
    value.as_i64().or_else(truncated).into()
}

fn date(value: &Value, now: Timestamp) -> Value {
    match value.as_str().map(timestamp::parse_seconds) {
        Some(Ok(time)) => timestamp::age(time, now).into(),
        Some(Err(_)) => "<invalid>".into(),
        None => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::response::table::{Printer, test_rows::now};

    fn cells(columns: Value) -> Vec<Value> {
        let object = json!({
            "metadata": {"name": "f", "creationTimestamp": "2026-11-15T11:59:00Z"},
            "spec": {
                "color": "blue", "replicas": 3, "ratio": 2.5, "on": true, "tags": ["a", {"b": 1}],
                "when": "soon",
            },
        });
        Printer::for_custom_resource(&columns).cells(&object, now())
    }

    fn cell(kind: &str, path: &str) -> Value {
        cells(json!([{"name": "X", "type": kind, "jsonPath": path}])).remove(1)
    }

    #[test]
    fn a_kind_without_columns_shows_name_and_age() {
        for none in [json!([]), Value::Null] {
            assert_eq!(cells(none), [json!("f"), json!("60s")]);
        }
        let printer = Printer::for_custom_resource(&Value::Null);
        let heads: Vec<_> = printer
            .columns()
            .iter()
            .map(|one| (&*one.name, &*one.kind))
            .collect();
        assert_eq!(heads, [("Name", "string"), ("Age", "date")]);
    }

    #[test]
    fn columns_follow_the_name() {
        let columns = json!([
            {"name": "Color", "type": "string", "jsonPath": ".spec.color"},
            {"name": "Created", "type": "date", "jsonPath": ".metadata.creationTimestamp",
             "priority": 1, "format": "date-time", "description": "When it began."},
        ]);
        assert_eq!(
            cells(columns.clone()),
            [json!("f"), json!("blue"), json!("60s")]
        );
        let printer = Printer::for_custom_resource(&columns);
        let [name, color, created] = printer.columns() else {
            panic!("three columns");
        };
        assert_eq!(name.format, "name");
        assert_eq!(
            (&*color.name, &*color.description),
            ("Color", "The value at .spec.color.")
        );
        assert_eq!((&*created.format, created.priority), ("date-time", 1));
        assert_eq!(created.description, "When it began.");
    }

    #[test]
    fn a_text_column_shows_any_value() {
        assert_eq!(cell("string", ".spec.color"), "blue");
        assert_eq!(cell("string", ".spec.replicas"), "3");
        assert_eq!(cell("string", ".spec.on"), "true");
        assert_eq!(cell("string", ".spec.tags"), r#"["a",{"b":1}]"#);
    }

    #[test]
    fn other_columns_show_values_of_their_type_alone() {
        assert_eq!(cell("integer", ".spec.replicas"), 3);
        assert_eq!(cell("integer", ".spec.ratio"), 2);
        assert_eq!(cell("integer", ".spec.color"), Value::Null);
        assert_eq!(cell("number", ".spec.ratio"), 2.5);
        assert_eq!(cell("boolean", ".spec.on"), true);
        assert_eq!(cell("boolean", ".spec.color"), Value::Null);
        assert_eq!(cell("date", ".spec.when"), "<invalid>");
        assert_eq!(cell("date", ".spec.replicas"), Value::Null);
        assert_eq!(cell("colour", ".spec.color"), Value::Null);
    }

    #[test]
    fn what_is_missing_or_not_understood_is_null() {
        assert_eq!(cell("string", ".spec.shape"), Value::Null);
        assert_eq!(cell("string", "spec"), Value::Null);
    }
}
