//! How two values differ, line by line, in the form of Go's structs.

use std::fmt::Write;
use std::ops::Range;

use listwatch_api::go_text;
use serde_json::Value;

/// Lines that are shown around a difference.
const CONTEXT_LINES: usize = 3;

/// How Go writes a value as JSON when its struct has no names for JSON.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// As it is; an absent one is `null`.
    Plain,
    /// A text; an absent one is empty.
    Text,
    /// A flag; an absent one is false.
    Flag,
    /// A struct that is always there: Go's names, ours, and the shapes of members.
    Struct(&'static [(&'static str, &'static str, Shape)]),
    /// A struct that may be absent.
    Pointer(&'static [(&'static str, &'static str, Shape)]),
}

/// The difference between two values of one shape, as `diff -u` tells it, without names of files.
pub(crate) fn between(old: &Value, new: &Value, shape: Shape) -> String {
    let (old, new) = (lines(old, shape), lines(new, shape));
    let mut text = String::new();
    for hunk in hunks(&matches(&old, &new)) {
        let first = hunk
            .first()
            .map(|edit| (edit.old.start, edit.new.start))
            .unwrap_or_default();
        let last = hunk
            .last()
            .map(|edit| (edit.old.end, edit.new.end))
            .unwrap_or_default();
        let ranges = (span(first.0..last.0), span(first.1..last.1));
        writeln!(text, "@@ -{} +{} @@", ranges.0, ranges.1).expect("text takes any text");
        for edit in hunk {
            let is_same = edit.is_same;
            for line in &old[edit.old.clone()] {
                writeln!(text, "{}{line}", if is_same { ' ' } else { '-' })
                    .expect("text takes any text");
            }
            for line in new[edit.new.clone()].iter().filter(|_| !is_same) {
                writeln!(text, "+{line}").expect("text takes any text");
            }
        }
    }
    text
}

fn span(range: Range<usize>) -> String {
    match range.len() {
        1 => format!("{}", range.start + 1),
        0 => format!("{},0", range.start),
        length => format!("{},{length}", range.start + 1),
    }
}

fn lines(value: &Value, shape: Shape) -> Vec<String> {
    let mut text = String::new();
    write_shape(&mut text, value, shape, 0);
    text.split('\n').map(str::to_owned).collect()
}

fn write_shape(text: &mut String, value: &Value, shape: Shape, depth: usize) {
    match shape {
        Shape::Text if value.is_null() => text.push_str("\"\""),
        Shape::Flag if value.is_null() => text.push_str("false"),
        Shape::Pointer(_) if value.is_null() => text.push_str("null"),
        Shape::Plain | Shape::Text | Shape::Flag => write_plain(text, value, depth),
        Shape::Struct(members) | Shape::Pointer(members) => {
            let entries = members.iter().map(|(go_name, member, shape)| {
                (*go_name, value.get(member).unwrap_or(&Value::Null), *shape)
            });
            write_members(text, entries, depth);
        }
    }
}

fn write_plain(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let entries = members
                .iter()
                .map(|(name, value)| (name.as_str(), value, Shape::Plain));
            write_members(text, entries, depth);
        }
        Value::Array(elements) if !elements.is_empty() => {
            text.push('[');
            for (index, element) in elements.iter().enumerate() {
                text.push_str(if index == 0 { "\n" } else { ",\n" });
                text.push_str(&" ".repeat(depth + 1));
                write_plain(text, element, depth + 1);
            }
            text.push('\n');
            text.push_str(&" ".repeat(depth));
            text.push(']');
        }
        other => text.push_str(&go_text::json(other)),
    }
}

fn write_members<'a>(
    text: &mut String,
    entries: impl Iterator<Item = (&'a str, &'a Value, Shape)>,
    depth: usize,
) {
    text.push('{');
    for (index, (name, value, shape)) in entries.enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        text.push_str(&" ".repeat(depth + 1));
        text.push_str(&go_text::json(&Value::from(name)));
        text.push_str(": ");
        write_shape(text, value, shape, depth + 1);
    }
    text.push('\n');
    text.push_str(&" ".repeat(depth));
    text.push('}');
}

/// Lines of both sides that belong together: the same ones, or a change.
#[derive(Clone, Debug)]
struct Edit {
    is_same: bool,
    old: Range<usize>,
    new: Range<usize>,
}

/// All edits in order, same and changed lines in turn.
fn matches(old: &[String], new: &[String]) -> Vec<Edit> {
    let mut same = Vec::new();
    find_matches(old, new, (0..old.len(), 0..new.len()), &mut same);
    let mut edits = Vec::new();
    let (mut old_at, mut new_at) = (0, 0);
    for (old_start, new_start, length) in same.into_iter().chain([(old.len(), new.len(), 0)]) {
        if old_at < old_start || new_at < new_start {
            edits.push(Edit {
                is_same: false,
                old: old_at..old_start,
                new: new_at..new_start,
            });
        }
        (old_at, new_at) = (old_start + length, new_start + length);
        if length > 0 {
            edits.push(Edit {
                is_same: true,
                old: old_start..old_at,
                new: new_start..new_at,
            });
        }
    }
    edits
}

/// The longest run of same lines, then the same on both sides of it.
fn find_matches(
    old: &[String],
    new: &[String],
    within: (Range<usize>, Range<usize>),
    found: &mut Vec<(usize, usize, usize)>,
) {
    let mut best = (within.0.start, within.1.start, 0);
    for old_start in within.0.clone() {
        for new_start in within.1.clone() {
            let rest = (within.0.end - old_start).min(within.1.end - new_start);
            let length = (0..rest)
                .take_while(|step| old[old_start + step] == new[new_start + step])
                .count();
            if length > best.2 {
                best = (old_start, new_start, length);
            }
        }
    }
    let (old_start, new_start, length) = best;
    if length == 0 {
        return;
    }
    find_matches(
        old,
        new,
        (within.0.start..old_start, within.1.start..new_start),
        found,
    );
    match found.last_mut() {
        Some(last) if last.0 + last.2 == old_start && last.1 + last.2 == new_start => {
            last.2 += length
        }
        _ => found.push(best),
    }
    find_matches(
        old,
        new,
        (
            old_start + length..within.0.end,
            new_start + length..within.1.end,
        ),
        found,
    );
}

/// Changes with the lines around them; those that are near each other go together.
fn hunks(edits: &[Edit]) -> Vec<Vec<Edit>> {
    let mut hunks: Vec<Vec<Edit>> = Vec::new();
    let mut hunk: Vec<Edit> = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        if !edit.is_same {
            hunk.push(edit.clone());
            continue;
        }
        let (is_first, is_last) = (index == 0, index + 1 == edits.len());
        let length = edit.old.len();
        let head = Edit {
            is_same: true,
            old: edit.old.start..edit.old.start + length.min(CONTEXT_LINES),
            new: edit.new.start..edit.new.start + length.min(CONTEXT_LINES),
        };
        let tail = Edit {
            is_same: true,
            old: edit.old.end - length.min(CONTEXT_LINES)..edit.old.end,
            new: edit.new.end - length.min(CONTEXT_LINES)..edit.new.end,
        };
        if is_first {
            hunk.push(tail);
        } else if is_last {
            hunk.push(head);
        } else if length > 2 * CONTEXT_LINES {
            hunk.push(head);
            hunks.push(std::mem::replace(&mut hunk, vec![tail]));
        } else {
            hunk.push(edit.clone());
        }
    }
    if hunk.iter().any(|edit| !edit.is_same) {
        hunks.push(hunk);
    }
    hunks
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_is_shown_with_the_lines_around_it() {
        let shape = Shape::Struct(&[("A", "a", Shape::Text), ("B", "b", Shape::Plain)]);
        let (old, new) = (json!({"a": "x"}), json!({"a": "y", "b": ["z"]}));
        assert_eq!(
            between(&old, &new, shape),
            "@@ -1,4 +1,6 @@\n {\n- \"A\": \"x\",\n- \"B\": null\n+ \"A\": \"y\",\n+ \"B\": [\n+  \
             \"z\"\n+ ]\n }\n"
        );
    }

    #[test]
    fn changes_far_from_each_other_are_shown_apart() {
        let list = |first: u32, last: u32| {
            let numbers: Vec<u32> = [first].into_iter().chain(2..12).chain([last]).collect();
            json!(numbers)
        };
        let shown = between(&list(1, 12), &list(0, 13), Shape::Plain);
        assert_eq!(shown.matches("@@ -").count(), 2, "{shown}");
        assert!(
            shown.starts_with("@@ -1,5 +1,5 @@\n [\n- 1,\n+ 0,\n  2,\n  3,\n  4,\n@@"),
            "{shown}"
        );
    }

    #[test]
    fn what_is_the_same_is_not_shown() {
        let value = json!({"a": 1});
        assert_eq!(between(&value, &value, Shape::Plain), "");
    }
}
