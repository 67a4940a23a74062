//! Fields that are labels, and selections by them.

use listwatch_api::name;
use serde_json::Value;

use super::Field;

/// Whether the values of a selector's expressions must be values that labels can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LabelValues {
    /// They must.
    Checked,
    /// They need not, as where an object has had such a selector all along.
    Any,
}

/// Checks the keys and values of labels, which are all reported under the map's own path.
pub(crate) fn check_labels(labels: &Field<'_, '_>) {
    for (key, value) in labels.entries() {
        for problem in name::check_qualified_name(key) {
            labels.invalid_value(key, &problem);
        }
        for problem in name::check_label_value(value.text()) {
            labels.invalid_value(value.text(), &problem);
        }
    }
}

/// Checks a selector with `matchLabels` and `matchExpressions`; an absent one passes.
pub(crate) fn check_label_selector(selector: &Field<'_, '_>, values: LabelValues) {
    check_labels(&selector.child("matchLabels"));
    for expression in selector.child("matchExpressions").elements() {
        check_requirement(&expression, values);
    }
}

fn check_requirement(expression: &Field<'_, '_>, values: LabelValues) {
    let operator = expression.child("operator");
    let operands = expression.child("values");
    match (operator.text(), operands.is_empty()) {
        ("In" | "NotIn", true) => {
            operands.required("must be specified when `operator` is 'In' or 'NotIn'");
        }
        ("Exists" | "DoesNotExist", false) => {
            let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            operands.forbidden(why);
        }
        ("In" | "NotIn" | "Exists" | "DoesNotExist", _) => {}
        (other, _) => operator.invalid_value(other, "not a valid selector operator"),
    }
    expression.child("key").qualified_name();
    if values == LabelValues::Checked {
        for operand in operands.elements() {
            operand.named(name::check_label_value);
        }
    }
}

/// What a selector says of some labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Selection {
    /// Its expressions make no sense.
    Malformed,
    /// It wants others.
    Rejects,
    /// It wants them.
    Selects,
}

/// What a selector with `matchLabels` and `matchExpressions` says of `labels`. An absent selector
/// wants nothing, an empty one everything.
pub(crate) fn selects(selector: &Value, labels: &Value) -> Selection {
    let Some(parts) = selector.as_object() else {
        return Selection::Rejects;
    };
    let wanted = parts.get("matchLabels").and_then(Value::as_object);
    let mut wanted = wanted.into_iter().flatten();
    let expressions = parts.get("matchExpressions").and_then(Value::as_array);
    let expressions = expressions.map_or(&[][..], Vec::as_slice);
    if expressions
        .iter()
        .any(|expression| meets(expression, labels).is_none())
    {
        return Selection::Malformed;
    }
    let is_labelled = wanted.all(|(key, value)| labels.get(key) == Some(value));
    let meets_all = expressions
        .iter()
        .all(|expression| meets(expression, labels) == Some(true));
    match is_labelled && meets_all {
        true => Selection::Selects,
        false => Selection::Rejects,
    }
}

/// Whether labels meet an expression; `None` when it makes no sense.
fn meets(expression: &Value, labels: &Value) -> Option<bool> {
    let key = expression
        .get("key")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if !name::check_qualified_name(key).is_empty() {
        return None;
    }
    let operands = expression.get("values").and_then(Value::as_array);
    let operands = operands.map_or(&[][..], Vec::as_slice);
    let is_label =
        |operand: &Value| name::check_label_value(operand.as_str().unwrap_or_default()).is_empty();
    if !operands.iter().all(is_label) {
        return None;
    }
    let label = labels.get(key);
    let is_operand = label.is_some_and(|label| operands.contains(label));
    let operator = expression.get("operator").and_then(Value::as_str);
    match (operator.unwrap_or_default(), operands.is_empty()) {
        ("In", false) => Some(is_operand),
        ("NotIn", false) => Some(!is_operand),
        ("Exists", true) => Some(label.is_some()),
        ("DoesNotExist", true) => Some(label.is_none()),
        _ => None,
    }
}
