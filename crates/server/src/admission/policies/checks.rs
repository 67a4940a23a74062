//! Whether the expressions of a configuration can be used, when it is written.

use std::collections::BTreeMap;

use listwatch_api::{FieldError, FieldPath};
use listwatch_cel::{Environment, Type};
use serde_json::Value;

use super::{
    super::expressions::{Dialect, Parameters, environment, read_variables},
    parameters,
};
use crate::registry::Definition;

/// What an expression must say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    Anything,
    YesOrNo,
    Text,
    TextOrNothing,
}

/// What is wrong with the expressions of a policy or a webhook.
pub(crate) fn check_expressions(definition: &Definition, object: &Value) -> Vec<FieldError> {
    if &*definition.group != "admissionregistration.k8s.io" {
        return Vec::new();
    }
    let mut checks = Checks::default();
    match &*definition.resource {
        "validatingwebhookconfigurations" | "mutatingwebhookconfigurations" => {
            checks.check_webhooks(&object["webhooks"]);
        }
        "validatingadmissionpolicies" | "mutatingadmissionpolicies" => {
            checks.check_policy(&object["spec"]);
        }
        _ => {}
    }
    checks.errors
}

#[derive(Default)]
struct Checks {
    errors: Vec<FieldError>,
}

impl Checks {
    fn check_webhooks(&mut self, webhooks: &Value) {
        let listed = webhooks.as_array().into_iter().flatten();
        for (place, webhook) in listed.enumerate() {
            let conditions = &webhook["matchConditions"];
            if !conditions.is_array() {
                continue;
            }
            let none = BTreeMap::new();
            let known = environment(Dialect::Looking, Parameters::None, &none);
            let field = FieldPath::new("webhooks").index(place);
            let field = field.child("matchConditions");
            self.check(
                &known,
                (&field, conditions),
                (&["expression"], Says::YesOrNo),
            );
        }
    }

    fn check_policy(&mut self, spec: &Value) {
        let parameters = parameters(spec);
        let (variables, types) = read_variables(&spec["variables"], parameters);
        let looking = environment(Dialect::Looking, parameters, &types);
        let patching = environment(Dialect::Patching, parameters, &types);
        let field = |member: &str| FieldPath::new("spec").child(member);
        for (place, variable) in variables.iter().enumerate() {
            let text = variable.expression.text.as_str();
            if let Err(error) = variable.expression.output()
                && !text.trim().is_empty()
            {
                let field = field("variables").index(place).child("expression");
                self.errors.push(FieldError::invalid(&field, text, error));
            }
        }
        let stated: [(&str, &Environment, &[&str], Says); 6] = [
            ("validations", &looking, &["expression"], Says::YesOrNo),
            ("validations", &looking, &["messageExpression"], Says::Text),
            ("matchConditions", &looking, &["expression"], Says::YesOrNo),
            (
                "auditAnnotations",
                &looking,
                &["valueExpression"],
                Says::TextOrNothing,
            ),
            (
                "mutations",
                &patching,
                &["applyConfiguration", "expression"],
                Says::Anything,
            ),
            (
                "mutations",
                &patching,
                &["jsonPatch", "expression"],
                Says::Anything,
            ),
        ];
        for (member, known, path, says) in stated {
            self.check(known, (&field(member), &spec[member]), (path, says));
        }
    }

    fn check(
        &mut self,
        known: &Environment,
        (field, listed): (&FieldPath, &Value),
        (path, says): (&[&str], Says),
    ) {
        for (place, one) in listed.as_array().into_iter().flatten().enumerate() {
            let (mut field, mut value) = (field.index(place), one);
            for name in path {
                field = field.child(name);
                value = &value[*name];
            }
            let Some(text) = value.as_str().filter(|text| !text.trim().is_empty()) else {
                continue;
            };
            if let Some(detail) = problem(known, text, says) {
                self.errors.push(FieldError::invalid(&field, text, &detail));
            }
        }
    }
}

fn problem(known: &Environment, text: &str, says: Says) -> Option<String> {
    let program = match known.compile(text) {
        Ok(program) => program,
        Err(error) => return Some(format!("compilation failed: {error}")),
    };
    let output = program.output_type();
    match (says, output) {
        (Says::Anything, _)
        | (Says::YesOrNo, Type::Bool)
        | (Says::Text, Type::String)
        | (Says::TextOrNothing, Type::String | Type::Null) => None,
        (Says::YesOrNo, other) => Some(format!("must evaluate to bool but got {other}")),
        (Says::Text, other) => Some(format!("must evaluate to string but got {other}")),
        (Says::TextOrNothing, other) => Some(format!(
            "must evaluate to one of [string null_type] but got {other}"
        )),
    }
}
