//! The order of keys: as people sort, with numbers by their value.

use std::cmp::Ordering;

/// Sorts the entries by key.
///
/// The order is not transitive (`1b` < `2` < `12` < `1b`), which the sorts of the standard library
/// do not forgive, so this is a merge sort of its own.
pub(super) fn sorted<T>(mut entries: Vec<(&str, T)>) -> Vec<(&str, T)> {
    if entries.len() < 2 {
        return entries;
    }
    let second = sorted(entries.split_off(entries.len() / 2));
    let mut first = sorted(entries).into_iter().peekable();
    let mut second = second.into_iter().peekable();
    let mut merged = Vec::with_capacity(first.len() + second.len());
    while let (Some((left, _)), Some((right, _))) = (first.peek(), second.peek()) {
        let smaller = if compare(left, right).is_gt() {
            &mut second
        } else {
            &mut first
        };
        merged.extend(smaller.next());
    }
    merged.extend(first);
    merged.extend(second);
    merged
}

/// Compares at the first difference: symbols, then digits by the number they begin, then letters.
fn compare(left: &str, right: &str) -> Ordering {
    let common = common_prefix(left, right);
    let (left_rest, right_rest) = (&left[common..], &right[common..]);
    let (Some(left_next), Some(right_next)) = (left_rest.chars().next(), right_rest.chars().next())
    else {
        return left_rest.len().cmp(&right_rest.len());
    };
    match (left_next.is_alphabetic(), right_next.is_alphabetic()) {
        (true, true) => left_next.cmp(&right_next),
        (false, false) if left_next.is_ascii_digit() && right_next.is_ascii_digit() => {
            compare_numbers(number_at(left, common), number_at(right, common))
        }
        (false, false) => {
            let class = |character: char| (character.is_ascii_digit(), character);
            class(left_next).cmp(&class(right_next))
        }
        (left_is_letter, right_is_letter) => left_is_letter.cmp(&right_is_letter),
    }
}

fn common_prefix(left: &str, right: &str) -> usize {
    let pairs = left.char_indices().zip(right.chars());
    let mut differing = pairs.skip_while(|((_, left), right)| left == right);
    match differing.next() {
        Some(((index, _), _)) => index,
        None => left.len().min(right.len()),
    }
}

/// The whole number of which the digit at `index` is part.
fn number_at(text: &str, index: usize) -> &str {
    let is_not_digit = |character: char| !character.is_ascii_digit();
    let start = text[..index].rfind(is_not_digit).map_or(0, |before| {
        before + text[before..].chars().next().map_or(0, char::len_utf8)
    });
    let end = text[index..]
        .find(is_not_digit)
        .map_or(text.len(), |length| index + length);
    &text[start..end]
}

fn compare_numbers(left: &str, right: &str) -> Ordering {
    let significant = |digits: &str| digits.trim_start_matches('0').to_owned();
    let (left_digits, right_digits) = (significant(left), significant(right));
    let by_value = left_digits
        .len()
        .cmp(&right_digits.len())
        .then(left_digits.cmp(&right_digits));
    by_value.then(left.len().cmp(&right.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_as_people_sort() {
        let expected = [
            "", "-", ".dot", "1", "2", "02", "10", "A", "a", "a-b", "a1", "a2", "a10", "ab", "é",
        ];
        let mut shuffled = expected.map(|key| (key, ()));
        shuffled.reverse();
        let keys: Vec<&str> = sorted(shuffled.into())
            .into_iter()
            .map(|(key, ())| key)
            .collect();
        assert_eq!(keys, expected);
    }

    #[test]
    fn an_order_that_goes_in_circles_is_survived() {
        let keys = ["12", "2", "1b"].repeat(1_000);
        let entries = keys.iter().map(|key| (*key, ())).collect();
        assert_eq!(sorted(entries).len(), 3_000);
    }
}
