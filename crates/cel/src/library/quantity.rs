//! Amounts of resources, such as `500m` or `1.5Gi`.

use std::cmp::Ordering;

use super::{Function, fail, unfit};
use crate::error::EvaluationError;
use crate::value::{Outcome, Value};

/// Smallest power of ten that is kept; what is finer is rounded up.
const SCALE_MIN: i32 = -9;

/// Most digits that are kept exactly without a large number.
const DIGITS_MAX: i32 = 18;

const FORMAT: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX: &str = "unable to parse quantity's suffix";

/// An amount: a whole number times a power of ten.
#[derive(Clone, Debug)]
pub struct Quantity {
    unscaled: i128,
    scale: i32,
    exactness: Exactness,
}

/// Whether Kubernetes keeps the amount in 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exactness {
    Small,
    Large,
}

impl Quantity {
    /// Reads an amount, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text == "0" {
            return Ok(Self {
                unscaled: 0,
                scale: 0,
                exactness: Exactness::Small,
            });
        }
        let (negative, rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            Some(_) => (false, text),
            None => return Err(FORMAT),
        };
        let whole_length = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (whole, rest) = rest.split_at(whole_length);
        let (decimals, suffix) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count()),
            None => ("", rest),
        };
        if whole.is_empty() && decimals.is_empty() {
            return Err(FORMAT);
        }
        let amount = Self::of(whole.trim_start_matches('0'), decimals, unit(suffix)?)?;
        Ok(if negative {
            Self {
                unscaled: -amount.unscaled,
                ..amount
            }
        } else {
            amount
        })
    }

    fn of(whole: &str, decimals: &str, unit: Unit) -> Result<Self, &'static str> {
        let digits = format!("{whole}{decimals}");
        let count = digits.len() as i32;
        let small = match unit {
            Unit::Ten(exponent) => {
                DIGITS_MAX - count >= 0 && exponent - decimals.len() as i32 >= SCALE_MIN
            }
            Unit::Two(exponent) => {
                decimals.is_empty() && 15 - count - (exponent as f32 * 3.0 / 10.0) as i32 > 0
            }
        };
        let exactness = if small {
            Exactness::Small
        } else {
            Exactness::Large
        };
        let kept: String = digits.chars().take(36).collect();
        let dropped = count - kept.len() as i32;
        let unscaled: i128 = if kept.is_empty() {
            0
        } else {
            kept.parse().map_err(|_| FORMAT)?
        };
        let scale = dropped - decimals.len() as i32;
        Ok(match unit {
            Unit::Ten(exponent) => Self {
                unscaled,
                scale: scale + exponent,
                exactness,
            }
            .settled(),
            Unit::Two(exponent) => {
                let unscaled = unscaled
                    .checked_mul(1_i128 << exponent)
                    .unwrap_or(i128::MAX / 10);
                Self {
                    unscaled,
                    scale,
                    exactness,
                }
                .settled()
            }
        })
    }

    /// Rounded up to the finest scale, and no larger than 64 bits hold.
    fn settled(mut self) -> Self {
        while self.scale < SCALE_MIN && self.unscaled != 0 {
            self.unscaled =
                self.unscaled.div_euclid(10) + i128::from(self.unscaled.rem_euclid(10) != 0);
            self.scale += 1;
        }
        self.scale = self.scale.max(SCALE_MIN);
        let most = i128::from(i64::MAX);
        if self.exactness == Exactness::Large && self.nano() > most * 1_000_000_000 {
            return Self {
                unscaled: most,
                scale: 0,
                exactness: Exactness::Large,
            };
        }
        self
    }

    /// The amount in billionths.
    fn nano(&self) -> i128 {
        let shift = u32::try_from(self.scale - SCALE_MIN).unwrap_or(0);
        let factor = 10_i128.checked_pow(shift);
        factor
            .and_then(|factor| self.unscaled.checked_mul(factor))
            .unwrap_or(if self.unscaled < 0 {
                i128::MIN
            } else {
                i128::MAX
            })
    }

    pub(crate) fn cmp(&self, other: &Self) -> Ordering {
        self.nano().cmp(&other.nano())
    }

    /// The amount as a whole number, if it is kept as one.
    fn integer(&self) -> Option<i64> {
        if self.exactness == Exactness::Large || self.scale < 0 {
            return None;
        }
        let factor = 10_i128.checked_pow(u32::try_from(self.scale).ok()?)?;
        i64::try_from(self.unscaled.checked_mul(factor)?).ok()
    }

    fn plus(&self, other: &Self, sign: i128) -> Self {
        if self.unscaled == 0 && sign > 0 {
            return other.clone();
        }
        let scale = if other.unscaled == 0 {
            self.scale
        } else {
            self.scale.min(other.scale)
        };
        let at = |amount: &Self| {
            let factor = 10_i128.checked_pow(u32::try_from(amount.scale - scale).unwrap_or(0));
            factor
                .and_then(|factor| amount.unscaled.checked_mul(factor))
                .unwrap_or(i128::MAX / 4)
        };
        let other_part = if other.unscaled == 0 { 0 } else { at(other) };
        let unscaled = at(self).saturating_add(other_part.saturating_mul(sign));
        let small = self.exactness == Exactness::Small
            && other.exactness == Exactness::Small
            && i64::try_from(unscaled).is_ok();
        Self {
            unscaled,
            scale,
            exactness: if small {
                Exactness::Small
            } else {
                Exactness::Large
            },
        }
    }
}

/// What a suffix multiplies by.
enum Unit {
    /// A power of ten.
    Ten(i32),
    /// A power of two.
    Two(u32),
}

fn unit(suffix: &str) -> Result<Unit, &'static str> {
    Ok(match suffix {
        "n" => Unit::Ten(-9),
        "u" => Unit::Ten(-6),
        "m" => Unit::Ten(-3),
        "" => Unit::Ten(0),
        "k" => Unit::Ten(3),
        "M" => Unit::Ten(6),
        "G" => Unit::Ten(9),
        "T" => Unit::Ten(12),
        "P" => Unit::Ten(15),
        "E" => Unit::Ten(18),
        "Ki" => Unit::Two(10),
        "Mi" => Unit::Two(20),
        "Gi" => Unit::Two(30),
        "Ti" => Unit::Two(40),
        "Pi" => Unit::Two(50),
        "Ei" => Unit::Two(60),
        _ => Unit::Ten(exponent(suffix)?),
    })
}

fn exponent(suffix: &str) -> Result<i32, &'static str> {
    let allowed = |byte: u8| b"eEinumkKMGTP+-".contains(&byte) || byte.is_ascii_digit();
    if !suffix.bytes().all(allowed) {
        return Err(FORMAT);
    }
    let digits = suffix.strip_prefix(['e', 'E']).ok_or(SUFFIX)?;
    digits
        .parse::<i32>()
        .map(|exponent| exponent.clamp(-1_000, 100))
        .map_err(|_| SUFFIX)
}

pub(super) fn implementation(overload: &str) -> Option<Function> {
    Some(match overload {
        "string_to_quantity" => |arguments| match arguments {
            [Value::String(text)] => Ok(Value::Quantity(
                Quantity::parse(text)
                    .map_err(EvaluationError::failed)?
                    .into(),
            )),
            _ => unfit(),
        },
        "is_quantity_string" => |arguments| match arguments {
            [Value::String(text)] => Ok(Value::Bool(Quantity::parse(text).is_ok())),
            _ => unfit(),
        },
        "quantity_get_float" => |arguments| {
            let quantity = quantity(arguments)?;
            Ok(Value::Double(
                quantity.unscaled as f64 * 10_f64.powi(quantity.scale),
            ))
        },
        "quantity_get_int" => |arguments| match quantity(arguments)?.integer() {
            Some(value) => Ok(Value::Int(value)),
            None => fail("cannot convert value to integer"),
        },
        "quantity_is_integer" => {
            |arguments| Ok(Value::Bool(quantity(arguments)?.integer().is_some()))
        }
        "quantity_sign" => {
            |arguments| Ok(Value::Int(quantity(arguments)?.unscaled.signum() as i64))
        }
        "quantity_is_greater_than" => |arguments| Ok(Value::Bool(order(arguments)?.is_gt())),
        "quantity_is_less_than" => |arguments| Ok(Value::Bool(order(arguments)?.is_lt())),
        "quantity_compare_to" => |arguments| Ok(Value::Int(order(arguments)? as i64)),
        "quantity_add" | "quantity_add_int" => |arguments| sum(arguments, 1),
        "quantity_sub" | "quantity_sub_int" => |arguments| sum(arguments, -1),
        _ => return None,
    })
}

fn quantity<'v>(arguments: &'v [Value<'_>]) -> Result<&'v Quantity, EvaluationError> {
    match arguments.first() {
        Some(Value::Quantity(quantity)) => Ok(quantity),
        _ => unfit(),
    }
}

fn order(arguments: &[Value<'_>]) -> Result<Ordering, EvaluationError> {
    match arguments {
        [Value::Quantity(one), Value::Quantity(other)] => Ok(one.cmp(other)),
        _ => unfit(),
    }
}

fn sum<'a>(arguments: &[Value<'a>], sign: i128) -> Outcome<'a> {
    let total = match arguments {
        [Value::Quantity(one), Value::Quantity(other)] => one.plus(other, sign),
        [Value::Quantity(one), Value::Int(other)] => {
            let other = Quantity {
                unscaled: i128::from(*other),
                scale: 0,
                exactness: Exactness::Small,
            };
            one.plus(&other, sign)
        }
        _ => return unfit(),
    };
    Ok(Value::Quantity(total.into()))
}
