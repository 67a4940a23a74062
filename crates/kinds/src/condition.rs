//! Conditions in the form that most kinds share.

use crate::field::Field;

const REASON_BYTES_MAX: usize = 1_024;
const MESSAGE_BYTES_MAX: usize = 32 * 1_024;

/// Checks a list of conditions.
pub(crate) fn check_conditions(conditions: &Field<'_, '_>) {
    let mut types = Vec::new();
    for condition in conditions.elements() {
        let kind = condition.child("type");
        if types.contains(&kind.text()) {
            condition.report(|path| listwatch_api::FieldError::duplicate(path, kind.text()));
        }
        types.push(kind.text());
        check_condition(&condition);
    }
}

fn check_condition(condition: &Field<'_, '_>) {
    let kind = condition.child("type");
    if kind.need_because("is required") {
        kind.qualified_name();
    }
    condition
        .child("status")
        .need_one_of(&["False", "True", "Unknown"]);
    let generation = condition.child("observedGeneration");
    if generation.integer().is_some_and(|number| number < 0) {
        generation.invalid("must be greater than or equal to zero");
    }
    if !condition.child("lastTransitionTime").is_set() {
        condition.child("lastTransitionTime").required("");
    }
    let reason = condition.child("reason");
    if reason.need() {
        if !is_reason(reason.text()) {
            reason.invalid(
                "a condition reason must start with alphabetic character, optionally followed by a \
                 string of alphanumeric characters or '_,:', and must end with an alphanumeric \
                 character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or \
                 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is \
                 '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')",
            );
        }
        reason.at_most_bytes(REASON_BYTES_MAX);
    }
    condition.child("message").at_most_bytes(MESSAGE_BYTES_MAX);
}

fn is_reason(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_,:".contains(&byte);
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(is_part)
        && !text.ends_with([',', ':'])
}
