//! Amounts such as `500m` or `1Gi`, brought into the one form in which Kubernetes writes each.

use std::fmt;

/// Billionths in a whole.
const NANOS_PER_UNIT: i128 = 1_000_000_000;
/// Billionths in a thousandth, the finest that amounts of resources keep.
const NANOS_PER_MILLI: i128 = 1_000_000;

/// Digits before and after the point that are computed exactly; longer numbers stay as they are.
const DIGITS_MAX: usize = 18;
/// The smallest amount is 10^-9; smaller ones are rounded up to it.
const SMALLEST_EXPONENT: i32 = -9;
const BINARY_AMOUNT_MAX: i128 = i64::MAX as i128;

/// Why a text is not an amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// Other characters than an amount has, or in another order.
    #[error(
        "quantities must match the regular expression \
         '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Format,
    /// A number with two points.
    #[error("unable to parse numeric part of quantity")]
    Number,
    /// A suffix that means nothing.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Notation {
    Decimal,
    Exponent,
    Binary,
}

/// An amount, to compute with. Ones beyond what can be held are the largest that can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity {
    nanos: i128,
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self { nanos: 0 };

    /// Reads an amount; what is finer than a billionth is rounded up.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let parts = Parts::split(text)?;
        let (notation, exponent) = parse_suffix(parts.suffix)?;
        let scale = -i32::try_from(parts.fraction.len()).map_err(|_| QuantityError::Number)?;
        let digits = parts.whole.bytes().chain(parts.fraction.bytes());
        let mantissa = digits.fold(0_i128, |sum, digit| {
            let shifted = sum.saturating_mul(10);
            shifted.saturating_add(i128::from(digit - b'0'))
        });
        let amount = match notation {
            Notation::Binary => Amount::new(mantissa.saturating_mul(1 << exponent), scale),
            Notation::Decimal | Notation::Exponent => {
                Amount::new(mantissa, scale.saturating_add(exponent))
            }
        };
        let places = amount.exponent.saturating_sub(SMALLEST_EXPONENT);
        let factor = 10_i128.checked_pow(places.unsigned_abs());
        let nanos = amount.mantissa.saturating_mul(factor.unwrap_or(i128::MAX));
        Ok(Self {
            nanos: if parts.negative { -nanos } else { nanos },
        })
    }

    /// The amount as a whole number, if it is one.
    pub fn whole(self) -> Option<i128> {
        (self.nanos % NANOS_PER_UNIT == 0).then_some(self.nanos / NANOS_PER_UNIT)
    }

    /// Whether the amount is a number of thousandths.
    pub fn is_milli(self) -> bool {
        self.nanos % NANOS_PER_MILLI == 0
    }

    /// The next number of thousandths, rounded up.
    pub fn milli(self) -> i128 {
        let rest = i128::from(self.nanos % NANOS_PER_MILLI > 0);
        self.nanos / NANOS_PER_MILLI + rest
    }
}

impl std::ops::Add for Quantity {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            nanos: self.nanos.saturating_add(other.nanos),
        }
    }
}

/// The canonical form of an amount.
pub fn canonical(text: &str) -> Result<String, QuantityError> {
    let parts = Parts::split(text)?;
    let (notation, exponent) = parse_suffix(parts.suffix)?;
    let digits = parts.whole.len() + parts.fraction.len();
    if digits > DIGITS_MAX || exponent.abs() > 60 {
        return Ok(text.to_owned());
    }
    let mantissa: i128 = match format!("{}{}", parts.whole, parts.fraction).as_str() {
        "" => 0,
        all => all.parse().map_err(|_| QuantityError::Number)?,
    };
    let scale = -i32::try_from(parts.fraction.len()).map_err(|_| QuantityError::Number)?;
    let amount = match notation {
        Notation::Binary => Amount::new(mantissa << exponent, scale),
        Notation::Decimal | Notation::Exponent => Amount::new(mantissa, scale + exponent),
    };
    let sign = if parts.negative { "-" } else { "" };
    Ok(match amount.written(notation) {
        Some(written) if amount.mantissa != 0 => format!("{sign}{written}"),
        Some(_) => "0".to_owned(),
        None => text.to_owned(),
    })
}

/// The pieces of an amount's text.
struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

impl<'a> Parts<'a> {
    fn split(text: &'a str) -> Result<Self, QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Format);
        }
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (whole, rest) = split_digits(unsigned);
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), split_digits);
        let letters = suffix.trim_start_matches(|letter| "eEinumkKMGTP".contains(letter));
        let exponent = letters.strip_prefix(['+', '-']).unwrap_or(letters);
        if !exponent.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(QuantityError::Format);
        }
        Ok(Self {
            negative: text.starts_with('-'),
            whole: whole.trim_start_matches('0'),
            fraction,
            suffix,
        })
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

fn parse_suffix(suffix: &str) -> Result<(Notation, i32), QuantityError> {
    let known = match suffix {
        "n" => (Notation::Decimal, -9),
        "u" => (Notation::Decimal, -6),
        "m" => (Notation::Decimal, -3),
        "" => (Notation::Decimal, 0),
        "k" => (Notation::Decimal, 3),
        "M" => (Notation::Decimal, 6),
        "G" => (Notation::Decimal, 9),
        "T" => (Notation::Decimal, 12),
        "P" => (Notation::Decimal, 15),
        "E" => (Notation::Decimal, 18),
        "Ki" => (Notation::Binary, 10),
        "Mi" => (Notation::Binary, 20),
        "Gi" => (Notation::Binary, 30),
        "Ti" => (Notation::Binary, 40),
        "Pi" => (Notation::Binary, 50),
        "Ei" => (Notation::Binary, 60),
        _ => {
            let digits = suffix
                .strip_prefix(['e', 'E'])
                .ok_or(QuantityError::Suffix)?;
            let exponent = digits.parse().map_err(|_| QuantityError::Suffix)?;
            (Notation::Exponent, exponent)
        }
    };
    Ok(known)
}

/// `mantissa * 10^exponent`, never finer than the smallest amount.
struct Amount {
    mantissa: i128,
    exponent: i32,
}

impl Amount {
    fn new(mut mantissa: i128, mut exponent: i32) -> Self {
        let mut rest = 0;
        while exponent < SMALLEST_EXPONENT {
            rest |= mantissa % 10;
            mantissa /= 10;
            exponent += 1;
        }
        mantissa += i128::from(rest != 0);
        Self { mantissa, exponent }
    }

    fn written(&self, notation: Notation) -> Option<String> {
        let whole = self.whole();
        match (notation, whole) {
            (Notation::Binary, Some(whole)) if whole >= 1024 => Some(written_binary(whole)),
            (Notation::Exponent, _) => self.written_decimal(|exponent| match exponent {
                0 => Some(String::new()),
                _ => Some(format!("e{exponent}")),
            }),
            (Notation::Decimal | Notation::Binary, _) => {
                self.written_decimal(|exponent| decimal_suffix(exponent).map(str::to_owned))
            }
        }
    }

    /// The amount as a whole number, when it is one.
    fn whole(&self) -> Option<i128> {
        let factor = 10_i128.checked_pow(self.exponent.unsigned_abs())?;
        match self.exponent {
            0.. => self.mantissa.checked_mul(factor),
            _ => (self.mantissa % factor == 0).then_some(self.mantissa / factor),
        }
    }

    fn written_decimal(&self, suffix: impl Fn(i32) -> Option<String>) -> Option<String> {
        let (mut mantissa, mut exponent) = (self.mantissa, self.exponent);
        while mantissa != 0 && mantissa % 10 == 0 {
            mantissa /= 10;
            exponent += 1;
        }
        while exponent % 3 != 0 {
            mantissa = mantissa.checked_mul(10)?;
            exponent -= 1;
        }
        let suffix = suffix(exponent)?;
        Some(Written { mantissa, suffix }.to_string())
    }
}

struct Written {
    mantissa: i128,
    suffix: String,
}

impl fmt::Display for Written {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.mantissa, self.suffix)
    }
}

fn written_binary(whole: i128) -> String {
    let mut rest = whole.min(BINARY_AMOUNT_MAX);
    let mut suffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].into_iter();
    let mut suffix = suffixes.next();
    while rest % 1024 == 0 && rest != 0 {
        rest /= 1024;
        suffix = suffixes.next();
    }
    format!("{rest}{}", suffix.unwrap_or_default())
}

fn decimal_suffix(exponent: i32) -> Option<&'static str> {
    let place = usize::try_from((exponent - SMALLEST_EXPONENT) / 3).ok()?;
    let suffixes = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
    suffixes.get(place).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_has_one_form() {
        let forms = [
            ("0.5", "500m"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("100000", "100k"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("0.5Ki", "512"),
            ("0.1Ki", "102400m"),
            ("1e3", "1e3"),
            ("12e4", "120e3"),
            ("0.0000000001", "1n"),
            ("-2000", "-2k"),
            ("00", "0"),
            ("0Gi", "0"),
            ("12345Ki", "12345Ki"),
            ("9Ei", "9223372036854775807"),
        ];
        for (given, form) in forms {
            assert_eq!(canonical(given).as_deref(), Ok(form), "{given}");
        }
    }

    #[test]
    fn amounts_compare_whatever_their_notation() {
        let amount = |text| Quantity::parse(text).unwrap();
        assert_eq!(amount("500m"), amount("0.5"));
        assert_eq!(amount("1Gi"), amount("1024Mi"));
        assert_eq!(amount("1Gi").whole(), Some(1 << 30));
        assert_eq!(amount("1.5").whole(), None);
        assert_eq!(amount("1n").milli(), 1);
        assert!(amount("-1") < Quantity::ZERO);
        assert!(amount("1e60") > amount("1Ei"));
        assert!(!amount("1u").is_milli());
        assert_eq!(amount("1k") + amount("24"), amount("1Ki"));
    }

    #[test]
    fn a_text_that_is_no_amount_is_refused() {
        assert_eq!(canonical(""), Err(QuantityError::Format));
        assert_eq!(canonical("lots"), Err(QuantityError::Format));
        assert_eq!(canonical("1i"), Err(QuantityError::Suffix));
        assert_eq!(canonical("1.2.3"), Err(QuantityError::Format));
    }
}
