//! The functions that expressions may call: what they are declared as, and what they do.

pub(crate) mod access;
mod conversions;
pub(crate) mod declarations;
pub mod format;
pub(crate) mod format_text;
pub mod ip;
mod lists;
mod operators;
mod optional;
pub mod quantity;
pub mod regex;
pub mod semver;
mod strings;
pub mod time;
pub mod url;

use crate::error::EvaluationError;
use crate::value::{Outcome, Value};

/// What an overload does with its arguments, the target first.
pub(crate) type Function = for<'a> fn(&[Value<'a>]) -> Outcome<'a>;

/// The function behind an overload.
pub(crate) fn implementation(function: &str, overload: &str) -> Option<Function> {
    operators::implementation(function)
        .or_else(|| conversions::implementation(function))
        .or_else(|| time_getter(function))
        .or_else(|| strings::implementation(overload))
        .or_else(|| lists::implementation(overload))
        .or_else(|| optional::implementation(overload))
        .or_else(|| regex::implementation(overload))
        .or_else(|| url::implementation(overload))
        .or_else(|| ip::implementation(overload))
        .or_else(|| quantity::implementation(overload))
        .or_else(|| semver::implementation(overload))
        .or_else(|| format::implementation(overload))
        .or_else(|| access::implementation(overload))
}

pub(crate) use conversions::is_conversion;
pub(crate) use operators::{insert_into, lacks};

/// Whether a function looks at the types of its arguments itself.
pub(crate) fn is_unguarded(function: &str) -> bool {
    let operator = function.starts_with(['_', '@', '-', '!']);
    operator
        || matches!(
            function,
            "size"
                | "type"
                | "dyn"
                | "matches"
                | "contains"
                | "startsWith"
                | "endsWith"
                | "sort"
                | "flatten"
        )
}

fn time_getter(function: &str) -> Option<Function> {
    Some(match function {
        "getFullYear" => |arguments| time::getter("getFullYear", arguments),
        "getMonth" => |arguments| time::getter("getMonth", arguments),
        "getDate" => |arguments| time::getter("getDate", arguments),
        "getDayOfMonth" => |arguments| time::getter("getDayOfMonth", arguments),
        "getDayOfWeek" => |arguments| time::getter("getDayOfWeek", arguments),
        "getDayOfYear" => |arguments| time::getter("getDayOfYear", arguments),
        "getHours" => |arguments| time::getter("getHours", arguments),
        "getMinutes" => |arguments| time::getter("getMinutes", arguments),
        "getSeconds" => |arguments| time::getter("getSeconds", arguments),
        "getMilliseconds" => |arguments| time::getter("getMilliseconds", arguments),
        _ => return None,
    })
}

/// What is said when arguments have types that nothing is defined for.
fn unfit<T>() -> Result<T, EvaluationError> {
    Err(EvaluationError::no_such_overload())
}

fn fail<T>(message: impl Into<String>) -> Result<T, EvaluationError> {
    Err(EvaluationError::failed(message))
}
