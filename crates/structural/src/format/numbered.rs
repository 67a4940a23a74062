//! Identifiers made of digits, most of them with a check digit.

/// Whether the text is a UUID, of this version if one is named.
pub(super) fn is_uuid(text: &str, version: Option<char>) -> bool {
    let mut rest = text;
    let groups = [8, 4, 4, 4, 12];
    for (place, length) in groups.into_iter().enumerate() {
        if place > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some((group, after)) = rest.split_at_checked(length) else {
            return false;
        };
        if !group.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return false;
        }
        let first = group.as_bytes()[0].to_ascii_lowercase();
        let fits = match (place, version) {
            (2, Some(version)) => char::from(first) == version,
            (3, Some('4' | '5')) => matches!(first, b'8' | b'9' | b'a' | b'b'),
            _ => true,
        };
        if !fits {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

fn without_spaces_and_dashes(text: &str) -> Vec<u8> {
    let kept = |byte: &u8| !matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' ' | b'-');
    text.bytes().filter(kept).collect()
}

fn digit(byte: u8) -> u32 {
    u32::from(byte.wrapping_sub(b'0'))
}

pub(super) fn is_isbn10(text: &str) -> bool {
    let text = without_spaces_and_dashes(text);
    let Some((last, digits)) = text.split_last() else {
        return false;
    };
    if digits.len() != 9 || !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let sum: u32 = (1..)
        .zip(digits)
        .map(|(place, byte)| place * digit(*byte))
        .sum();
    let last = match last {
        b'X' => 10,
        byte if byte.is_ascii_digit() => digit(*byte),
        _ => return false,
    };
    (sum + 10 * last).is_multiple_of(11)
}

pub(super) fn is_isbn13(text: &str) -> bool {
    let text = without_spaces_and_dashes(text);
    if text.len() != 13 || !text.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let weights = [1, 3].into_iter().cycle();
    let sum: u32 = weights
        .zip(&text[..12])
        .map(|(weight, byte)| weight * digit(*byte))
        .sum();
    digit(text[12]) == (10 - sum % 10) % 10
}

/// Whether the digits of the text are the number of a card, whatever else is between them.
pub(super) fn is_credit_card(text: &str) -> bool {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_digit).collect();
    let digits_text = String::from_utf8(digits.clone()).unwrap_or_default();
    is_card_range(&digits_text) && has_check_digit(&digits)
}

fn is_card_range(digits: &str) -> bool {
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| digits.starts_with(prefix));
    match digits.len() {
        13 => begins(&["4"]),
        14 => begins(&["300", "301", "302", "303", "304", "305", "36", "38"]),
        15 => begins(&["34", "37", "2131", "1800"]),
        16 => begins(&["4", "51", "52", "53", "54", "55", "6011", "65", "35"]),
        _ => false,
    }
}

fn has_check_digit(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, byte)| match (place % 2, digit(*byte)) {
            (0, digit) => digit,
            (_, digit) if digit * 2 >= 10 => digit * 2 - 9,
            (_, digit) => digit * 2,
        })
        .sum();
    sum.is_multiple_of(10)
}
