//! What calls may cost, and how large their results may be.

use super::bounds::{CostEstimate, EntrySize, Size};
use super::{Estimator, Operand};
use crate::evaluate::is_text_order;
use crate::types::Type;
use crate::value::Value;

const TEXT_FACTOR: f64 = 0.1;
const PATTERN_FACTOR: f64 = 0.25;
const LIST_COST: u64 = 10;
const FORMAT_PATTERN_LENGTH: f64 = 128.0;
const FORMAT_LENGTH: u64 = 64;
const CHECK_COST: u64 = 350_000;
const REQUIREMENT_COST: f64 = 50.0;

/// A call whose operands are estimated.
pub(super) struct Asked<'c, 'e> {
    pub(super) function: &'c str,
    pub(super) target: Option<Operand<'e>>,
    pub(super) arguments: Vec<Operand<'e>>,
    pub(super) costs: Vec<CostEstimate>,
}

/// What a call costs and yields.
pub(super) struct Estimate {
    pub(super) cost: CostEstimate,
    pub(super) result: Option<Size>,
    pub(super) entry: Option<EntrySize>,
}

impl Estimate {
    fn of(cost: CostEstimate) -> Self {
        Self {
            cost,
            result: None,
            entry: None,
        }
    }

    fn fixed(cost: u64) -> Self {
        Self::of(CostEstimate::fixed(cost))
    }

    fn sized(cost: CostEstimate, result: Size) -> Self {
        Self {
            cost,
            result: Some(result),
            entry: None,
        }
    }
}

impl Asked<'_, '_> {
    fn argument_costs(&self) -> CostEstimate {
        self.costs
            .iter()
            .fold(CostEstimate::ZERO, |sum, cost| sum.plus(*cost))
    }

    fn size(&self, index: usize) -> Size {
        self.arguments
            .get(index)
            .and_then(|argument| argument.size)
            .unwrap_or(Size::UNKNOWN)
    }

    fn target_size(&self) -> Size {
        self.target
            .as_ref()
            .and_then(|target| target.size)
            .unwrap_or(Size::UNKNOWN)
    }

    /// A constant argument as a count.
    fn count(&self, index: usize) -> Option<u64> {
        match self.arguments.get(index)?.literal? {
            Value::Int(value) => Some(u64::try_from(*value).unwrap_or(0)),
            _ => None,
        }
    }
}

impl Estimator<'_> {
    pub(super) fn function(&self, asked: &Asked<'_, '_>, overload: &str) -> Estimate {
        let known = self
            .list_function(asked, overload)
            .or_else(|| self.kubernetes_function(asked, overload));
        match known {
            Some(estimate) => Estimate {
                cost: estimate.cost.plus(asked.argument_costs()),
                ..estimate
            },
            None => standard_function(asked, overload),
        }
    }

    fn list_function(&self, asked: &Asked<'_, '_>, overload: &str) -> Option<Estimate> {
        let allocating = |factor: f64, size: Size| {
            Estimate::sized(
                size.scaled(factor).plus(CostEstimate::fixed(1 + LIST_COST)),
                size,
            )
        };
        let target = asked.target_size();
        Some(match overload {
            "list_slice" => {
                let start = asked.count(0).unwrap_or(0);
                let end = asked.count(1).unwrap_or(target.max);
                allocating(1.0, Size::fixed(end.wrapping_sub(start)))
            }
            "lists_range" => allocating(1.0, Size::fixed(asked.count(0).unwrap_or(u64::MAX))),
            "list_reverse" => allocating(1.0, target),
            "list_flatten" => allocating(1.0, target),
            "list_flatten_int" => allocating(asked.count(0).unwrap_or(u64::MAX) as f64, target),
            "list_distinct" => allocating(2.0, target.times(target)),
            "list_sets_contains_list" | "list_sets_intersects_list" => Estimate::of(
                asked
                    .size(0)
                    .times(asked.size(1))
                    .scaled(1.0)
                    .plus(CostEstimate::fixed(1)),
            ),
            "list_sets_equivalent_list" => Estimate::of(
                asked
                    .size(0)
                    .times(asked.size(1))
                    .scaled(2.0)
                    .plus(CostEstimate::fixed(1)),
            ),
            _ => {
                let inner = overload.strip_prefix("list_")?;
                let (element, size) = match inner.strip_suffix("_sortByAssociatedKeys") {
                    Some(element) => (element, asked.size(0)),
                    None => (inner.strip_suffix("_sort")?, target),
                };
                let factor = if matches!(element, "string" | "bytes") {
                    2.0 + TEXT_FACTOR
                } else {
                    2.0
                };
                allocating(factor, size.times(size))
            }
        })
    }

    fn kubernetes_function(&self, asked: &Asked<'_, '_>, overload: &str) -> Option<Estimate> {
        let first = asked.size(0);
        let target = asked.target.as_ref();
        Some(match asked.function {
            "check" => Estimate::fixed(CHECK_COST),
            "fieldSelector" | "labelSelector" => Estimate::of(selector_cost(first)),
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" | "includes" => {
                self.traversal(asked.function, target?)
            }
            "url" | "jsonpatch.escapeKey" => Estimate::sized(first.scaled(TEXT_FACTOR), first),
            "lowerAscii" | "upperAscii" | "substring" | "trim" => {
                target?;
                Estimate::sized(asked.target_size().scaled(TEXT_FACTOR), asked.target_size())
            }
            "replace" => replacement(asked.target_size(), first, asked.size(1)),
            "split" => {
                let size = asked.target_size();
                let max = asked.count(1).unwrap_or(size.max);
                Estimate::sized(size.scaled(2.0 * TEXT_FACTOR), Size { min: 0, max })
            }
            "join" => self.joined(target?, asked),
            "find" | "findAll" => {
                let size = asked.target_size();
                let text = size.plus(Size::fixed(1)).scaled(TEXT_FACTOR);
                Estimate::sized(
                    text.times(first.scaled(PATTERN_FACTOR)),
                    Size {
                        min: 0,
                        max: size.max,
                    },
                )
            }
            "ip" if overload == "cidr_ip" => Estimate::fixed(1),
            "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver"
            | "isSemver" => Estimate::of(first.scaled(TEXT_FACTOR)),
            "ip.isCanonical" => Estimate::of(first.scaled(2.0 * TEXT_FACTOR)),
            "containsIP" | "containsCIDR" => containment(asked.function, overload, first),
            "validate" => Estimate::of(
                first
                    .scaled(TEXT_FACTOR)
                    .scaled(FORMAT_PATTERN_LENGTH * PATTERN_FACTOR),
            ),
            "_==_" => opaque_equality(asked)?,
            _ => return None,
        })
    }

    /// Functions that look at every element of a list, or at every character of a text.
    fn traversal(&self, function: &str, target: &Operand<'_>) -> Estimate {
        let size = target.size.unwrap_or(Size::UNKNOWN);
        let Some(element) = target.declared.parts().first().copied() else {
            let cost = if function == "includes" {
                size.times_cost(CostEstimate::fixed(1))
            } else {
                size.scaled(TEXT_FACTOR)
            };
            return Estimate::of(cost);
        };
        let mut cost = CostEstimate::fixed(1);
        if matches!(element, Type::String | Type::Bytes) {
            cost = cost.plus(self.element_size(target).scaled(TEXT_FACTOR));
        }
        Estimate::of(size.times_cost(cost))
    }

    /// How large an element of a list may be, as far as its schema says.
    fn element_size(&self, list: &Operand<'_>) -> Size {
        let path = list.path.clone().map(|mut path| {
            path.push("@items".to_owned());
            path
        });
        self.declared_size(&path).unwrap_or(Size::UNKNOWN)
    }

    fn joined(&self, target: &Operand<'_>, asked: &Asked<'_, '_>) -> Estimate {
        let elements = target.size.unwrap_or(Size::UNKNOWN);
        let mut size = match target.declared.parts()[..] {
            [] => Size::fixed(0),
            _ => elements.times(self.element_size(target)),
        };
        if !asked.arguments.is_empty() {
            let between = Size {
                min: elements.min.saturating_sub(1),
                max: elements.max.saturating_sub(1),
            };
            size = size.plus(asked.size(0).times(between));
        }
        Estimate::sized(size.scaled(TEXT_FACTOR), size)
    }
}

fn selector_cost(length: Size) -> CostEstimate {
    let requirements = length.scaled(0.5).scaled(REQUIREMENT_COST);
    CostEstimate::fixed(LIST_COST)
        .plus(length.scaled(TEXT_FACTOR))
        .plus(requirements)
}

/// How often and by how much text grows or shrinks when parts of it are replaced.
fn replacement(text: Size, old: Size, new: Size) -> Estimate {
    let (most, kept_most) = if old.min == 0 {
        (text.max.saturating_add(1), text.max)
    } else if new.max <= old.min {
        (0, text.max)
    } else {
        ((text.max as f64 / old.min as f64).ceil() as u64, 0)
    };
    let (least, kept_least) = if old.max == 0 {
        (text.min.saturating_add(1), text.min)
    } else if old.max <= new.min {
        (0, text.min)
    } else {
        ((text.min as f64 / old.max as f64).ceil() as u64, 0)
    };
    let count = Size {
        min: least,
        max: most,
    };
    let kept = Size {
        min: kept_least,
        max: kept_most,
    };
    Estimate::sized(text.scaled(2.0 * TEXT_FACTOR), count.times(new).plus(kept))
}

fn containment(function: &str, overload: &str, other: Size) -> Estimate {
    let address = Size { min: 4, max: 16 };
    let mut cost = address.plus(address).scaled(TEXT_FACTOR);
    if function == "containsCIDR" {
        cost = cost
            .plus(address.scaled(TEXT_FACTOR))
            .plus(CostEstimate::fixed(1));
    }
    if overload.ends_with("_string") {
        cost = cost.plus(other.scaled(TEXT_FACTOR));
    }
    Estimate::of(cost)
}

/// Equality of values that the libraries made.
fn opaque_equality(asked: &Asked<'_, '_>) -> Option<Estimate> {
    let [one, other] = &asked.arguments[..] else {
        return None;
    };
    if one.declared != other.declared {
        return None;
    }
    match one.declared {
        Type::Opaque(_) => Some(Estimate::fixed(1)),
        Type::Named("kubernetes.NamedFormat") => Some(Estimate::of(
            CostEstimate {
                min: 1,
                max: FORMAT_LENGTH,
            }
            .scaled(TEXT_FACTOR),
        )),
        Type::Named("kubernetes.URL") => {
            let max = other.size.map_or(1, |size| size.max);
            Some(Estimate::of(
                CostEstimate { min: 1, max }.scaled(TEXT_FACTOR),
            ))
        }
        Type::Named(_) => Some(Estimate::fixed(1)),
        _ => None,
    }
}

fn standard_function(asked: &Asked<'_, '_>, overload: &str) -> Estimate {
    let costs = asked.argument_costs();
    let (first, second) = (asked.size(0), asked.size(1));
    match overload {
        "string_format" => Estimate::of(asked.target_size().scaled(TEXT_FACTOR).plus(costs)),
        "string_to_bytes" => Estimate::sized(
            first.scaled(TEXT_FACTOR).plus(costs),
            Size {
                min: first.min,
                max: first.max.wrapping_mul(4),
            },
        ),
        "bytes_to_string" => Estimate::sized(
            first.scaled(TEXT_FACTOR).plus(costs),
            Size {
                min: first.min / 4,
                max: first.max,
            },
        ),
        "strings_quote" => Estimate::sized(
            first.scaled(TEXT_FACTOR).plus(costs),
            Size {
                min: first.min.wrapping_add(2),
                max: first.max.wrapping_mul(2).wrapping_add(2),
            },
        ),
        "starts_with_string" | "ends_with_string" => {
            Estimate::of(first.scaled(TEXT_FACTOR).plus(costs))
        }
        "in_list" => Estimate::of(second.scaled(1.0).plus(costs)),
        "matches" => Estimate::of(pattern_cost(first, second).plus(costs)),
        "matches_string" => Estimate::of(pattern_cost(asked.target_size(), first).plus(costs)),
        "contains_string" => {
            let text = asked.target_size().scaled(TEXT_FACTOR);
            Estimate::of(text.times(first.scaled(TEXT_FACTOR)).plus(costs))
        }
        "logical_and" | "logical_or" => {
            let min = asked.costs.first().map_or(0, |first| first.min);
            Estimate::of(CostEstimate {
                min,
                max: costs.max,
            })
        }
        "conditional" => conditional(asked),
        "add_string" | "add_bytes" | "add_list" => addition(asked, overload),
        _ if is_text_order(overload) || matches!(overload, "equals" | "not_equals") => {
            let max = first.max.min(second.max);
            let compared = CostEstimate {
                min: u64::from(max > 0),
                max,
            };
            Estimate::of(compared.scaled(TEXT_FACTOR).plus(costs))
        }
        _ => Estimate::of(CostEstimate::fixed(1).plus(costs)),
    }
}

fn pattern_cost(text: Size, pattern: Size) -> CostEstimate {
    text.plus(Size::fixed(1))
        .scaled(TEXT_FACTOR)
        .times(pattern.scaled(PATTERN_FACTOR))
}

fn entries_of(one: Option<&Operand<'_>>, other: Option<&Operand<'_>>) -> Option<EntrySize> {
    Some(one?.entry?.union(other?.entry?))
}

fn conditional(asked: &Asked<'_, '_>) -> Estimate {
    let cost = |index: usize| {
        asked
            .costs
            .get(index)
            .copied()
            .unwrap_or(CostEstimate::ZERO)
    };
    Estimate {
        cost: cost(0).plus(cost(1).union(cost(2))),
        result: Some(asked.size(1).union(asked.size(2))),
        entry: entries_of(asked.arguments.get(1), asked.arguments.get(2)),
    }
}

fn addition(asked: &Asked<'_, '_>, overload: &str) -> Estimate {
    let size = asked.size(0).plus(asked.size(1));
    let cost = if overload == "add_list" {
        CostEstimate::fixed(1)
    } else {
        size.scaled(TEXT_FACTOR)
    };
    Estimate {
        cost: cost.plus(asked.argument_costs()),
        result: Some(size),
        entry: entries_of(asked.arguments.first(), asked.arguments.get(1)),
    }
}
