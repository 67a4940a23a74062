//! The indexes of a job that are done, as people read them: `0-3,5`.

use std::collections::BTreeSet;

/// Indexes that one text may have. What is beyond is left out.
const INDEXES_MAX: i32 = 100_000;

/// Writes them.
pub(super) fn write(indexes: &BTreeSet<i32>) -> String {
    let mut ranges: Vec<(i32, i32)> = Vec::new();
    for &index in indexes {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == index => *last = index,
            _ => ranges.push((index, index)),
        }
    }
    let texts = ranges.into_iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    texts.collect::<Vec<_>>().join(",")
}

/// Reads them.
pub(super) fn read(text: Option<&str>) -> BTreeSet<i32> {
    let ranges = text.unwrap_or_default().split(',');
    let ranges = ranges.filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.parse().ok()?..=last.parse::<i32>().ok()?.min(INDEXES_MAX))
    });
    ranges.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_written_as_ranges_and_read_again() {
        for (indexes, text) in [(vec![0, 1, 2, 3, 5], "0-3,5"), (vec![7], "7"), (vec![], "")] {
            let indexes = BTreeSet::from_iter(indexes);
            assert_eq!(write(&indexes), text);
            assert_eq!(read(Some(text)), indexes);
        }
    }
}
