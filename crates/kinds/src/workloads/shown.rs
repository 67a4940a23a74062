//! Parts of pods as messages show them: all members there are, under the names and in the order of
//! the Go structs that Kubernetes holds them in.
//!
//! `members.txt` has a line per struct: its name, then `Name[=member]:shape`, where a shape is a
//! letter, a struct's name, `?` before what may be absent, `[]` before lists; `+Struct` and
//! `%member` stand for members that are shown as if they were the struct's own.

use listwatch_api::field_error::BadValue;
use listwatch_api::go_text;
use serde_json::Value;

const STRUCTS: &str = include_str!("shown/members.txt");
/// The order of members in the structs that have names for JSON.
const METADATA: [&str; 15] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];
const SELECTOR: [&str; 2] = ["matchLabels", "matchExpressions"];

/// The value as a struct of this name, in one line.
pub(super) fn compact(value: &Value, struct_name: &str) -> BadValue {
    let mut writer = Writer::new(Layout::Compact);
    writer.value(value, struct_name);
    BadValue::json(writer.text)
}

/// The value as a struct of this name, a line per member.
pub(super) fn lines(value: &Value, struct_name: &str) -> String {
    let mut writer = Writer::new(Layout::Lines);
    writer.value(value, struct_name);
    writer.text
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Compact,
    Lines,
}

struct Writer {
    text: String,
    layout: Layout,
    depth: usize,
}

impl Writer {
    fn new(layout: Layout) -> Self {
        Self {
            text: String::new(),
            layout,
            depth: 0,
        }
    }

    fn value(&mut self, value: &Value, shape: &str) {
        if let Some(shape) = shape.strip_prefix('?') {
            return match value {
                Value::Null => self.text.push_str("null"),
                value => self.value(value, shape),
            };
        }
        if let Some(shape) = shape.strip_prefix("[]") {
            return self.list(value, shape);
        }
        match (shape, value) {
            ("s" | "q" | "i" | "n" | "b", Value::Null) => self.text.push_str(empty(shape)),
            ("s" | "q" | "i" | "n" | "b", value) => self.text.push_str(&go_text::json(value)),
            ("m" | "l" | "t", Value::Null) => self.text.push_str("null"),
            ("m" | "l" | "t" | "@", value) => self.plain(value),
            (name, value) => self.structure(value, name),
        }
    }

    fn list(&mut self, value: &Value, shape: &str) {
        let Some(elements) = value.as_array() else {
            return self.text.push_str("null");
        };
        let shapes = elements.iter().map(|element| (None, element, shape));
        self.block('[', shapes.collect(), ']');
    }

    fn structure(&mut self, value: &Value, name: &str) {
        let mut members = Vec::new();
        gather(value, name, &mut members);
        self.block('{', members, '}');
    }

    /// A value that goes by its JSON, with members in their structs' order.
    fn plain(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                let mut named: Vec<_> = members.iter().collect();
                named.sort_by_key(|(name, _)| order(name));
                let named = named
                    .into_iter()
                    .map(|(name, value)| (Some(name.as_str()), value, "@"));
                self.block('{', named.collect(), '}');
            }
            Value::Array(elements) => {
                let elements = elements.iter().map(|element| (None, element, "@"));
                self.block('[', elements.collect(), ']');
            }
            Value::Null => self.text.push_str("{}"),
            plain => self.text.push_str(&go_text::json(plain)),
        }
    }

    fn block(&mut self, open: char, parts: Vec<(Option<&str>, &Value, &str)>, close: char) {
        self.text.push(open);
        self.depth += 1;
        let is_empty = parts.is_empty();
        for (index, (name, value, shape)) in parts.into_iter().enumerate() {
            if index > 0 {
                self.text.push(',');
            }
            self.line();
            if let Some(name) = name {
                self.text.push_str(&go_text::json(&Value::from(name)));
                self.text.push_str(match self.layout {
                    Layout::Compact => ":",
                    Layout::Lines => ": ",
                });
            }
            self.value(value, shape);
        }
        self.depth -= 1;
        if !is_empty {
            self.line();
        }
        self.text.push(close);
    }

    fn line(&mut self) {
        if self.layout == Layout::Lines {
            self.text.push('\n');
            self.text.extend(std::iter::repeat_n(' ', self.depth));
        }
    }
}

fn empty(shape: &str) -> &'static str {
    match shape {
        "s" => "\"\"",
        "q" => "\"0\"",
        "b" => "false",
        _ => "0",
    }
}

fn order(name: &str) -> (usize, &str) {
    let known = METADATA.iter().chain(&SELECTOR);
    let place = known.into_iter().position(|known| *known == name);
    (place.unwrap_or(0), name)
}

type Member<'v> = (Option<&'static str>, &'v Value, &'static str);

/// The members of a struct, with those that it takes from others in their places.
fn gather<'v>(value: &'v Value, name: &str, members: &mut Vec<Member<'v>>) {
    static ABSENT: Value = Value::Null;
    let line = STRUCTS
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    for member in line
        .unwrap_or_default()
        .split(' ')
        .filter(|member| !member.is_empty())
    {
        if let Some(taken) = member.strip_prefix('+') {
            gather(value, taken, members);
        } else if let Some(inner) = member.strip_prefix('%') {
            let inner = value.get(inner).unwrap_or(&ABSENT);
            let known = METADATA
                .iter()
                .filter_map(|name| Some((Some(*name), inner.get(*name)?)));
            members.extend(known.map(|(name, value)| (name, value, "@")));
        } else if let Some((names, shape)) = member.split_once(':') {
            let (name, key) = names.split_once('=').unwrap_or((names, ""));
            let found = match key {
                "" => value.get(uncapitalized(name)),
                key => value.get(key),
            };
            members.push((Some(name), found.unwrap_or(&ABSENT), shape));
        }
    }
}

fn uncapitalized(name: &str) -> String {
    let mut characters = name.chars();
    let first = characters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(characters).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_members_are_shown_in_the_order_of_their_struct() {
        let toleration = json!({"effect": "NoExecute", "key": "k"});
        let expected = concat!(
            r#"{"Key":"k","Operator":"","Value":"","Effect":"NoExecute","#,
            r#""TolerationSeconds":null}"#
        );
        assert_eq!(
            compact(&toleration, "Toleration"),
            BadValue::json(expected.to_owned())
        );
    }

    #[test]
    fn members_of_inner_structs_stand_among_the_others() {
        let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {}});
        let shown = lines(&template, "PodTemplateSpec");
        assert!(shown.starts_with("{\n \"labels\": {\n  \"a\": \"b\"\n },\n \"Spec\": {\n"));
        let probe = json!({"exec": {"command": ["a"]}, "periodSeconds": 1});
        let shown = lines(&probe, "Probe");
        assert!(
            shown.contains("\"Exec\": {\n  \"Command\": [\n   \"a\"\n  ]\n },\n \"HTTPGet\": null")
        );
    }
}
