//! Numbers that are given as they are, or as parts of a hundred.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// Where the part of a pod goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    Up,
    Down,
}

/// How many of a whole are meant; `None` if that cannot be read.
pub(crate) fn share(value: &IntOrString, whole: i32, rounding: Rounding) -> Option<i32> {
    let percent: i64 = match value {
        IntOrString::Int(number) => return Some(*number),
        IntOrString::String(text) => text.strip_suffix('%')?.parse().ok()?,
    };
    let hundredths = i64::from(whole).checked_mul(percent)?;
    let share = match rounding {
        Rounding::Up => hundredths.checked_add(99)?.div_euclid(100),
        Rounding::Down => hundredths.div_euclid(100),
    };
    i32::try_from(share).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_hundred_are_rounded_as_asked() {
        let percent =
            |text: &str, rounding| share(&IntOrString::String(text.to_owned()), 7, rounding);
        assert_eq!(percent("50%", Rounding::Up), Some(4));
        assert_eq!(percent("50%", Rounding::Down), Some(3));
        assert_eq!(percent("0%", Rounding::Up), Some(0));
        assert_eq!(percent("half", Rounding::Up), None);
        assert_eq!(share(&IntOrString::Int(9), 7, Rounding::Up), Some(9));
    }
}
