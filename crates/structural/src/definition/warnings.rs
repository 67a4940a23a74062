//! What the writer of a definition should hear though it is taken.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::format::Format;
use crate::props::Props;

/// What the writer of a new definition should hear.
pub fn warn_new(definition: &Value) -> Vec<String> {
    let found = Found::of(definition);
    let formats = found.formats.iter().map(|format| unrecognized(format));
    formats.chain(found.sets).collect()
}

/// What the writer of a change should hear: only what is new.
pub fn warn_change(next: &Value, before: &Value) -> Vec<String> {
    let (next, before) = (Found::of(next), Found::of(before));
    let formats = next
        .formats
        .iter()
        .filter(|format| !before.formats.contains(format));
    let formats = formats.map(|format| unrecognized(format));
    let sets = next.sets.difference(&before.sets).cloned();
    formats.chain(sets).collect()
}

fn unrecognized(format: &str) -> String {
    format!("unrecognized format {format:?}")
}

/// What is worth a warning.
#[derive(Default)]
struct Found {
    formats: Vec<String>,
    sets: BTreeSet<String>,
}

impl Found {
    fn of(definition: &Value) -> Self {
        let mut found = Self::default();
        let versions = definition
            .pointer("/spec/versions")
            .and_then(Value::as_array);
        let mut schemas: Vec<&Value> = versions
            .into_iter()
            .flatten()
            .filter_map(|version| version.pointer("/schema/openAPIV3Schema"))
            .collect();
        let is_shared = schemas.windows(2).all(|pair| pair[0] == pair[1]);
        if is_shared {
            schemas.truncate(1);
        }
        for schema in schemas.into_iter().filter_map(Props::of) {
            found.schema(schema);
        }
        found
    }

    fn schema(&mut self, props: Props<'_>) {
        let format = props.text("format");
        let is_known = Format::known(props.type_name(), format).is_some();
        if !format.is_empty() && !is_known {
            self.formats.push(format.to_owned());
        }
        if let (Some("set"), Some(items)) = (
            props.given_text("x-kubernetes-list-type"),
            props.each_item(),
        ) && let type_name @ ("object" | "array") = items.type_name()
        {
            self.sets.insert(format!(
                "x-kubernetes-list-type: set for items of type {type_name:?} is not supported by \
                 server-side apply or CEL validation rules"
            ));
        }
        self.below(props);
    }

    fn below(&mut self, props: Props<'_>) {
        let items = props.schema("items").into_iter();
        let several = ["allOf", "anyOf", "oneOf"];
        let several = several.into_iter().flat_map(|name| props.schemas(name));
        let not = props.schema("not").into_iter();
        let named = props.properties().map(|(_, schema)| schema);
        let additional = props.schema("additionalProperties").into_iter();
        for schema in items
            .chain(several)
            .chain(not)
            .chain(named)
            .chain(additional)
        {
            self.schema(schema);
        }
    }
}
