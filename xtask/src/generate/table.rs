//! Writes the table of one package, in the form that `schema/text.rs` of the API crate tells.

use anyhow::{Result, ensure};
use serde_json::Value;

use super::{
    go_source::{GoField, Source},
    json_schema,
};

/// The table of a package with these types.
pub(super) fn write<'a>(
    package: &str,
    types: impl Iterator<Item = (&'a str, &'a Value)>,
    source: &Source,
) -> Result<String> {
    let mut text = format!("package {package}\n");
    for (name, schema) in types {
        let atomic = schema["x-kubernetes-map-type"] == "atomic";
        text.push_str(&format!(
            "type {name}{}\n",
            if atomic { " atomic" } else { "" }
        ));
        let fields = source.fields(name)?;
        let described = schema["properties"].as_object().map_or(0, |all| all.len());
        ensure!(
            fields.len() == described,
            "{package}.{name} has {} fields in Go, {described} in JSON",
            fields.len()
        );
        for field in fields {
            let property = &schema["properties"][&field.name];
            let required = is_required(schema, &field.name);
            let words = line(&field, property, required, package);
            text.push_str(&format!("  {}\n", words.join(" ")));
        }
    }
    Ok(text)
}

fn is_required(schema: &Value, field: &str) -> Option<&'static str> {
    let names = schema["required"].as_array();
    let named = names.into_iter().flatten().any(|name| name == field);
    named.then_some("required")
}

fn line(field: &GoField, property: &Value, required: Option<&str>, package: &str) -> Vec<String> {
    let shape = json_schema::shape(property, package);
    let number = field
        .number
        .map_or("-".to_owned(), |number| number.to_string());
    let presence = presence(field, &shape);
    let mut words = vec![format!("{}{presence}", field.name), shape.clone(), number];
    words.extend(required.map(str::to_owned));
    words.extend(json_schema::merging(property));
    if !field.embedded.is_empty() {
        words.push(format!("in={}", embeddings(field)));
    }
    let go_type = field.type_name.trim_start_matches('*');
    if go_type != expected_go_type(&shape, package) {
        words.push(format!("go={go_type}"));
    }
    words.extend(field.default.iter().map(|value| format!("default={value}")));
    words
}

fn embeddings(field: &GoField) -> String {
    let steps = field.embedded.iter().map(|(name, number)| match number {
        Some(number) => format!("{name}:{number}"),
        None => name.clone(),
    });
    steps.collect::<Vec<_>>().join("/")
}

/// What Go writes for a field that is not set: see `Presence` of the API crate.
fn presence(field: &GoField, shape: &str) -> &'static str {
    let pointer = field.type_name.starts_with('*');
    let omitted = field.has_option("omitempty") || field.has_option("omitzero");
    let a_struct = !matches!(
        shape,
        "string" | "bytes" | "boolean" | "int32" | "int64" | "number"
    ) && !shape.starts_with(['[', '{']);
    match (pointer, omitted) {
        (true, true) => "?",
        (true, false) => "*",
        (false, false) => "!",
        (false, true) if a_struct && !field.has_option("omitzero") => "!",
        (false, true) => "",
    }
}

/// The Go type that a reader of the table would expect of a shape.
fn expected_go_type(shape: &str, package: &str) -> String {
    if let Some(element) = inner(shape, '[', ']') {
        return format!("[]{}", expected_go_type(element, package));
    }
    if let Some(value) = inner(shape, '{', '}') {
        return format!("map[string]{}", expected_go_type(value, package));
    }
    match shape {
        "string" | "int32" | "int64" => shape.to_owned(),
        "boolean" => "bool".to_owned(),
        "number" => "float64".to_owned(),
        "bytes" => "[]uint8".to_owned(),
        "time" => "v1.Time".to_owned(),
        "micro-time" => "v1.MicroTime".to_owned(),
        "quantity" => "resource.Quantity".to_owned(),
        "int-or-string" => "intstr.IntOrString".to_owned(),
        "any" => String::new(),
        name => {
            let full = format!("{package}.{name}");
            let full = if name.contains('.') { name } else { &full };
            let mut parts: Vec<&str> = full.rsplit('.').take(2).collect();
            parts.reverse();
            parts.join(".")
        }
    }
}

fn inner(shape: &str, open: char, close: char) -> Option<&str> {
    shape.strip_prefix(open)?.strip_suffix(close)
}
