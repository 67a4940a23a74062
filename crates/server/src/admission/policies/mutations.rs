//! What a policy changes: fields that it states, or single steps of a patch.

use listwatch_api::patch::{Patch, PatchFormat};
use listwatch_cel::{Environment, Value as CelValue};
use serde_json::{Value, json};

use super::super::expressions::{Expression, Scene};

/// One change of a policy.
pub(super) enum Mutation {
    /// The fields that the object is to have.
    Apply(Expression),
    /// Steps of a JSON patch.
    Patch(Expression),
}

impl Mutation {
    pub(super) fn read(environment: &Environment, mutation: &Value) -> Self {
        let expression = |member: &str| {
            let text = mutation[member]["expression"].as_str().unwrap_or_default();
            Expression::compile(environment, text)
        };
        match mutation["patchType"].as_str() {
            Some("JSONPatch") => Self::Patch(expression("jsonPatch")),
            _ => Self::Apply(expression("applyConfiguration")),
        }
    }

    pub(super) fn apply(
        &self,
        scene: &Scene<'_>,
        merge: &dyn Fn(&Value, &Value) -> Result<Value, String>,
    ) -> Result<Value, String> {
        let object = &scene.facts.object;
        match self {
            Self::Apply(expression) => {
                let said = expression.evaluate(scene)?;
                refuse_misnamed(&said)?;
                let mut stated = said
                    .to_json()
                    .map_err(|error| format!("type mismatch: {error}"))?;
                if !stated.is_object() {
                    return Err("invalid return type".to_owned());
                }
                for member in ["apiVersion", "kind"] {
                    stated[member] = object[member].clone();
                }
                merge(object, &stated).map_err(|why| format!("error applying patch: {why}"))
            }
            Self::Patch(expression) => {
                let steps = steps(expression.evaluate(scene)?)?;
                let body = serde_json::to_vec(&steps).expect("a tree has a text");
                let patch = Patch::decode(PatchFormat::Json, &body);
                let patch = patch
                    .map_err(|status| format!("failed to create JSON patch: {}", status.message))?;
                let patched = patch.patch.apply_without_schema(object.clone());
                patched.map_err(|status| format!("JSON Patch: {}", status.message))
            }
        }
    }
}

/// Refuses objects that are not named after the fields that hold them.
fn refuse_misnamed(said: &CelValue<'_>) -> Result<(), String> {
    let found = said.misnamed_objects();
    match found.is_empty() {
        true => Ok(()),
        false => Err(format!("type mismatch: {}", found.join("\n"))),
    }
}

fn steps(said: CelValue<'_>) -> Result<Value, String> {
    let CelValue::List(list) = said else {
        let why = "type mismatch: JSONPatchType.expression should evaluate to array";
        return Err(why.to_owned());
    };
    let mut steps = Vec::new();
    for step in list.iter() {
        let step = step.map_err(|error| error.to_string())?;
        if let CelValue::Object(patch) = &step
            && let Some(value) = patch.fields.get("value")
        {
            refuse_misnamed(value)?;
        }
        let step = step
            .to_json()
            .map_err(|error| format!("type mismatch: {error}"))?;
        steps.push(step);
    }
    Ok(json!(steps))
}
