//! Which nodes a pod goes to and stays on.

use listwatch_api::{FieldError, name};
use serde_json::Value;

use super::shown;
use crate::field::{Field, IS_NOT_POSITIVE, LabelValues, check_label_selector};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const NO_OPERATOR: &str = "not a valid selector operator";
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Checks which nodes and which pods a pod wants to be near to, or far from.
pub(super) fn check_affinity(affinity: &Field<'_, '_>) {
    if let Some(nodes) = affinity.given("nodeAffinity") {
        if let Some(selector) = nodes.given(REQUIRED) {
            check_node_selector(&selector);
        }
        for preferred in nodes.child(PREFERRED).elements() {
            check_weight(&preferred);
            check_node_term(&preferred.child("preference"), LabelValues::Any);
        }
    }
    for direction in ["podAffinity", "podAntiAffinity"] {
        let direction = affinity.child(direction);
        for term in direction.child(REQUIRED).elements() {
            check_pod_term(&term);
        }
        for preferred in direction.child(PREFERRED).elements() {
            check_weight(&preferred);
            check_pod_term(&preferred.child("podAffinityTerm"));
        }
    }
}

fn check_weight(preferred: &Field<'_, '_>) {
    let weight = preferred.child("weight");
    let number = weight.integer().unwrap_or(0);
    if !(1..=100).contains(&number) {
        weight.invalid_value(number, "must be in the range 1-100");
    }
}

/// Checks a selector of nodes, which has at least one term.
pub(crate) fn check_node_selector(selector: &Field<'_, '_>) {
    let terms = selector.child("nodeSelectorTerms");
    if terms.is_empty() {
        return terms.required("must have at least one node selector term");
    }
    for term in terms.elements() {
        check_node_term(&term, LabelValues::Checked);
    }
}

fn check_node_term(term: &Field<'_, '_>, values: LabelValues) {
    for expression in term.child("matchExpressions").elements() {
        check_node_expression(&expression, values);
    }
    for expression in term.child("matchFields").elements() {
        check_node_field(&expression);
    }
}

fn check_node_expression(expression: &Field<'_, '_>, values: LabelValues) {
    let (operator, operands) = (expression.child("operator"), expression.child("values"));
    match (operator.text(), operands.count()) {
        ("In" | "NotIn", 0) => {
            operands.required("must be specified when `operator` is 'In' or 'NotIn'");
        }
        ("Exists" | "DoesNotExist", 1..) => {
            let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            operands.forbidden(why);
        }
        ("Gt" | "Lt", 1) => {}
        ("Gt" | "Lt", _) => {
            operands.required("must be specified single value when `operator` is 'Lt' or 'Gt'");
        }
        ("In" | "NotIn" | "Exists" | "DoesNotExist", _) => {}
        (other, _) => operator.invalid_value(other, NO_OPERATOR),
    }
    expression.child("key").qualified_name();
    if values == LabelValues::Checked {
        for operand in operands.elements() {
            operand.named(name::check_label_value);
        }
    }
}

fn check_node_field(expression: &Field<'_, '_>) {
    let (operator, operands) = (expression.child("operator"), expression.child("values"));
    match (operator.text(), operands.count()) {
        ("In" | "NotIn", 1) => {}
        ("In" | "NotIn", _) => operands.required(
            "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
        ),
        (other, _) => operator.invalid_value(other, NO_OPERATOR),
    }
    let key = expression.child("key");
    if key.text() == "metadata.name" {
        operands
            .elements()
            .for_each(|operand| operand.dns_subdomain());
    } else {
        key.invalid_value(key.text(), "not a valid field selector key");
    }
}

fn check_pod_term(term: &Field<'_, '_>) {
    check_label_selector(&term.child("labelSelector"), LabelValues::Checked);
    check_label_selector(&term.child("namespaceSelector"), LabelValues::Checked);
    for namespace in term.child("namespaces").elements() {
        for problem in name::check_dns_label(namespace.text()) {
            term.child("namespace")
                .invalid_value(namespace.text(), &problem);
        }
    }
    check_label_keys(term);
    let topology = term.child("topologyKey");
    topology.need_because("can not be empty");
    topology.qualified_name();
}

/// Checks the keys under which a term takes the pod's own values. When this is asked, the selector
/// has the pod's own values already.
fn check_label_keys(term: &Field<'_, '_>) {
    let selector = term.child("labelSelector");
    let lists = ["matchLabelKeys", "mismatchLabelKeys"];
    let [own, others] = lists.map(|list| term.child(list));
    for keys in [&own, &others] {
        if !keys.is_empty() && !selector.is_set() {
            keys.forbidden("must not be specified when labelSelector is not set");
        } else {
            keys.elements().for_each(|key| key.qualified_name());
        }
    }
    let labels = selector.child("matchLabels");
    let mut known: Vec<&str> = labels.entries().map(|(key, _)| key).collect();
    for expression in selector.child("matchExpressions").elements() {
        let key = text_of(expression.value(), "key");
        let place = own.elements().rposition_of(key);
        if let Some(place) = place.filter(|_| known.contains(&key)) {
            let why = "exists in both matchLabelKeys and labelSelector";
            term.index(place).invalid_value(key, why);
        }
        known.push(key);
    }
    for key in own.elements() {
        if others.elements().any(|other| other.text() == key.text()) {
            key.invalid("exists in both matchLabelKeys and mismatchLabelKeys");
        }
    }
}

trait LastPlace {
    fn rposition_of(self, text: &str) -> Option<usize>;
}

impl<'v: 'p, 'p, I: Iterator<Item = Field<'v, 'p>>> LastPlace for I {
    fn rposition_of(self, text: &str) -> Option<usize> {
        let places = self
            .enumerate()
            .filter(|(_, element)| element.text() == text);
        places.map(|(place, _)| place).last()
    }
}

fn text_of<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or_default()
}

/// Checks which taints of nodes a pod bears.
pub(super) fn check_tolerations(tolerations: &Field<'_, '_>) {
    for toleration in tolerations.elements() {
        let [key, operator, value, effect] =
            ["key", "operator", "value", "effect"].map(|member| toleration.child(member));
        if !key.is_empty() {
            key.qualified_name();
        } else if operator.text() != "Exists" {
            let why = "operator must be Exists when `key` is empty, which means \"match all values \
                       and all keys\"";
            operator.invalid_value(operator.text(), why);
        }
        if toleration.child("tolerationSeconds").is_set() && effect.text() != "NoExecute" {
            let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            effect.invalid_value(effect.text(), why);
        }
        match operator.text() {
            "Equal" | "" => {
                let problems = name::check_label_value(value.text());
                if !problems.is_empty() {
                    operator.invalid_value(value.text(), &problems.join(";"));
                }
            }
            "Exists" if value.is_empty() => {}
            "Exists" => {
                let why = "value must be empty when `operator` is 'Exists'";
                operator.invalid_value(value.text(), why);
            }
            "Lt" | "Gt" => operator.not_supported(&["Equal", "Exists", "Lt", "Gt"]),
            _ => operator.not_supported(&["Equal", "Exists"]),
        }
        if !effect.is_empty() {
            effect.one_of(&EFFECTS);
        }
    }
}

/// Checks how evenly pods are to be spread.
pub(super) fn check_spread(constraints: &Field<'_, '_>) {
    for (index, constraint) in constraints.elements().enumerate() {
        need_positive(&constraint.child("maxSkew"));
        let key = constraint.child("topologyKey");
        key.need_because("can not be empty");
        let action = constraint.child("whenUnsatisfiable");
        action.one_of(&["DoNotSchedule", "ScheduleAnyway"]);
        let is_same = |other: Field<'_, '_>| {
            other.child("topologyKey").text() == key.text()
                && other.child("whenUnsatisfiable").text() == action.text()
        };
        if constraints.elements().skip(index + 1).any(is_same) {
            let pair = format!("{{{}, {}}}", key.text(), action.text());
            let place = constraint.child("{topologyKey, whenUnsatisfiable}");
            place.report(|path| FieldError::duplicate(path, pair.as_str()));
        }
        check_domains(&constraint.child("minDomains"), action.text());
        for member in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            if let Some(policy) = constraint.given(member) {
                policy.one_of(&["Honor", "Ignore"]);
            }
        }
        check_label_keys(&constraint);
        check_label_selector(&constraint.child("labelSelector"), LabelValues::Checked);
    }
}

fn need_positive(number: &Field<'_, '_>) {
    if number.integer().unwrap_or(0) <= 0 {
        number.invalid_value(number.integer().unwrap_or(0), IS_NOT_POSITIVE);
    }
}

fn check_domains(domains: &Field<'_, '_>, action: &str) {
    if !domains.is_set() {
        return;
    }
    need_positive(domains);
    if action != "DoNotSchedule" {
        let why = "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not";
        domains.invalid(&format!("{why} {action}"));
    }
}

/// Checks the gates that keep a pod from being placed.
pub(super) fn check_gates(gates: &Field<'_, '_>) {
    let mut seen = Vec::new();
    for gate in gates.elements() {
        let name = text_of(gate.value(), "name");
        for problem in name::check_qualified_name(name) {
            gate.invalid_value(name, &problem);
        }
        if seen.contains(&name) {
            gate.report(|path| FieldError::duplicate(path, name));
        }
        seen.push(name);
    }
}

/// While a pod is gated, it may ask for more of its node.
pub(super) fn check_narrowing(spec: &Field<'_, '_>, before: &Value) {
    let selector = spec.child("nodeSelector");
    let kept = before["nodeSelector"].as_object().into_iter().flatten();
    let is_kept = |(key, value): (&String, &Value)| selector.value().get(key) == Some(value);
    if !kept.into_iter().all(is_kept) {
        let why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        selector.invalid(why);
    }
    let before = &before["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"];
    let old_terms = before.as_array().map_or(&[][..], Vec::as_slice);
    let affinity = spec.child("affinity");
    let nodes = affinity.child("nodeAffinity");
    let required = nodes.child(REQUIRED);
    let terms = required.child("nodeSelectorTerms");
    if old_terms.is_empty() || terms.value() == before {
        return;
    }
    if terms.count() != old_terms.len() {
        let why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        let shown = shown::compact(terms.value(), "[]NodeSelectorTerm");
        return terms.invalid_value(shown, why);
    }
    for (term, old) in terms.elements().zip(old_terms) {
        if !only_adds(term.value(), old) {
            let shown = shown::compact(term.value(), "NodeSelectorTerm");
            term.invalid_value(
                shown,
                "only additions are allowed (no mutations or deletions)",
            );
        }
    }
}

fn only_adds(term: &Value, old: &Value) -> bool {
    let lists = ["matchExpressions", "matchFields"];
    let of = |value: &'_ Value, list: &str| value[list].as_array().cloned().unwrap_or_default();
    let was_empty = lists.iter().all(|list| of(old, list).is_empty());
    let is_empty = lists.iter().all(|list| of(term, list).is_empty());
    (!was_empty || is_empty)
        && lists
            .iter()
            .all(|list| of(term, list).starts_with(&of(old, list)))
}
