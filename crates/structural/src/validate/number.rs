//! Ranges, multiples and the widths of numbers.

use listwatch_api::go_text;
use serde_json::{Number, Value};

use super::{Outcome, Subject, Validator};
use crate::checks::{Bound, Checks};
use crate::format::Format;
use crate::node::{Node, Types};

/// A number as Kubernetes holds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Numeric {
    Whole(i64),
    Real(f64),
}

impl Numeric {
    pub(super) fn of(number: &Number) -> Self {
        match number.as_i64() {
            Some(whole) => Self::Whole(whole),
            None => Self::Real(number.as_f64().unwrap_or(f64::MAX)),
        }
    }

    /// Whether the value is a real number without a fraction.
    pub(super) fn is_whole_value(value: &Value) -> bool {
        match value {
            Value::Number(number) => match Self::of(number) {
                Self::Whole(_) => false,
                Self::Real(real) => is_whole(real),
            },
            _ => false,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "as Go converts")]
    pub(super) fn as_real(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Real(real) => real,
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "as Go converts")]
    pub(super) fn truncated(self) -> i64 {
        match self {
            Self::Whole(whole) => whole,
            Self::Real(real) => real as i64,
        }
    }

    fn shown(self) -> Value {
        match self {
            Self::Whole(whole) => Value::from(whole),
            Self::Real(real) => Value::from(real),
        }
    }

    fn text(self) -> String {
        match self {
            Self::Whole(whole) => whole.to_string(),
            Self::Real(real) => go_text::float(real),
        }
    }
}

/// The least number of 64 bits; its opposite is the first that is too large.
const INT64_MIN: f64 = -9_223_372_036_854_775_808.0;

/// Whether a real number counts as whole: within one part in a billion, as JSON numbers do.
fn is_whole(real: f64) -> bool {
    const EXACT_MAX: f64 = 9_007_199_254_740_991.0;
    if real.is_nan() || real.is_infinite() || real.abs() > EXACT_MAX {
        return false;
    }
    let rounded = real.trunc();
    let difference = (real - rounded).abs();
    let both = real.abs() + rounded.abs();
    if real == rounded {
        true
    } else if real == 0.0 || rounded == 0.0 || difference < f64::MIN_POSITIVE {
        difference < f64::EPSILON * f64::MIN_POSITIVE
    } else {
        difference / both.min(f64::MAX) < 1e-9
    }
}

impl Validator<'_> {
    pub(super) fn check_number(self, node: &Node, subject: Subject<'_>, outcome: &mut Outcome) {
        let checks = node.checks();
        let limits = checks.numbers();
        let Value::Number(number) = subject.value else {
            return;
        };
        outcome.count(2);
        let width = Width::of(node, checks);
        let value = Numeric::of(number);
        let numbers = Numbers {
            validator: self,
            width,
            subject,
            value,
        };
        numbers.check_width(value, "Checked", outcome);
        if let Some(factor) = limits.multiple_of {
            numbers.check_multiple(factor, outcome);
        }
        if let Some(bound) = limits.minimum {
            numbers.check_minimum(bound, outcome);
        }
        if let Some(bound) = limits.maximum {
            numbers.check_maximum(bound, outcome);
        }
    }
}

/// The numbers that a type and its format can hold.
#[derive(Clone, Copy)]
enum Width {
    Any,
    Int64 { is_stated: bool },
    Int32,
    Float32,
}

impl Width {
    fn of(node: &Node, checks: &Checks) -> Self {
        let format = checks.format.as_ref();
        if node.types == Types::INTEGER {
            match format {
                Some(Format::Int32) => Self::Int32,
                format => Self::Int64 {
                    is_stated: format.is_some(),
                },
            }
        } else if node.types == Types::NUMBER && matches!(format, Some(Format::Float)) {
            Self::Float32
        } else {
            Self::Any
        }
    }

    fn holds(self, value: Numeric) -> bool {
        match (self, value) {
            (Self::Any, _) | (Self::Int64 { .. }, Numeric::Whole(_)) => true,
            (Self::Int64 { .. }, Numeric::Real(real)) => {
                real.fract() == 0.0 && (INT64_MIN..-INT64_MIN).contains(&real)
            }
            (Self::Int32, value) => {
                let is_whole = value.as_real().fract() == 0.0;
                is_whole && i32::try_from(value.truncated()).is_ok()
            }
            (Self::Float32, value) => value.as_real().abs() <= f64::from(f32::MAX),
        }
    }

    fn problem(self, what: &str, name: &str) -> String {
        let kind = match self {
            Self::Any => "number",
            Self::Int64 { is_stated: false } => "integer (default format)",
            Self::Int64 { is_stated: true } => "integer with format int64",
            Self::Int32 => "integer with format int32",
            Self::Float32 => "number with format float",
        };
        format!("{what} value must be of type {kind} in {name}")
    }
}

struct Numbers<'a> {
    validator: Validator<'a>,
    width: Width,
    subject: Subject<'a>,
    value: Numeric,
}

impl Numbers<'_> {
    fn check_width(&self, value: Numeric, what: &str, outcome: &mut Outcome) -> bool {
        let holds = self.width.holds(value);
        if !holds {
            let message = self.width.problem(what, &self.subject.path.name());
            self.validator.refuse_whole(message, outcome);
        }
        holds
    }

    /// The limit as the value is compared with it: whole when the value is.
    fn limit(&self, limit: f64, what: &str, outcome: &mut Outcome) -> (Numeric, Numeric) {
        let fits = self.check_width(Numeric::Real(limit), what, outcome);
        match self.value {
            Numeric::Whole(_) if fits => {
                (self.value, Numeric::Whole(Numeric::Real(limit).truncated()))
            }
            _ => (Numeric::Real(self.value.as_real()), Numeric::Real(limit)),
        }
    }

    fn refuse(&self, value: Numeric, problem: &str, outcome: &mut Outcome) {
        let message = format!("{} in body should be {problem}", self.subject.path.name());
        let field = self.validator.named_field(self.subject);
        outcome.refuse(&field, &value.shown(), message);
    }

    fn check_multiple(&self, factor: f64, outcome: &mut Outcome) {
        let (value, factor) = self.limit(factor, "MultipleOf", outcome);
        if factor.as_real() <= 0.0 {
            let name = self.subject.path.name();
            let factor_text = factor.text();
            let message =
                format!("factor MultipleOf declared for {name} must be positive: {factor_text}");
            let field = self.validator.named_field(self.subject);
            outcome.refuse(&field, &factor.shown(), message);
            return;
        }
        let is_multiple = match (value, factor) {
            (Numeric::Whole(value), Numeric::Whole(factor)) => value % factor == 0,
            (value, factor) if factor.as_real() < 1.0 => {
                is_whole(1.0 / factor.as_real() * value.as_real())
            }
            (value, factor) => is_whole(value.as_real() / factor.as_real()),
        };
        if !is_multiple {
            self.refuse(value, &format!("a multiple of {}", factor.text()), outcome);
        }
    }

    fn check_minimum(&self, bound: Bound, outcome: &mut Outcome) {
        let (value, limit) = self.limit(bound.value, "Minimum boundary", outcome);
        let (is_outside, words) = match bound.is_exclusive {
            true => (is_less(value, limit) || value == limit, "greater than"),
            false => (is_less(value, limit), "greater than or equal to"),
        };
        if is_outside {
            self.refuse(value, &format!("{words} {}", limit.text()), outcome);
        }
    }

    fn check_maximum(&self, bound: Bound, outcome: &mut Outcome) {
        let (value, limit) = self.limit(bound.value, "Maximum boundary", outcome);
        let (is_outside, words) = match bound.is_exclusive {
            true => (is_less(limit, value) || value == limit, "less than"),
            false => (is_less(limit, value), "less than or equal to"),
        };
        if is_outside {
            self.refuse(value, &format!("{words} {}", limit.text()), outcome);
        }
    }
}

fn is_less(one: Numeric, other: Numeric) -> bool {
    match (one, other) {
        (Numeric::Whole(one), Numeric::Whole(other)) => one < other,
        (one, other) => one.as_real() < other.as_real(),
    }
}
