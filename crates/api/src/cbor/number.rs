//! Numbers with a fraction, in the fewest bytes that say them exactly.

const HALF_FRACTION_BITS: i32 = 10;
const HALF_BIAS: i32 = 15;
const SINGLE_FRACTION_BITS: i32 = 23;
const SINGLE_BIAS: i32 = 127;

/// The heads of numbers of two, four and eight bytes.
const HEADS: [u8; 3] = [0xf9, 0xfa, 0xfb];

/// The value of a number of two bytes.
pub(super) fn half(bits: u16) -> f64 {
    let exponent = i32::from(bits >> HALF_FRACTION_BITS & 0x1f);
    let fraction = f64::from(bits & 0x3ff);
    let size = match exponent {
        0 => fraction * 2_f64.powi(1 - HALF_BIAS - HALF_FRACTION_BITS),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (fraction + 1024.0) * 2_f64.powi(exponent - HALF_BIAS - HALF_FRACTION_BITS),
    };
    match bits >> 15 {
        0 => size,
        _ => -size,
    }
}

/// Appends a number that is neither infinite nor none at all.
pub(super) fn put_float(value: f64, out: &mut Vec<u8>) {
    let [two, four, eight] = HEADS;
    #[expect(clippy::cast_possible_truncation, reason = "it is compared afterwards")]
    let single = value as f32;
    if f64::from(single).to_bits() != value.to_bits() {
        out.push(eight);
        out.extend_from_slice(&value.to_be_bytes());
    } else if let Some(bits) = exact_half(single) {
        out.push(two);
        out.extend_from_slice(&bits.to_be_bytes());
    } else {
        out.push(four);
        out.extend_from_slice(&single.to_be_bytes());
    }
}

/// The same number in two bytes, if they can say it.
fn exact_half(value: f32) -> Option<u16> {
    let bits = value.to_bits();
    let sign = (bits >> 31) << 15;
    let exponent = (bits >> SINGLE_FRACTION_BITS & 0xff).cast_signed() - SINGLE_BIAS;
    let fraction = bits & 0x7f_ffff;
    let dropped = SINGLE_FRACTION_BITS - HALF_FRACTION_BITS;
    let (exponent, fraction, dropped) = match exponent {
        _ if value == 0.0 => (0, 0, 0),
        -14..=15 => (exponent + HALF_BIAS, fraction, dropped),
        // Below the smallest exponent the leading one is written, and further bits go.
        -24..=-15 => (0, fraction | 0x80_0000, dropped - 14 - exponent),
        _ => return None,
    };
    if fraction.trailing_zeros() < dropped.cast_unsigned() {
        return None;
    }
    let exponent = exponent.cast_unsigned() << HALF_FRACTION_BITS;
    u16::try_from(sign | exponent | fraction >> dropped).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_two_bytes_comes_back() {
        for bits in 0..=u16::MAX {
            let value = half(bits);
            if value.is_finite() {
                let mut out = Vec::new();
                put_float(value, &mut out);
                assert_eq!(out[1..], bits.to_be_bytes(), "{value}");
            }
        }
    }

    #[test]
    fn what_does_not_fit_takes_more_bytes() {
        for (value, length) in [
            (1.0, 3),
            (65504.0, 3),
            (65536.0, 5),
            (1.0 + 1e-3, 9),
            (0.1, 9),
        ] {
            let mut out = Vec::new();
            put_float(value, &mut out);
            assert_eq!(out.len(), length, "{value}");
        }
    }
}
