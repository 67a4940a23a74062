//! How two values differ, line by line, in the form of Go's structs.

use listwatch_api::go_text;
use serde_json::Value;

use crate::difference::unified;

/// How Go writes a value as JSON when its struct has no names for JSON.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// As it is; an absent one is `null`.
    Plain,
    /// A text; an absent one is empty.
    Text,
    /// A flag; an absent one is false.
    Flag,
    /// A struct that is always there: Go's names, ours, and the shapes of members.
    Struct(&'static [(&'static str, &'static str, Shape)]),
    /// A struct that may be absent.
    Pointer(&'static [(&'static str, &'static str, Shape)]),
}

/// The difference between two values of one shape, as `diff -u` tells it, without names of files.
pub(crate) fn between(old: &Value, new: &Value, shape: Shape) -> String {
    unified(&shown(old, shape), &shown(new, shape))
}

fn shown(value: &Value, shape: Shape) -> String {
    let mut text = String::new();
    write_shape(&mut text, value, shape, 0);
    text
}

fn write_shape(text: &mut String, value: &Value, shape: Shape, depth: usize) {
    match shape {
        Shape::Text if value.is_null() => text.push_str("\"\""),
        Shape::Flag if value.is_null() => text.push_str("false"),
        Shape::Pointer(_) if value.is_null() => text.push_str("null"),
        Shape::Plain | Shape::Text | Shape::Flag => write_plain(text, value, depth),
        Shape::Struct(members) | Shape::Pointer(members) => {
            let entries = members.iter().map(|(go_name, member, shape)| {
                (*go_name, value.get(member).unwrap_or(&Value::Null), *shape)
            });
            write_members(text, entries, depth);
        }
    }
}

fn write_plain(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let entries = members
                .iter()
                .map(|(name, value)| (name.as_str(), value, Shape::Plain));
            write_members(text, entries, depth);
        }
        Value::Array(elements) if !elements.is_empty() => {
            text.push('[');
            for (index, element) in elements.iter().enumerate() {
                text.push_str(if index == 0 { "\n" } else { ",\n" });
                text.push_str(&" ".repeat(depth + 1));
                write_plain(text, element, depth + 1);
            }
            text.push('\n');
            text.push_str(&" ".repeat(depth));
            text.push(']');
        }
        other => text.push_str(&go_text::json(other)),
    }
}

fn write_members<'a>(
    text: &mut String,
    entries: impl Iterator<Item = (&'a str, &'a Value, Shape)>,
    depth: usize,
) {
    text.push('{');
    for (index, (name, value, shape)) in entries.enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        text.push_str(&" ".repeat(depth + 1));
        text.push_str(&go_text::json(&Value::from(name)));
        text.push_str(": ");
        write_shape(text, value, shape, depth + 1);
    }
    text.push('\n');
    text.push_str(&" ".repeat(depth));
    text.push('}');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_is_shown_with_the_lines_around_it() {
        let shape = Shape::Struct(&[("A", "a", Shape::Text), ("B", "b", Shape::Plain)]);
        let (old, new) = (json!({"a": "x"}), json!({"a": "y", "b": ["z"]}));
        assert_eq!(
            between(&old, &new, shape),
            "@@ -1,4 +1,6 @@\n {\n- \"A\": \"x\",\n- \"B\": null\n+ \"A\": \"y\",\n+ \"B\": [\n+  \
             \"z\"\n+ ]\n }\n"
        );
    }

    #[test]
    fn changes_far_from_each_other_are_shown_apart() {
        let list = |first: u32, last: u32| {
            let numbers: Vec<u32> = [first].into_iter().chain(2..12).chain([last]).collect();
            json!(numbers)
        };
        let shown = between(&list(1, 12), &list(0, 13), Shape::Plain);
        assert_eq!(shown.matches("@@ -").count(), 2, "{shown}");
        assert!(
            shown.starts_with("@@ -1,5 +1,5 @@\n [\n- 1,\n+ 0,\n  2,\n  3,\n  4,\n@@"),
            "{shown}"
        );
    }

    #[test]
    fn what_is_the_same_is_not_shown() {
        let value = json!({"a": 1});
        assert_eq!(between(&value, &value, Shape::Plain), "");
    }
}
