//! Policies of admission and their bindings: all but what their expressions mean.

use listwatch_api::name;
use listwatch_cel::names::is_reserved;
use serde_json::Value;

use super::{check_match_conditions, check_rule, default_match};
use crate::bounds::joined;
use crate::condition::check_conditions;
use crate::field::{Field, LabelValues, check, check_label_selector};
use crate::rules::Rules;
use crate::tree::{each, fill, list, part};

const ANNOTATIONS_MAX: usize = 20;
const ANNOTATION_BYTES_MAX: usize = 5 * 1_024;
const MUTATING_OPERATIONS: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];
const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];

/// ValidatingAdmissionPolicies.
pub(crate) const VALIDATING_POLICIES: Rules = Rules {
    default: default_policy,
    begin: |policy| policy["status"] = serde_json::json!({}),
    check_new: |policy| check(policy, check_validating_policy),
    check_change: |change| check(change.next, check_validating_policy),
    check_status: |change| {
        check(change.next, |policy| {
            check_conditions(&policy.child("status").child("conditions"))
        })
    },
    ..Rules::NONE
};

/// MutatingAdmissionPolicies.
pub(crate) const MUTATING_POLICIES: Rules = Rules {
    default: default_policy,
    check_new: |policy| check(policy, check_mutating_policy),
    check_change: |change| check(change.next, check_mutating_policy),
    ..Rules::NONE
};

/// ValidatingAdmissionPolicyBindings.
pub(crate) const VALIDATING_BINDINGS: Rules = Rules {
    default: default_binding,
    check_new: |binding| check(binding, check_validating_binding),
    check_change: |change| check(change.next, check_validating_binding),
    ..Rules::NONE
};

/// MutatingAdmissionPolicyBindings.
pub(crate) const MUTATING_BINDINGS: Rules = Rules {
    default: default_binding,
    check_new: |binding| check(binding, check_mutating_binding),
    check_change: |change| check(change.next, check_mutating_binding),
    ..Rules::NONE
};

fn default_policy(policy: &mut Value) {
    let spec = &mut policy["spec"];
    fill(spec, "failurePolicy", "Fail");
    if let Some(constraints) = part(spec, "matchConstraints") {
        default_resources(constraints);
    }
}

fn default_binding(binding: &mut Value) {
    if let Some(resources) = part(&mut binding["spec"], "matchResources") {
        default_resources(resources);
    }
}

fn default_resources(resources: &mut Value) {
    default_match(resources);
    for rules in ["resourceRules", "excludeResourceRules"] {
        each(resources, rules).for_each(|rule| fill(rule, "scope", "*"));
    }
}

/// What the two kinds of policies have in common.
fn check_policy(spec: &Field<'_, '_>) {
    spec.child("failurePolicy").need_one_of(&["Fail", "Ignore"]);
    if let Some(kind) = spec.given("paramKind") {
        check_parameter_kind(&kind);
    }
    match spec.given("matchConstraints") {
        Some(constraints) => {
            check_matched(&constraints);
            constraints.child("resourceRules").need();
        }
        None => spec.child("matchConstraints").required(""),
    }
}

fn check_variables(spec: &Field<'_, '_>) {
    for variable in spec.child("variables").elements() {
        let (name, expression) = (variable.child("name"), variable.child("expression"));
        if name.text().trim().is_empty() {
            name.required("name is not specified");
        } else if !is_identifier(name.text()) {
            name.invalid("must be a valid CEL identifier");
        }
        if expression.text().trim().is_empty() {
            expression.required("expression is not specified");
        }
    }
}

fn is_identifier(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(is_part)
        && !is_reserved(text)
}

fn check_validating_policy(policy: &Field<'_, '_>) {
    let spec = policy.child("spec");
    check_policy(&spec);
    check_match_conditions(&spec.child("matchConditions"));
    check_variables(&spec);
    let (validations, annotations) = (spec.child("validations"), spec.child("auditAnnotations"));
    if validations.is_empty() && annotations.is_empty() {
        let why = "validations or auditAnnotations must contain at least one item";
        validations.required(why);
        return annotations.required(why);
    }
    validations
        .elements()
        .for_each(|validation| check_validation(&validation));
    if annotations.count() > ANNOTATIONS_MAX {
        annotations.invalid(&format!(
            "must not have more than {ANNOTATIONS_MAX} auditAnnotations"
        ));
    }
    let own_name = policy.value()["metadata"]["name"]
        .as_str()
        .unwrap_or_default();
    let mut keys = Vec::new();
    for annotation in annotations.elements() {
        check_annotation(&annotation, own_name);
        let key = annotation.child("key");
        if keys.contains(&key.text()) {
            key.duplicate();
        }
        keys.push(key.text());
    }
}

fn check_validation(validation: &Field<'_, '_>) {
    if validation.child("expression").text().trim().is_empty() {
        validation
            .child("expression")
            .required("expression is not specified");
    }
    for member in ["messageExpression", "message"] {
        let text = validation.child(member);
        let trimmed = text.text().trim();
        if !text.is_empty() && trimmed.is_empty() {
            text.invalid("must be non-empty if specified");
        } else if member == "message" && trimmed.contains(['\n', '\r']) {
            text.invalid("must not contain line breaks");
        }
    }
    if let Some(reason) = validation.given("reason") {
        reason.one_of(&REASONS);
    }
}

fn check_annotation(annotation: &Field<'_, '_>, policy: &str) {
    let (key, value) = (annotation.child("key"), annotation.child("valueExpression"));
    let full = format!("{policy}/{}", key.text());
    for problem in name::check_qualified_name(&full) {
        key.invalid_value(full.as_str(), &problem);
    }
    match value.text().trim().len() {
        0 => value.required("valueExpression is not specified"),
        bytes if bytes > ANNOTATION_BYTES_MAX => {
            value.required(&format!(
                "must not exceed {ANNOTATION_BYTES_MAX} bytes in length"
            ));
        }
        _ => {}
    }
}

fn check_parameter_kind(parameters: &Field<'_, '_>) {
    let (version, kind) = (parameters.child("apiVersion"), parameters.child("kind"));
    if version.need() {
        check_group_version(&version);
    }
    if kind.need()
        && let Some(problems) = joined(
            &name::check_dns_1035_label(&kind.text().to_lowercase()),
            ",",
        )
    {
        kind.invalid(&format!(
            "may have mixed case, but should otherwise match: {problems}"
        ));
    }
}

fn check_group_version(field: &Field<'_, '_>) {
    let text = field.text();
    if text.matches('/').count() > 1 {
        return field.invalid(&format!("unexpected GroupVersion string: {text}"));
    }
    let (group, version) = text.split_once('/').unwrap_or(("", text));
    if !group.is_empty()
        && let Some(problems) = joined(&name::check_dns_subdomain(group), ",")
    {
        field.invalid_value(group, &problems);
    }
    if version.is_empty() {
        field.invalid("version must be specified");
    } else if let Some(problems) = joined(&name::check_dns_1035_label(version), ",") {
        field.invalid_value(version, &problems);
    }
}

/// Checks which requests are matched.
fn check_matched(resources: &Field<'_, '_>) {
    resources
        .child("matchPolicy")
        .need_one_of(&["Equivalent", "Exact"]);
    for selector in ["namespaceSelector", "objectSelector"] {
        check_label_selector(&resources.child(selector), LabelValues::Checked);
    }
    for rules in ["resourceRules", "excludeResourceRules"] {
        for rule in resources.child(rules).elements() {
            let names = list(rule.value(), "resourceNames");
            for (index, name) in rule.child("resourceNames").elements().enumerate() {
                name.named(name::check_path_segment);
                if names[..index].contains(name.value()) {
                    name.duplicate();
                }
            }
            check_rule(&rule);
        }
    }
}

fn check_mutating_policy(policy: &Field<'_, '_>) {
    let spec = policy.child("spec");
    check_policy(&spec);
    check_mutable(&spec.child("matchConstraints"));
    check_match_conditions(&spec.child("matchConditions"));
    check_variables(&spec);
    let mutations = spec.child("mutations");
    mutations.need_because("mutations must contain at least one item");
    mutations
        .elements()
        .for_each(|mutation| check_mutation(&mutation));
    spec.child("reinvocationPolicy")
        .need_one_of(&["IfNeeded", "Never"]);
}

/// What is deleted cannot be changed any more. Told without the place in the lists.
fn check_mutable(resources: &Field<'_, '_>) {
    let rules = resources.child("resourceRules");
    let place = rules.child("operations");
    for rule in list(resources.value(), "resourceRules") {
        for operation in list(rule, "operations") {
            place.with_value(operation).one_of(&MUTATING_OPERATIONS);
        }
    }
}

fn check_mutation(mutation: &Field<'_, '_>) {
    let kind = mutation.child("patchType");
    let (wanted, other) = match kind.text() {
        "" => return kind.required(""),
        "JSONPatch" => ("jsonPatch", "applyConfiguration"),
        "ApplyConfiguration" => ("applyConfiguration", "jsonPatch"),
        _ => return kind.one_of(&["ApplyConfiguration", "JSONPatch"]),
    };
    match mutation.given(wanted) {
        Some(patch) if patch.child("expression").text().trim().is_empty() => {
            patch.child("expression").required("");
        }
        Some(_) => {}
        None => {
            let why = format!("must be specified when patchType is {}", kind.text());
            mutation.child(wanted).required(&why);
        }
    }
    if mutation.child(other).is_set() {
        let shown = format!("{{{other}}}");
        let why = format!("must not be specified when patchType is {}", kind.text());
        mutation.child(other).invalid_value(&shown, &why);
    }
}

fn check_mutating_binding(binding: &Field<'_, '_>) {
    let spec = binding.child("spec");
    spec.child("policyName")
        .need_named(name::check_dns_subdomain);
    check_binding(&spec);
    check_mutable(&spec.child("matchResources"));
}

fn check_binding(spec: &Field<'_, '_>) {
    if let Some(parameters) = spec.given("paramRef") {
        check_parameters(&parameters);
    }
    if let Some(resources) = spec.given("matchResources") {
        check_matched(&resources);
    }
}

fn check_validating_binding(binding: &Field<'_, '_>) {
    let spec = binding.child("spec");
    let (policy, actions) = (spec.child("policyName"), spec.child("validationActions"));
    if !policy.is_empty() {
        policy.dns_subdomain();
    }
    check_binding(&spec);
    let stated = list(spec.value(), "validationActions");
    for (index, action) in actions.elements().enumerate() {
        action.one_of(&["Audit", "Deny", "Warn"]);
        if stated[..index].contains(action.value()) {
            action.duplicate();
        }
    }
    let has = |wanted: &str| stated.iter().any(|action| action == wanted);
    if has("Deny") && has("Warn") {
        actions.invalid(
            "must not contain both Deny and Warn (repeating the same validation failure \
             information in the API response and headers serves no purpose)",
        );
    }
    policy.need();
    actions.need();
}

fn check_parameters(reference: &Field<'_, '_>) {
    let (name, selector) = (reference.child("name"), reference.child("selector"));
    let both = "name and selector are mutually exclusive";
    if !name.is_empty() {
        name.named(name::check_path_segment);
        if selector.is_set() {
            name.forbidden(both);
        }
    }
    if selector.is_set() {
        check_label_selector(&selector, LabelValues::Checked);
        if !name.is_empty() {
            selector.forbidden(both);
        }
    }
    if name.is_empty() && !selector.is_set() {
        reference.required("one of name or selector must be specified");
    }
    reference
        .child("parameterNotFoundAction")
        .need_one_of(&["Deny", "Allow"]);
}
