//! Parts of the standard that no schema of a custom resource can have.

use crate::node::SCHEMA_DEPTH_MAX;
use crate::props::{Additional, Items, Props};

/// The first part that cannot be understood, in a schema or in those inside of it.
pub(crate) fn first(props: Props<'_>) -> Option<String> {
    first_at(props, 0)
}

fn first_at(props: Props<'_>, depth: usize) -> Option<String> {
    if depth > SCHEMA_DEPTH_MAX {
        return None;
    }
    let below = |props| first_at(props, depth + 1);
    own(props)
        .or_else(|| props.schema("not").and_then(below))
        .or_else(|| {
            let several = ["allOf", "anyOf", "oneOf"].into_iter();
            several.flat_map(|name| props.schemas(name)).find_map(below)
        })
        .or_else(|| {
            let preserve = "x-kubernetes-preserve-unknown-fields";
            let is_false = props.given_flag(preserve) == Some(false);
            is_false.then(|| format!("internal error: '{preserve}' must be true or undefined"))
        })
        .or_else(|| match props.items() {
            None => None,
            Some(Items::Each(items)) => below(items),
            Some(Items::Places) => {
                let is_empty = props.list("items").is_empty();
                let why = "OpenAPIV3Schema 'items' must be a schema, but is an array";
                (!is_empty).then(|| why.to_owned())
            }
        })
        .or_else(|| props.properties().find_map(|(_, schema)| below(schema)))
        .or_else(|| match props.additional() {
            Some(Additional::Each(each)) => below(each),
            _ => None,
        })
}

fn own(props: Props<'_>) -> Option<String> {
    let name = if !props.text("id").is_empty() {
        "id"
    } else if !props.text("$schema").is_empty() {
        "schema"
    } else if !props.text("$ref").is_empty() {
        "$ref"
    } else if props.named("patternProperties").next().is_some() {
        "patternProperties"
    } else if has_members(props, "dependencies") {
        "dependencies"
    } else if props.value("additionalItems").is_some() {
        "additionalItems"
    } else if props.named("definitions").next().is_some() {
        "definitions"
    } else {
        return None;
    };
    Some(format!("OpenAPIV3Schema '{name}' is not supported"))
}

fn has_members(props: Props<'_>, name: &str) -> bool {
    props
        .value(name)
        .and_then(serde_json::Value::as_object)
        .is_some_and(|members| !members.is_empty())
}
