//! How two texts differ, line by line, as a patch shows it.
//!
//! The longest run of lines that both have stays, then the longest on either side of it, and so on.
//! Lines that stand very often in a long text never begin such a run.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// Lines from which on frequent ones are passed over.
const LONG_TEXT: usize = 200;

/// The change from `before` to `after`, without names of files.
pub(crate) fn unified(before: &str, after: &str) -> String {
    let old: Vec<&str> = split_lines(before);
    let new: Vec<&str> = split_lines(after);
    let mut text = String::new();
    for hunk in hunks(&Matcher::new(&old, &new).blocks()) {
        write_hunk(&mut text, &hunk, &old, &new);
    }
    text
}

/// The lines; the last one is followed by an end of line as well.
fn split_lines(text: &str) -> Vec<&str> {
    text.split('\n').collect()
}

/// Lines that both texts have: `length` of them from `old` and from `new` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    old: usize,
    new: usize,
    length: usize,
}

/// Lines of both texts that go together, and whether they are the same.
#[derive(Clone, Debug)]
enum Step {
    Same(Range<usize>, Range<usize>),
    Changed(Range<usize>, Range<usize>),
}

struct Matcher<'a> {
    old: &'a [&'a str],
    new: &'a [&'a str],
    places: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Matcher<'a> {
    fn new(old: &'a [&'a str], new: &'a [&'a str]) -> Self {
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        for (place, line) in new.iter().enumerate() {
            places.entry(line).or_default().push(place);
        }
        if new.len() >= LONG_TEXT {
            let frequent = new.len() / 100 + 1;
            places.retain(|_, places| places.len() <= frequent);
        }
        Self { old, new, places }
    }

    fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut rest = vec![(0..self.old.len(), 0..self.new.len())];
        while let Some((old, new)) = rest.pop() {
            let block = self.longest(&old, &new);
            if block.length == 0 {
                continue;
            }
            rest.push((old.start..block.old, new.start..block.new));
            rest.push((
                block.old + block.length..old.end,
                block.new + block.length..new.end,
            ));
            blocks.push(block);
        }
        blocks.sort_unstable_by_key(|block| block.old);
        let mut joined: Vec<Block> = Vec::new();
        for block in blocks {
            match joined.last_mut() {
                Some(last)
                    if last.old + last.length == block.old
                        && last.new + last.length == block.new =>
                {
                    last.length += block.length;
                }
                _ => joined.push(block),
            }
        }
        joined.push(Block {
            old: self.old.len(),
            new: self.new.len(),
            length: 0,
        });
        joined
    }

    /// The longest run in both ranges, the first of several; grown at both ends by equal lines.
    fn longest(&self, old: &Range<usize>, new: &Range<usize>) -> Block {
        let mut best = Block {
            old: old.start,
            new: new.start,
            length: 0,
        };
        let mut lengths: HashMap<usize, usize> = HashMap::new();
        for place in old.clone() {
            let mut next = HashMap::new();
            let places = self
                .places
                .get(self.old[place])
                .map_or(&[][..], Vec::as_slice);
            for &other in places.iter().filter(|other| new.contains(other)) {
                let before = other.checked_sub(1).and_then(|other| lengths.get(&other));
                let length = before.copied().unwrap_or(0) + 1;
                next.insert(other, length);
                if length > best.length {
                    best = Block {
                        old: place + 1 - length,
                        new: other + 1 - length,
                        length,
                    };
                }
            }
            lengths = next;
        }
        self.grown(best, old, new)
    }

    fn grown(&self, mut block: Block, old: &Range<usize>, new: &Range<usize>) -> Block {
        while block.old > old.start
            && block.new > new.start
            && self.old[block.old - 1] == self.new[block.new - 1]
        {
            block.old -= 1;
            block.new -= 1;
            block.length += 1;
        }
        while block.old + block.length < old.end
            && block.new + block.length < new.end
            && self.old[block.old + block.length] == self.new[block.new + block.length]
        {
            block.length += 1;
        }
        block
    }
}

/// Changes that are close to each other, with the lines around them.
fn hunks(blocks: &[Block]) -> Vec<Vec<Step>> {
    let mut hunks: Vec<Vec<Step>> = Vec::new();
    let (mut old, mut new) = (0, 0);
    let mut current: Vec<Step> = Vec::new();
    for block in blocks {
        if old < block.old || new < block.new {
            current.push(Step::Changed(old..block.old, new..block.new));
        }
        (old, new) = (block.old + block.length, block.new + block.length);
        if block.length > 0 {
            add_same(*block, &mut current, &mut hunks);
        }
    }
    if let Some(Step::Same(old, new)) = current.last_mut() {
        *old = old.start..old.end.min(old.start + CONTEXT);
        *new = new.start..new.end.min(new.start + CONTEXT);
    }
    hunks.push(current);
    hunks.retain(|hunk| hunk.iter().any(|step| matches!(step, Step::Changed(..))));
    hunks
}

fn add_same(block: Block, current: &mut Vec<Step>, hunks: &mut Vec<Vec<Step>>) {
    let (old, new) = (
        block.old..block.old + block.length,
        block.new..block.new + block.length,
    );
    if current.is_empty() {
        let skipped = block.length.saturating_sub(CONTEXT);
        current.push(Step::Same(
            old.start + skipped..old.end,
            new.start + skipped..new.end,
        ));
    } else if block.length > 2 * CONTEXT {
        let head = Step::Same(
            old.start..old.start + CONTEXT,
            new.start..new.start + CONTEXT,
        );
        current.push(head);
        hunks.push(std::mem::take(current));
        current.push(Step::Same(
            old.end - CONTEXT..old.end,
            new.end - CONTEXT..new.end,
        ));
    } else {
        current.push(Step::Same(old, new));
    }
}

fn write_hunk(text: &mut String, hunk: &[Step], old: &[&str], new: &[&str]) {
    let ranges = |step: &Step| match step {
        Step::Same(old, new) | Step::Changed(old, new) => (old.clone(), new.clone()),
    };
    let (Some(first), Some(last)) = (hunk.first().map(ranges), hunk.last().map(ranges)) else {
        return;
    };
    let before = written(&(first.0.start..last.0.end));
    let after = written(&(first.1.start..last.1.end));
    writeln!(text, "@@ -{before} +{after} @@").expect("text takes any text");
    let mut push = |sign: char, line: &str| {
        writeln!(text, "{sign}{line}").expect("text takes any text");
    };
    for step in hunk {
        match step {
            Step::Same(kept, _) => old[kept.clone()].iter().for_each(|line| push(' ', line)),
            Step::Changed(gone, come) => {
                old[gone.clone()].iter().for_each(|line| push('-', line));
                new[come.clone()].iter().for_each(|line| push('+', line));
            }
        }
    }
}

fn written(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => (range.start + 1).to_string(),
        length => format!("{},{length}", range.start + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_three_lines_around_it() {
        let before = "a\nb\nc\nd\ne\nf\ng\nh\ni";
        let after = "a\nb\nc\nd\nX\nf\ng\nh\ni";
        let expected = "@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+X\n f\n g\n h\n";
        assert_eq!(unified(before, after), expected);
    }

    #[test]
    fn changes_far_apart_stand_by_themselves() {
        let before: Vec<String> = (0..30).map(|line| line.to_string()).collect();
        let mut after = before.clone();
        after[2] = "x".to_owned();
        after.remove(20);
        let difference = unified(&before.join("\n"), &after.join("\n"));
        let heads = difference.lines().filter(|line| line.starts_with("@@"));
        assert_eq!(
            heads.collect::<Vec<_>>(),
            ["@@ -1,6 +1,6 @@", "@@ -18,7 +18,6 @@"]
        );
    }

    #[test]
    fn equal_texts_differ_nowhere() {
        assert_eq!(unified("a\nb", "a\nb"), "");
    }
}
