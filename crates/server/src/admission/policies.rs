//! Policies in expressions: they refuse what is written, or change it.

mod checks;
mod mutations;
mod params;
mod type_checking;

use std::sync::Arc;

use listwatch_api::{Reason, Status, StatusCause};
use serde_json::Value;

use self::{mutations::Mutation, params::ParamRef};
use super::{
    conditions::Conditions,
    expressions::{
        Dialect, Expression, Facts, Parameters, Scene, Variable, Variables, environment,
        read_variables,
    },
    matching::{Constraints, texts},
    webhooks::{OnFailure, Reinvocation},
};

pub(crate) use checks::check_expressions;
pub(super) use params::{ParamKind, collect};
pub(crate) use type_checking::expression_warnings;

/// Bytes of a message that an expression may make.
const MESSAGE_BYTES_MAX: usize = 5 * 1024;

/// A policy with its bindings.
pub(super) struct Policy {
    pub(super) name: String,
    pub(super) constraints: Constraints,
    pub(super) on_failure: OnFailure,
    pub(super) param_kind: Option<ParamKind>,
    pub(super) bindings: Vec<Binding>,
    pub(super) reinvocation: Reinvocation,
    conditions: Conditions,
    variables: Arc<Vec<Variable>>,
    validations: Vec<Validation>,
    annotations: Vec<Expression>,
    mutations: Vec<Mutation>,
}

/// Where a policy is in force, and what follows when it is broken.
pub(super) struct Binding {
    pub(super) name: String,
    pub(super) constraints: Option<Constraints>,
    pub(super) param_ref: Option<ParamRef>,
    actions: Vec<String>,
}

struct Validation {
    expression: Expression,
    message: String,
    message_expression: Option<Expression>,
    reason: Option<String>,
}

/// Something that a policy finds wrong.
pub(super) struct Objection {
    message: String,
    reason: Option<String>,
}

impl Policy {
    /// A policy, and those of all bindings that are its own.
    pub(super) fn read(policy: &Value, bindings: &[Value]) -> Arc<Self> {
        let (spec, name) = (&policy["spec"], text(&policy["metadata"]["name"]));
        let parameters = parameters(spec);
        let (variables, types) = read_variables(&spec["variables"], parameters);
        let looking = environment(Dialect::Looking, parameters, &types);
        let patching = environment(Dialect::Patching, parameters, &types);
        let listed = |member: &str| spec[member].as_array().into_iter().flatten();
        let own = bindings
            .iter()
            .filter(|binding| binding["spec"]["policyName"] == *name);
        let annotations = listed("auditAnnotations")
            .map(|one| Expression::compile(&looking, &text(&one["valueExpression"])));
        Arc::new(Self {
            constraints: Constraints::of_policy(&spec["matchConstraints"]),
            on_failure: OnFailure::read(&spec["failurePolicy"]),
            param_kind: ParamKind::read(&spec["paramKind"]),
            bindings: own.map(Binding::read).collect(),
            reinvocation: Reinvocation::read(&spec["reinvocationPolicy"]),
            conditions: Conditions::compile_in(&looking, &spec["matchConditions"]),
            variables: Arc::new(variables),
            validations: listed("validations")
                .map(|one| Validation::read(&looking, one))
                .collect(),
            annotations: annotations.collect(),
            mutations: listed("mutations")
                .map(|one| Mutation::read(&patching, one))
                .collect(),
            name,
        })
    }

    /// What it finds wrong with a request.
    pub(super) fn judge(&self, facts: &Facts) -> Vec<Objection> {
        let variables = Variables::new(facts, &self.variables);
        let scene = Scene {
            facts,
            variables: &variables,
        };
        match self.conditions.hold(&scene) {
            Ok(true) => {}
            Ok(false) => return Vec::new(),
            Err(error) => return self.on_error(error).into_iter().collect(),
        }
        let mut objections = Vec::new();
        for validation in &self.validations {
            match validation.expression.holds(&scene) {
                Ok(true) => {}
                Ok(false) => objections.push(validation.objection(&scene)),
                Err(error) => objections.extend(self.on_error(error)),
            }
        }
        for annotation in &self.annotations {
            if let Err(error) = annotation.evaluate(&scene) {
                objections.extend(self.on_error(error));
            }
        }
        objections
    }

    fn on_error(&self, message: String) -> Option<Objection> {
        (self.on_failure == OnFailure::Refuse).then_some(Objection {
            message,
            reason: None,
        })
    }

    /// What it makes of an object; `None` if it leaves it as it is.
    pub(super) fn mutate(
        &self,
        facts: &mut Facts,
        merge: &dyn Fn(&Value, &Value) -> Result<Value, String>,
    ) -> Result<Option<Value>, String> {
        {
            let variables = Variables::new(facts, &self.variables);
            let scene = Scene {
                facts,
                variables: &variables,
            };
            if !self.conditions.hold(&scene)? {
                return Ok(None);
            }
        }
        let before = facts.object.clone();
        for mutation in &self.mutations {
            let variables = Variables::new(facts, &self.variables);
            let scene = Scene {
                facts,
                variables: &variables,
            };
            let changed = mutation.apply(&scene, merge)?;
            drop(variables);
            facts.object = changed;
        }
        Ok((facts.object != before).then(|| facts.object.clone()))
    }
}

impl Binding {
    fn read(binding: &Value) -> Self {
        let spec = &binding["spec"];
        Self {
            name: text(&binding["metadata"]["name"]),
            constraints: spec
                .get("matchResources")
                .filter(|stated| stated.is_object())
                .map(Constraints::of_policy),
            param_ref: ParamRef::read(&spec["paramRef"]),
            actions: texts(&spec["validationActions"]),
        }
    }

    /// Whether somebody who breaks the policy hears this.
    fn calls_for(&self, action: &str) -> bool {
        self.actions.iter().any(|stated| stated == action)
    }

    /// What the client hears of an objection that does not stop it.
    pub(super) fn warning(&self, policy: &Policy, objection: &Objection) -> Option<String> {
        self.calls_for("Warn").then(|| {
            let (policy, binding) = (&policy.name, &self.name);
            let message = &objection.message;
            format!(
                "Validation failed for ValidatingAdmissionPolicy '{policy}' with binding \
                 '{binding}': {message}"
            )
        })
    }

    /// The refusal that an objection calls for.
    pub(super) fn denial(
        &self,
        policy: &Policy,
        objection: Objection,
        forbidden: impl FnOnce(&str) -> Status,
    ) -> Option<Status> {
        self.calls_for("Deny")
            .then(|| denial(policy, Some(self), objection, forbidden))
    }
}

/// The refusal of a request because a policy cannot be followed as it is configured.
pub(super) fn misconfigured(
    policy: &Policy,
    binding: &Binding,
    why: &str,
    forbidden: impl FnOnce(&str) -> Status,
) -> Option<Status> {
    let message = format!("failed to configure binding: {why}");
    let objection = policy.on_error(message)?;
    Some(denial(policy, Some(binding), objection, forbidden))
}

fn denial(
    policy: &Policy,
    binding: Option<&Binding>,
    objection: Objection,
    forbidden: impl FnOnce(&str) -> Status,
) -> Status {
    let (name, message) = (&policy.name, &objection.message);
    let told = match binding {
        Some(binding) => format!(
            "ValidatingAdmissionPolicy '{name}' with binding '{}' denied request: {message}",
            binding.name
        ),
        None => format!("ValidatingAdmissionPolicy '{name}' denied request: {message}"),
    };
    let mut status = forbidden(&told);
    let (reason, code) = match objection.reason.as_deref() {
        Some("Forbidden") => (Reason::Forbidden, 403),
        Some("Unauthorized") => (Reason::Unauthorized, 401),
        Some("RequestEntityTooLarge") => (Reason::RequestEntityTooLarge, 413),
        _ => (Reason::Invalid, 422),
    };
    status.reason = Some(reason);
    status.code = Some(code);
    let cause = StatusCause::new("", told, "");
    status.details.get_or_insert_default().causes.push(cause);
    status
}

/// The refusal of a request because a policy could not change the object.
pub(super) fn unchangeable(
    policy: &Policy,
    binding: &Binding,
    why: &str,
    forbidden: impl FnOnce(&str) -> Status,
) -> Option<Status> {
    if policy.on_failure == OnFailure::Ignore {
        return None;
    }
    let told = format!(
        "policy '{}' with binding '{}' denied request: {why}",
        policy.name, binding.name
    );
    let mut status = forbidden("admission request denied by policy");
    status.message.clone_from(&told);
    status.reason = Some(Reason::Invalid);
    let cause = StatusCause::new("", told, "");
    status.details.get_or_insert_default().causes.push(cause);
    Some(status)
}

impl Validation {
    fn read(environment: &listwatch_cel::Environment, validation: &Value) -> Self {
        let message_expression = validation["messageExpression"].as_str();
        Self {
            expression: Expression::compile(environment, &text(&validation["expression"])),
            message: text(&validation["message"]),
            message_expression: message_expression
                .filter(|text| !text.is_empty())
                .map(|text| Expression::compile(environment, text)),
            reason: validation["reason"].as_str().map(str::to_owned),
        }
    }

    fn objection(&self, scene: &Scene<'_>) -> Objection {
        let made = self
            .message_expression
            .as_ref()
            .and_then(|expression| expression.text_of(scene).ok().flatten());
        let made = made.map(|message| message.trim().to_owned());
        let usable = made.filter(|message| {
            !message.is_empty() && message.len() <= MESSAGE_BYTES_MAX && !message.contains('\n')
        });
        let stated = self.message.trim();
        let message = match usable {
            Some(message) => message,
            None if !stated.is_empty() => stated.to_owned(),
            None => format!("failed expression: {}", self.expression.text.trim()),
        };
        Objection {
            message,
            reason: self.reason.clone(),
        }
    }
}

/// Whether a policy takes parameters.
fn parameters(spec: &Value) -> Parameters {
    match spec["paramKind"].is_object() {
        true => Parameters::Taken,
        false => Parameters::None,
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
