//! Dates, times and durations.

/// Days of each month; February has its leap day.
const MONTH_DAYS: [u32; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/// Each unit with its spellings; the last one is also a beginning.
const UNITS: [&[&str]; 8] = [
    &["ns", "nano"],
    &["us", "µs", "micro"],
    &["ms", "milli"],
    &["s", "sec"],
    &["m", "min"],
    &["h", "hr", "hour"],
    &["d", "day"],
    &["w", "wk", "week"],
];

/// Whether the text is a date such as `2006-01-02`.
pub(super) fn is_date(text: &str) -> bool {
    let mut parts = text.split('-');
    let (Some(year), Some(month), Some(day), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2))
    else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = month
        .checked_sub(1)
        .and_then(|month| MONTH_DAYS.get(month as usize));
    days.is_some_and(|days| (1..=*days).contains(&day)) && (month != 2 || day != 29 || is_leap)
}

fn digits(text: &str, length: usize) -> Option<u32> {
    let is_number = text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// Whether the text is a date and a time of RFC 3339.
pub(super) fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    is_date(date) && is_time(time)
}

/// `15:04:05`, perhaps with a fraction, then `z` or an offset.
fn is_time(text: &str) -> bool {
    let Some((clock, rest)) = text.split_at_checked(8) else {
        return false;
    };
    let mut parts = clock.split(':').map(|part| digits(part, 2));
    let clock_fits = matches!(
        (parts.next(), parts.next(), parts.next(), parts.next()),
        (
            Some(Some(0..=23)),
            Some(Some(0..=59)),
            Some(Some(0..=59)),
            None
        )
    );
    clock_fits && is_zone(without_fraction(rest))
}

/// Any character followed by digits counts as a fraction, unless it is the zone itself.
fn without_fraction(text: &str) -> &str {
    let mut characters = text.chars();
    if text.starts_with('z') || characters.next().is_none() || is_zone(text) {
        return text;
    }
    let after = characters.as_str();
    let rest = after.trim_start_matches(|character: char| character.is_ascii_digit());
    match rest.len() == after.len() {
        true => text,
        false => rest,
    }
}

fn is_zone(text: &str) -> bool {
    match text.as_bytes() {
        b"z" => true,
        [b'+' | b'-', hours_tens, hours, b':', minutes_tens, minutes] => {
            [hours_tens, hours, minutes_tens, minutes]
                .iter()
                .all(|byte| byte.is_ascii_digit())
        }
        _ => false,
    }
}

/// Whether some number with a unit is in the text, such as `2 weeks`.
pub(super) fn is_duration(text: &str) -> bool {
    let mut rest = text;
    while let Some(start) = rest.find(|character: char| character.is_ascii_digit()) {
        let number = &rest[start..];
        let after = number.trim_start_matches(|character: char| character.is_ascii_digit());
        let count = &number[..number.len() - after.len()];
        let spaced = after.trim_start_matches(['\t', '\n', '\u{c}', '\r', ' ']);
        let is_unit = |character: char| character.is_ascii_alphabetic() || character == 'µ';
        let end = spaced.trim_start_matches(is_unit);
        let unit = &spaced[..spaced.len() - end.len()];
        if unit.is_empty() {
            rest = after;
            continue;
        }
        if count.parse::<i64>().is_err() {
            return false;
        }
        if is_unit_name(&unit.to_lowercase()) {
            return true;
        }
        rest = end;
    }
    false
}

fn is_unit_name(unit: &str) -> bool {
    UNITS.iter().any(|variants| {
        let is_beginning = variants.last().is_some_and(|last| unit.starts_with(last));
        is_beginning || variants.contains(&unit)
    })
}
