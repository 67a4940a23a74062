//! Replays what Kubernetes' own expression language answered: values, errors, types and costs.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine;
use listwatch_cel::schema::Position;
use listwatch_cel::value::Map;
use listwatch_cel::{Bindings, Budget, CompileError, Environment, Schema, Sizes, Type, Value};
use serde_json::{Value as Json, json};

#[test]
fn every_recorded_answer_is_given_again() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let differences = known_differences(&directory);
    let mut wrong = Vec::new();
    let mut replayed = 0;
    let mut files: Vec<_> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    for file in files.iter().filter(|file| {
        file.extension()
            .is_some_and(|extension| extension == "jsonl")
    }) {
        let mut variables = serde_json::Map::new();
        for line in std::fs::read_to_string(file)
            .unwrap()
            .lines()
            .filter(|line| !line.is_empty())
        {
            let case: Json = serde_json::from_str(line).unwrap();
            let Some(expression) = case.get("expression").and_then(Json::as_str) else {
                variables = case["variables"].as_object().unwrap().clone();
                continue;
            };
            replayed += 1;
            let complaints = compare(&case["answer"], &answer(expression, &variables));
            match (complaints.is_empty(), differences.contains_key(expression)) {
                (false, false) => {
                    wrong.push(format!("{expression}\n    {}", complaints.join("\n    ")))
                }
                (true, true) => wrong.push(format!(
                    "{expression}\n    is listed as different but is not"
                )),
                _ => {}
            }
        }
    }
    assert!(replayed >= 300, "only {replayed} cases");
    assert!(
        wrong.is_empty(),
        "{} of {replayed} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Expressions whose answers are known to differ, with the reason.
fn known_differences(directory: &Path) -> BTreeMap<String, String> {
    let text =
        std::fs::read_to_string(directory.join("differences.json")).expect("the list is there");
    serde_json::from_str(&text).expect("the list is JSON")
}

fn compare(expected: &Json, actual: &Json) -> Vec<String> {
    if expected["error"]
        .as_str()
        .is_some_and(|error| error.starts_with("program: "))
    {
        let same = expected["error"] == actual["error"];
        return (!same)
            .then(|| format!("expected {}, got {actual}", expected["error"]))
            .into_iter()
            .collect();
    }
    let fields = [
        "compileError",
        "type",
        "value",
        "error",
        "cost",
        "estimateMin",
        "estimateMax",
    ];
    fields
        .iter()
        .filter(|field| expected.get(**field) != actual.get(**field))
        .map(|field| {
            format!(
                "{field}: expected {:?}, got {:?}",
                shown(expected, field),
                shown(actual, field)
            )
        })
        .collect()
}

fn shown(answer: &Json, field: &str) -> String {
    answer
        .get(field)
        .map_or("nothing".to_owned(), Json::to_string)
}

/// What this crate answers, in the form in which answers are recorded.
fn answer(expression: &str, variables: &serde_json::Map<String, Json>) -> Json {
    let schemas: BTreeMap<&String, Schema> = variables
        .iter()
        .filter_map(|(name, variable)| {
            let schema = variable.get("schema")?;
            Some((
                name,
                Schema::from_openapi(schema, Position::Inside).expect("the schema is exposed"),
            ))
        })
        .collect();
    let mut environment = Environment::kubernetes();
    for name in variables.keys() {
        environment = match schemas.get(name) {
            Some(schema) => environment.with_data(name, &format!("{name}Type"), schema),
            None => environment.with_variable(name, Type::Dyn),
        };
    }
    let program = match environment.compile(expression) {
        Ok(program) => program,
        Err(CompileError::Invalid { text, .. }) => return json!({ "compileError": text }),
        Err(CompileError::Failing(message)) => {
            return json!({ "error": format!("program: {message}") });
        }
    };
    let sizes: Vec<(&str, &Schema)> = schemas
        .iter()
        .map(|(name, schema)| (name.as_str(), schema))
        .collect();
    let estimate = program.estimate(Sizes::Variables(&sizes));
    let mut answer = json!({
        "type": program.output_type().to_string(),
        "estimateMin": estimate.min,
        "estimateMax": estimate.max,
    });
    let mut bindings = Bindings::new();
    for (name, variable) in variables {
        let value = match schemas.get(name) {
            Some(schema) => Value::from_json(&variable["value"], schema).expect("the data fits"),
            None => Value::dynamic(&variable["value"]),
        };
        bindings.insert(name, value);
    }
    let mut budget = Budget::per_call();
    match program.evaluate(&bindings, &mut budget) {
        Ok(value) => answer["value"] = tagged(&value),
        Err(error) => answer["error"] = json!(error.to_string()),
    }
    answer["cost"] = json!(budget.spent());
    answer
}

/// A value written so that its type can be told from the text.
fn tagged(value: &Value<'_>) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => json!(value),
        Value::Int(value) => json!({ "int": value.to_string() }),
        Value::Uint(value) => json!({ "uint": value.to_string() }),
        Value::Double(value) => json!({ "double": number(*value) }),
        Value::String(text) => json!(&**text),
        Value::Bytes(bytes) => {
            json!({ "bytes": base64::engine::general_purpose::STANDARD.encode(bytes) })
        }
        Value::Duration(duration) => json!({ "duration": duration.nanoseconds().to_string() }),
        Value::Timestamp(timestamp) => json!({ "timestamp": timestamp.to_string() }),
        Value::Optional(value) => {
            json!({ "optional": value.iter().map(|value| tagged(value)).collect::<Vec<_>>() })
        }
        Value::Type(name) => json!({ "type": &**name }),
        Value::List(list) => list
            .iter()
            .map(|item| tagged(&item.expect("elements fit")))
            .collect(),
        Value::Map(map) => {
            let mut entries: Vec<Json> = map
                .keys()
                .iter()
                .map(|key| json!([tagged(key), tagged(&found(map, key))]))
                .collect();
            entries.sort_by_key(|entry| entry[0].to_string());
            json!({ "map": entries })
        }
        other => json!({ "other": other.type_name() }),
    }
}

fn found<'a>(map: &Map<'a>, key: &Value<'a>) -> Value<'a> {
    map.find(key)
        .expect("values fit")
        .expect("keys lead to values")
}

/// A number as Go writes it in JSON: whole ones without a point.
fn number(value: f64) -> Json {
    if value.is_nan() || value.is_infinite() {
        let text = if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "+Inf"
        } else {
            "-Inf"
        };
        return json!(text);
    }
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return json!(value as i64);
    }
    json!(value)
}
