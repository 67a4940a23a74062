//! What failures and successes of pods mean for their job.

use listwatch_api::FieldError;
use serde_json::Value;

use super::{INDEXED, quoted_list};
use crate::field::Field;
use crate::tree::list;
use crate::workloads::shown;

const RULES_MAX: usize = 20;
const CODES_MAX: usize = 255;
const PATTERNS_MAX: usize = 20;
const INDEXES_BYTES_MAX: usize = 64 * 1_024;
const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];
const STATUSES: [&str; 3] = ["False", "True", "Unknown"];

pub(super) fn check_policies(spec: &Field<'_, '_>) {
    let failure = spec.child("podFailurePolicy");
    if failure.is_set() {
        check_failure(spec, &failure);
    }
    if let Some(success) = spec.given("successPolicy") {
        if spec.child("completionMode").text() == INDEXED {
            check_success(spec, &success);
        } else {
            let shown = shown::compact(success.value(), "SuccessPolicy");
            success.invalid_value(shown, "requires indexed completion mode");
        }
    }
    if let Some(replacement) = spec.given("podReplacementPolicy") {
        replacement.one_of(match failure.is_set() {
            true => &["Failed"],
            false => &["Failed", "TerminatingOrFailed"],
        });
    }
}

fn at_most(list: &Field<'_, '_>, most: usize) {
    if list.count() > most {
        list.report(|path| FieldError::too_many(path, list.count(), most));
    }
}

/// Demands one of `supported`; of a missing one the supported are listed.
fn need_one_of(field: &Field<'_, '_>, supported: &[&str]) {
    if field.need_because(&format!("valid values: {}", quoted_list(supported))) {
        field.one_of(supported);
    }
}

fn check_failure(spec: &Field<'_, '_>, policy: &Field<'_, '_>) {
    let rules = policy.child("rules");
    at_most(&rules, RULES_MAX);
    for rule in rules.elements() {
        let action = rule.child("action");
        if action.text() != "FailIndex" {
            need_one_of(&action, &ACTIONS);
        } else if !spec.child("backoffLimitPerIndex").is_set() {
            action.invalid("requires the backoffLimitPerIndex to be set");
        }
        let (codes, conditions) = (rule.child("onExitCodes"), rule.child("onPodConditions"));
        if codes.is_set() {
            check_codes(&codes, &spec.value()["template"]["spec"]);
        }
        at_most(&conditions, PATTERNS_MAX);
        for pattern in conditions.elements() {
            pattern.child("type").qualified_name();
            need_one_of(&pattern.child("status"), &STATUSES);
        }
        match (codes.is_set(), conditions.is_empty()) {
            (true, false) => {
                rule.wrong("specifying both OnExitCodes and OnPodConditions is not supported");
            }
            (false, true) => {
                rule.wrong("specifying one of OnExitCodes and OnPodConditions is required");
            }
            _ => {}
        }
    }
}

fn check_codes(codes: &Field<'_, '_>, pod: &Value) {
    let operator = codes.child("operator");
    need_one_of(&operator, &["In", "NotIn"]);
    if let Some(container) = codes.given("containerName") {
        let mut all = list(pod, "containers")
            .iter()
            .chain(list(pod, "initContainers"));
        if !all.any(|known| &known["name"] == container.value()) {
            let why = "must be one of the container or initContainer names in the pod template";
            container.invalid(why);
        }
    }
    let values = codes.child("values");
    if values.is_empty() {
        let shown = shown::compact(values.value(), "[]n");
        values.invalid_value(shown, "at least one value is required");
    }
    at_most(&values, CODES_MAX);
    let numbers: Vec<i64> = values
        .elements()
        .filter_map(|value| value.integer())
        .collect();
    for (index, value) in values.elements().enumerate() {
        let number = value.integer().unwrap_or(0);
        if operator.text() == "In" && number == 0 {
            value.invalid("must not be 0 for the In operator");
        }
        if numbers.iter().take(index).any(|known| *known == number) {
            value.duplicate();
        }
    }
    if !numbers.is_sorted() {
        values.invalid("must be ordered");
    }
}

fn check_success(spec: &Field<'_, '_>, policy: &Field<'_, '_>) {
    let rules = policy.child("rules");
    rules.need_because("at least one rules must be specified when the successPolicy is specified");
    at_most(&rules, RULES_MAX);
    let completions = spec.child("completions").integer().unwrap_or(0);
    for rule in rules.elements() {
        let (count, indexes) = (rule.child("succeededCount"), rule.child("succeededIndexes"));
        if !count.is_set() && !indexes.is_set() {
            let why = "at least one of succeededCount or succeededIndexes must be specified";
            rule.required(why);
        }
        if indexes.text().len() > INDEXES_BYTES_MAX {
            indexes.report(|path| FieldError::too_long(path, INDEXES_BYTES_MAX));
        }
        let total = match count_indexes(indexes.text(), completions) {
            Ok(total) => total,
            Err(problem) => {
                indexes.invalid(&format!("error parsing succeededIndexes: {problem}"));
                0
            }
        };
        count.non_negative();
        let below = |most: i64, what: &str| {
            if count.integer().is_some_and(|count| count > most) {
                count.invalid(&format!(
                    "must be less than or equal to {most} (the number of {what})"
                ));
            }
        };
        below(completions, "specified completions");
        if indexes.is_set() {
            below(total, "indexes in the specified succeededIndexes field");
        }
    }
}

/// How many indexes a text such as `1,3-5` names.
pub(super) fn count_indexes(text: &str, completions: i64) -> Result<i64, String> {
    let mut total = 0;
    let mut last: Option<i64> = None;
    for interval in text.split(',').filter(|_| !text.is_empty()) {
        let (first, end) = parse_interval(interval, completions)?;
        if let Some(last) = last.filter(|last| *last >= first) {
            return Err(format!(
                "non-increasing order, previous: {last}, current: {first}"
            ));
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

/// The first and the last index of a part of such a text.
pub(super) fn parse_interval(interval: &str, completions: i64) -> Result<(i64, i64), String> {
    let parse = |text: &str| {
        let quoted = listwatch_api::go_text::quote(text);
        let number: i64 = text
            .parse()
            .map_err(|_| format!("cannot convert string to integer for index: {quoted}"))?;
        match number >= completions {
            true => Err(format!("too large index: {quoted}")),
            false => Ok(number),
        }
    };
    let parts: Vec<&str> = interval.split('-').collect();
    match parts.as_slice() {
        [one] => parse(one).map(|number| (number, number)),
        [first, end] => {
            let (first, end) = (parse(first)?, parse(end)?);
            match first >= end {
                true => Err(format!(
                    "non-increasing order, previous: {first}, current: {end}"
                )),
                false => Ok((first, end)),
            }
        }
        _ => {
            let quoted = listwatch_api::go_text::quote(interval);
            let why = "violates the requirement that an index interval can have at most two parts";
            Err(format!("the fragment {quoted} {why} separated by '-'"))
        }
    }
}
