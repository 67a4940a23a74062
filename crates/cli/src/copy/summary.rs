//! What is said at the end of a copy.

use std::{fmt::Write, time::Duration};

use super::{
    engine::Copied,
    progress::{grouped, shown_duration},
    start::Begun,
};

/// Kinds that are named; the others are added up.
const KINDS_SHOWN: usize = 8;

/// What was copied, and what to do next.
pub(crate) fn summary(copied: &Copied, elapsed: Duration, next: &str) -> String {
    let mut text = String::new();
    let objects = grouped(copied.objects);
    let (bytes, time) = (shown_bytes(copied.bytes), shown_duration(elapsed));
    let line = match copied.begun {
        Begun::Now => format!("copied {objects} objects ({bytes}) in {time}"),
        Begun::Before => format!("copied {objects} objects ({bytes}), the rest of them in {time}"),
    };
    add(&mut text, &line);
    add_kinds(&mut text, copied);
    add(&mut text, "source and target were compared, byte for byte");
    if copied.kept > 0 {
        let kept = grouped(copied.kept);
        add(&mut text, &format!("{kept} objects of the target stay"));
    }
    if copied.followed > 0 {
        let changes = grouped(copied.followed);
        let line = format!(
            "{changes} changes came meanwhile and were copied too; if servers still write to the \
             source, stop them and copy again"
        );
        add(&mut text, &line);
    }
    let line = format!(
        "resourceVersions: {} was the newest, the copies begin at {}",
        copied.source_revision,
        copied.target_began.next()
    );
    add(&mut text, &line);
    add(
        &mut text,
        "clients that come with an older one get 410 Expired and list again",
    );
    add(&mut text, &format!("next:\n  {next}"));
    text
}

fn add(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn add_kinds(text: &mut String, copied: &Copied) {
    let mut kinds: Vec<_> = copied.kinds.iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let width = kinds.first().map_or(0, |(_, count)| grouped(**count).len());
    for (kind, count) in kinds.iter().take(KINDS_SHOWN) {
        let count = grouped(**count);
        writeln!(text, "  {count:>width$} {kind}").expect("a String takes all text");
    }
    if let Some(others @ [_, ..]) = kinds.get(KINDS_SHOWN..) {
        let count: u64 = others.iter().map(|(_, count)| **count).sum();
        let (kinds, count) = (others.len(), grouped(count));
        writeln!(text, "  {count:>width$} of {kinds} other kinds")
            .expect("a String takes all text");
    }
}

fn shown_bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut amount = bytes as f64 / 1024.0;
    let mut units = UNITS.into_iter();
    let mut unit = units.next().unwrap_or_default();
    while amount >= 1024.0
        && let Some(larger) = units.next()
    {
        (amount, unit) = (amount / 1024.0, larger);
    }
    format!("{amount:.1} {unit}")
}

#[cfg(test)]
mod tests {
    use listwatch_store::Revision;

    use super::*;

    #[test]
    fn the_summary_counts_kinds_and_says_what_to_do_next() {
        let mut kinds: Vec<_> = (1..=9).map(|one| (format!("k{one}"), one)).collect();
        kinds.push(("pods".to_owned(), 1_000));
        let copied = Copied {
            objects: 1_045,
            bytes: 3 * 1024 * 1024 / 2,
            kinds: kinds.into_iter().collect(),
            kept: 0,
            followed: 2,
            begun: Begun::Now,
            source_revision: Revision::new(41),
            target_began: Revision::new(1_000_041),
            target_revision: Revision::new(1_000_050),
        };
        let text = summary(&copied, Duration::from_millis(1_500), "listwatch serve");
        let expected = [
            "copied 1,045 objects (1.5 MiB) in 1.5 s",
            "  1,000 pods\n      9 k9\n",
            "      3 of 2 other kinds",
            "2 changes came meanwhile",
            "41 was the newest, the copies begin at 1000042",
            "next:\n  listwatch serve",
        ];
        for line in expected {
            assert!(text.contains(line), "{line:?} is not in\n{text}");
        }
        assert!(!text.contains("stay"), "{text}");
    }
}
