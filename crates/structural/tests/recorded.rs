//! What a kube-apiserver said of definitions and objects, and what is said here.
//!
//! `recorded/record.py` made the recordings. Errors are compared without their order where maps
//! give Kubernetes none.

use listwatch_api::FieldError;
use listwatch_api::field_set::Comparison;
use listwatch_structural::{Structural, definition};
use serde_json::{Value, json};

fn lines(text: &str) -> impl Iterator<Item = Value> + '_ {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
}

/// The causes of a refusal, sorted.
fn recorded_causes(refusal: &Value) -> Vec<String> {
    let causes = refusal["causes"].as_array().cloned().unwrap_or_default();
    let mut texts: Vec<String> = causes
        .iter()
        .map(|cause| {
            let field = cause["field"].as_str().unwrap_or_default();
            let message = cause["message"].as_str().unwrap_or_default();
            let reason = cause["reason"].as_str().unwrap_or_default();
            format!("{reason} {field}: {message}")
        })
        .collect();
    texts.sort_unstable();
    texts
}

fn own_causes(errors: &[FieldError]) -> Vec<String> {
    let mut texts: Vec<String> = errors
        .iter()
        .map(|error| format!("{} {error}", error.kind.cause()))
        .collect();
    texts.sort_unstable();
    texts
}

/// Collects all differences, so that one run tells them all.
#[derive(Default)]
struct Differences {
    texts: Vec<String>,
    compared: usize,
}

impl Differences {
    fn compare(&mut self, what: &Value, refusal: &Value, errors: &[FieldError]) {
        self.compared += 1;
        let (theirs, ours) = (recorded_causes(refusal), own_causes(errors));
        if theirs != ours {
            let theirs = theirs.join("\n    ");
            let ours = ours.join("\n    ");
            self.texts.push(format!(
                "{what}\n  theirs:\n    {theirs}\n  ours:\n    {ours}"
            ));
        }
    }

    fn none(self) {
        assert!(self.compared > 0, "something was compared");
        let count = self.texts.len();
        let compared = self.compared;
        let all = self.texts.join("\n\n");
        assert!(count == 0, "{count} of {compared} differ:\n{all}");
    }
}

#[test]
fn definitions_are_refused_for_the_same_reasons() {
    let mut differences = Differences::default();
    for line in lines(include_str!("recorded/definitions.jsonl")) {
        let mut definition = line["definition"].clone();
        definition::default_definition(&mut definition);
        definition::note_storage_version(&mut definition);
        let errors = definition::check_definition(&definition);
        differences.compare(&line["definition"]["spec"], &line["refusal"], &errors);
    }
    differences.none();
}

#[test]
fn changes_of_definitions_are_refused_for_the_same_reasons() {
    let mut differences = Differences::default();
    for line in lines(include_str!("recorded/changes.jsonl")) {
        let mut next = line["before"].clone();
        for step in line["patch"].as_array().expect("a patch is a list") {
            apply(&mut next, step);
        }
        definition::note_storage_version(&mut next);
        let errors = definition::check_definition_change(&next, &line["before"]);
        differences.compare(&line["patch"], &line["refusal"], &errors);
    }
    differences.none();
}

/// One step of a JSON patch, of the kinds that the recordings have.
fn apply(object: &mut Value, step: &Value) {
    let path = step["path"].as_str().expect("a step has a path");
    let (parent, name) = path.rsplit_once('/').expect("it begins with a slash");
    let value = step["value"].clone();
    match object.pointer_mut(parent).expect("the parent is there") {
        Value::Array(list) if name == "-" => list.push(value),
        Value::Object(members) => {
            members.insert(name.to_owned(), value);
        }
        other => panic!("cannot patch {other}"),
    }
}

/// The value as Go writes it: a number without a fraction has none.
fn as_written(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the recordings have small ones"
            )]
            Some(real) if real.fract() == 0.0 && real.abs() < 1e15 => Value::from(real as i64),
            _ => Value::Number(number),
        },
        Value::Array(list) => list.into_iter().map(as_written).collect(),
        Value::Object(members) => {
            let members = members.into_iter();
            Value::Object(
                members
                    .map(|(name, value)| (name, as_written(value)))
                    .collect(),
            )
        }
        other => other,
    }
}

/// The object as it was sent, with what every object has.
fn whole(line: &Value, name: &str, sent: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "record.example.com/v1",
        "kind": line["kind"],
        "metadata": {"name": name},
    });
    let sent = sent.as_object().expect("an object was sent").clone();
    object.as_object_mut().expect("it is one").extend(sent);
    object
}

fn without_common(mut object: Value) -> Value {
    let members = object.as_object_mut().expect("it is an object");
    members.retain(|name, _| !["apiVersion", "kind", "metadata"].contains(&name.as_str()));
    object
}

#[test]
fn objects_are_refused_for_the_same_reasons() {
    let mut differences = Differences::default();
    for line in lines(include_str!("recorded/objects.jsonl")) {
        let schema = Structural::parse(&line["schema"]).expect("it was taken");
        let schema = schema.with_scale(&line["scale"]);
        for step in line["steps"].as_array().expect("steps are a list") {
            let mut object = whole(&line, "one", &step["sent"]);
            if !line["statuses"].as_array().is_none_or(Vec::is_empty) {
                // A status of its own is not for whoever makes the object.
                object.as_object_mut().expect("it is one").remove("status");
            }
            schema.prune(&mut object);
            let errors = match schema.coerce_embedded(&mut object) {
                // This one is told as a bad request, without causes.
                Err(_) if step["refusal"]["code"] == 400 => continue,
                Err(error) => vec![error],
                Ok(_) => {
                    schema.default(&mut object);
                    schema.validate(&object)
                }
            };
            differences.compare(&step["sent"], &step["refusal"], &errors);
            let object = without_common(as_written(object));
            if step["refusal"].is_null() && object != step["got"] {
                let (sent, got) = (&step["sent"], &step["got"]);
                let text = format!("{sent}\n  theirs: {got}\n  ours: {object}");
                differences.texts.push(text);
            }
        }
        for change in line["changes"].as_array().expect("changes are a list") {
            let next = whole(&line, "two", &change["next"]);
            let before = whole(&line, "two", &change["before"]);
            let errors = schema.validate_change(&next, &before);
            differences.compare(&change["next"], &change["refusal"], &errors);
        }
    }
    differences.none();
}

#[test]
fn statuses_are_refused_for_the_same_reasons() {
    let mut differences = Differences::default();
    for line in lines(include_str!("recorded/objects.jsonl")) {
        let schema = Structural::parse(&line["schema"]).expect("it was taken");
        let schema = schema.with_scale(&line["scale"]);
        for change in line["statuses"].as_array().expect("statuses are a list") {
            let mut next = whole(&line, "three", &change["next"]);
            schema.prune(&mut next);
            schema.default(&mut next);
            let before = whole(&line, "three", &change["before"]);
            let errors = schema.validate_status_change(&next, &before);
            differences.compare(&change["next"], &change["refusal"], &errors);
        }
    }
    differences.none();
}

#[test]
fn schemas_are_published_alike() {
    for line in lines(include_str!("recorded/open_api.jsonl")) {
        let schema = Structural::parse(&line["schema"]).expect("it was taken");
        assert_eq!(schema.open_api_v3(), line["v3"], "in the third edition");
        assert_eq!(schema.open_api_v2(), line["v2"], "in the second edition");
    }
}

#[test]
fn fields_of_new_objects_are_owned_alike() {
    let mut compared = 0;
    for line in lines(include_str!("recorded/objects.jsonl")) {
        let schema = Structural::parse(&line["schema"]).expect("it was taken");
        let types = schema.types("com.example.record.v1.Thing");
        let type_id = types
            .find("com.example.record.v1.Thing")
            .expect("it is there");
        for step in line["steps"].as_array().expect("steps are a list") {
            let (got, fields) = (&step["got"], &step["fields"]);
            if fields.is_null() {
                continue;
            }
            compared += 1;
            let comparison = Comparison::between(&types, type_id, &json!({}), got);
            let owned = comparison.added.union(comparison.modified).to_fields_v1();
            let owned: Value = serde_json::from_str(&owned).expect("it is JSON");
            assert_eq!(owned, *fields, "{got}");
        }
    }
    assert!(compared > 50, "{compared} objects were compared");
}
