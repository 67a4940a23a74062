//! Calls of functions and what each costs.

use super::Evaluator;
use crate::error::EvaluationError;
use crate::library;
use crate::library::declarations::Overload;
use crate::plan::{Action, CallNode, Equality};
use crate::types::Type;
use crate::value::{List, Map, Outcome, Value};

const TEXT_FACTOR: f64 = 0.1;
const PATTERN_FACTOR: f64 = 0.25;
const CHECK_COST: u64 = 350_000;
const LIST_COST: u64 = 10;
const REQUIREMENT_COST: f64 = 50.0;

impl<'e, 'a> Evaluator<'e, 'a> {
    pub(super) fn call<'n: 'e>(&mut self, call: &'n CallNode) -> Outcome<'a> {
        let direct = match call.action {
            Action::Direct(_) => true,
            Action::Dispatch(_) => call.overload.is_some() && call.function != "format",
            Action::Pattern(_) => false,
        };
        let together = call.arguments.len() <= 2 && direct;
        let mut outcomes = Vec::with_capacity(call.arguments.len());
        for (index, argument) in call.arguments.iter().enumerate() {
            let outcome = self.operand(argument)?;
            let last = index + 1 == call.arguments.len();
            if outcome.is_err() && !together && !last {
                return outcome;
            }
            outcomes.push(outcome);
        }
        self.finish(call, outcomes)
    }

    /// Applies the function to arguments that are all evaluated.
    pub(super) fn finish<'n: 'e>(
        &mut self,
        call: &'n CallNode,
        outcomes: Vec<Outcome<'a>>,
    ) -> Outcome<'a> {
        let sizes: Vec<u64> = outcomes.iter().map(size).collect();
        let arguments: Result<Vec<Value<'a>>, EvaluationError> = outcomes.into_iter().collect();
        let known = Cost {
            call,
            sizes: &sizes,
            arguments: arguments.as_deref().unwrap_or_default(),
            outcome: &Ok(Value::Null),
        };
        let beforehand = known.of_quadratic_function(call.overload.unwrap_or(""));
        self.budget.charge(beforehand.unwrap_or(0))?;
        let outcome = match &arguments {
            Ok(arguments) => apply(call, arguments),
            Err(error) => Err(error.clone()),
        };
        if beforehand.is_some() {
            return outcome;
        }
        let cost = Cost {
            call,
            sizes: &sizes,
            arguments: arguments.as_deref().unwrap_or_default(),
            outcome: &outcome,
        };
        self.budget.charge(cost.of_call())?;
        outcome
    }
}

fn apply<'a>(call: &CallNode, arguments: &[Value<'a>]) -> Outcome<'a> {
    match &call.action {
        Action::Direct(function) => function(arguments).map_err(|error| match arguments.first() {
            Some(first)
                if error == EvaluationError::no_such_overload()
                    && library::lacks(&call.function, first) =>
            {
                EvaluationError::failed(format!("no such overload: {}", call.function))
            }
            _ => error,
        }),
        Action::Pattern(pattern) => library::regex::apply(&call.function, pattern, arguments),
        Action::Dispatch(candidates) => {
            let fitting = candidates
                .iter()
                .find(|(overload, _)| fits(overload, arguments));
            match fitting {
                Some((_, function)) => function(arguments),
                None => {
                    let types: Vec<&str> = arguments.iter().map(Value::type_name).collect();
                    let message =
                        format!("no such overload: {}({})", call.function, types.join(", "));
                    Err(EvaluationError::failed(message))
                }
            }
        }
    }
}

fn fits(overload: &Overload, arguments: &[Value<'_>]) -> bool {
    overload
        .parameters
        .iter()
        .zip(arguments)
        .all(|(parameter, argument)| accepts(parameter, argument))
}

/// Whether a value may be passed for a parameter: of a list or a map, the first element tells.
fn accepts(parameter: &Type, argument: &Value<'_>) -> bool {
    match (parameter, argument) {
        (Type::Dyn | Type::Parameter(_), _) => true,
        (Type::List(element), Value::List(list)) => match list.get(0) {
            Some(Ok(first)) => accepts(element, &first),
            _ => true,
        },
        (Type::Map(_, _), Value::Map(_) | Value::Lazy(_)) => true,
        (Type::Optional(inner), Value::Optional(value)) => {
            value.as_ref().is_none_or(|value| accepts(inner, value))
        }
        (parameter, argument) => parameter.name() == argument.type_name(),
    }
}

/// The size that costs are computed from: one for what has none.
fn size(outcome: &Outcome<'_>) -> u64 {
    match outcome {
        Ok(Value::Optional(Some(value))) => value.size().unwrap_or(1),
        Ok(value) => value.size().unwrap_or(1),
        Err(_) => 1,
    }
}

fn scaled(size: u64, factor: f64) -> u64 {
    (size as f64 * factor).ceil() as u64
}

/// What comparing two values costs.
pub(super) fn equality_cost(equality: &Equality, one: &Outcome<'_>, other: &Outcome<'_>) -> u64 {
    let opaque = matches!(
        one,
        Ok(Value::Quantity(_)
            | Value::Ip(_)
            | Value::Cidr(_)
            | Value::Format(_)
            | Value::Url(_)
            | Value::Semver(_)
            | Value::Authorizer(_)
            | Value::PathCheck(..)
            | Value::GroupCheck(..)
            | Value::ResourceCheck(..)
            | Value::Decision(_))
    );
    if opaque && equality.wanted {
        return 1;
    }
    scaled(size(one).min(size(other)), TEXT_FACTOR)
}

/// A call that has been made, for computing its cost.
struct Cost<'c, 'a> {
    call: &'c CallNode,
    sizes: &'c [u64],
    /// Empty when one of them failed.
    arguments: &'c [Value<'a>],
    outcome: &'c Outcome<'a>,
}

impl Cost<'_, '_> {
    fn size(&self, index: usize) -> u64 {
        self.sizes.get(index).copied().unwrap_or(1)
    }

    fn of_call(&self) -> u64 {
        let overload = self.call.overload.unwrap_or("");
        self.of_list_function(overload)
            .or_else(|| self.of_kubernetes_function(overload))
            .unwrap_or_else(|| self.of_standard_function(overload))
    }

    /// What lists of the language's extensions cost.
    fn of_list_function(&self, overload: &str) -> Option<u64> {
        Some(match overload {
            "list_slice" | "lists_range" | "list_reverse" => allocating(1.0, size(self.outcome)),
            "list_flatten" => allocating(1.0, self.size(0)),
            "list_flatten_int" => match self.arguments.get(1) {
                Some(Value::Int(depth)) => allocating(*depth as f64, self.size(0)),
                _ => allocating(1.0, self.size(0)),
            },
            _ => return None,
        })
    }

    /// What functions cost that compare elements with one another: charged before they begin.
    fn of_quadratic_function(&self, overload: &str) -> Option<u64> {
        let pairs = self.size(0).saturating_mul(self.size(1));
        Some(match overload {
            "list_distinct" => self.of_comparisons(0),
            "list_sets_contains_list" | "list_sets_intersects_list" => pairs.saturating_add(1),
            "list_sets_equivalent_list" => pairs.saturating_mul(2).saturating_add(1),
            _ if overload.ends_with("_sort") => self.of_comparisons(0),
            _ if overload.ends_with("_sortByAssociatedKeys") => self.of_comparisons(1),
            _ => return None,
        })
    }

    fn of_comparisons(&self, index: usize) -> u64 {
        let first = match self.arguments.get(index) {
            Some(Value::List(list)) => list.get(0),
            _ => None,
        };
        let text = matches!(first, Some(Ok(Value::String(_) | Value::Bytes(_))));
        let factor = if text { 2.0 + TEXT_FACTOR } else { 2.0 };
        allocating(factor, self.size(index).saturating_mul(self.size(index)))
    }

    /// What Kubernetes' own libraries cost, by the name of the function.
    fn of_kubernetes_function(&self, overload: &str) -> Option<u64> {
        Some(match self.call.function.as_str() {
            "check" => CHECK_COST,
            "fieldSelector" | "labelSelector" => selector_cost(self.size(1)),
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" | "includes" => {
                self.arguments.first().map_or(1, traversal)
            }
            "url"
            | "lowerAscii"
            | "upperAscii"
            | "substring"
            | "trim"
            | "jsonpatch.escapeKey"
            | "cidr"
            | "isIP"
            | "isCIDR"
            | "quantity"
            | "isQuantity"
            | "semver"
            | "isSemver" => scaled(self.size(0), TEXT_FACTOR),
            "ip" if overload == "cidr_ip" => 1,
            "ip" => scaled(self.size(0), TEXT_FACTOR),
            "replace" | "split" | "ip.isCanonical" => scaled(self.size(0), 2.0 * TEXT_FACTOR),
            "join" => scaled(size(self.outcome), 2.0 * TEXT_FACTOR),
            "find" | "findAll" => pattern_cost(self.size(0), self.size(1)),
            "containsIP" | "containsCIDR" => self.of_containment(overload),
            "validate" => match self.arguments.first() {
                Some(Value::Format(format)) => pattern_cost(self.size(1), format.pattern_length),
                _ => 1,
            },
            _ => return None,
        })
    }

    fn of_containment(&self, overload: &str) -> u64 {
        let mut cost = scaled(self.size(0) * 2, TEXT_FACTOR);
        if self.call.function == "containsCIDR" {
            cost += scaled(self.size(0), TEXT_FACTOR) + 1;
        }
        if overload.ends_with("_string") {
            cost += scaled(self.size(1), TEXT_FACTOR);
        }
        cost
    }

    fn of_standard_function(&self, overload: &str) -> u64 {
        match overload {
            "starts_with_string" | "ends_with_string" => scaled(self.size(1), TEXT_FACTOR),
            "string_to_bytes" | "bytes_to_string" | "strings_quote" | "string_format" => {
                scaled(self.size(0), TEXT_FACTOR)
            }
            "in_list" => self.size(1),
            "add_string" | "add_bytes" => scaled(self.size(0) + self.size(1), TEXT_FACTOR),
            "matches" | "matches_string" => pattern_cost(self.size(0), self.size(1)),
            "contains_string" => {
                scaled(self.size(0), TEXT_FACTOR) * scaled(self.size(1), TEXT_FACTOR)
            }
            _ if is_text_order(overload) => scaled(self.size(0).min(self.size(1)), TEXT_FACTOR),
            _ => 1,
        }
    }
}

/// Whether an overload compares text or bytes.
pub(crate) fn is_text_order(overload: &str) -> bool {
    let ordering = ["less_", "less_equals_", "greater_", "greater_equals_"];
    ordering
        .iter()
        .any(|prefix| matches!(overload.strip_prefix(prefix), Some("string" | "bytes")))
}

/// What making a list of a size costs.
fn allocating(factor: f64, size: u64) -> u64 {
    let factor = if factor < 0.0 { 1.0 } else { factor };
    ((size as f64 * factor) as u64).saturating_add(1 + LIST_COST)
}

fn pattern_cost(text: u64, pattern: u64) -> u64 {
    let text = ((1.0 + text as f64) * TEXT_FACTOR).ceil() as u64;
    text.saturating_mul(scaled(pattern, PATTERN_FACTOR))
}

fn selector_cost(length: u64) -> u64 {
    LIST_COST + scaled(length, TEXT_FACTOR) + scaled(scaled(length, 0.5), REQUIREMENT_COST)
}

/// What going through all of a value costs.
fn traversal(value: &Value<'_>) -> u64 {
    match value {
        Value::String(text) => (text.len() as f64 * TEXT_FACTOR) as u64,
        Value::Bytes(bytes) => (bytes.len() as f64 * TEXT_FACTOR) as u64,
        Value::List(list) => traversal_of_list(list),
        Value::Map(map) => traversal_of_map(map),
        _ => 1,
    }
}

fn traversal_of_list(list: &List<'_>) -> u64 {
    list.iter()
        .map(|element| element.map_or(1, |element| traversal(&element)))
        .sum()
}

fn traversal_of_map(map: &Map<'_>) -> u64 {
    let value = |key: &Value<'_>| {
        map.find(key)
            .ok()
            .flatten()
            .map_or(1, |value| traversal(&value))
    };
    map.keys()
        .iter()
        .map(|key| traversal(key) + value(key))
        .sum()
}
