//! A history as text, one line for each thing that happened, for people who look for a cause.

use std::fmt::Write as _;

use super::{History, List, Moment, Read, Watch, Write};

/// What is shown of a history beside a verdict, at the most; all of it is too much to read.
const EXCERPT_ENTRIES_MAX: usize = 20;
/// Frames of one stream in it, the last ones.
const EXCERPT_FRAMES_MAX: usize = 12;

/// One thing that happened.
struct Entry {
    began: Moment,
    /// As verdicts call it, such as `write 3`.
    name: String,
    text: String,
    /// What came on a stream.
    frames: Vec<String>,
}

impl History {
    /// Everything in order of beginning; frames stand under their stream.
    pub fn transcript(&self) -> String {
        let mut text = String::new();
        for entry in self.entries() {
            entry.write(&mut text, entry.frames.len());
        }
        text
    }

    /// The piece of the transcript that a text names, such as a verdict.
    pub fn excerpt(&self, verdict: &str) -> String {
        let mut text = String::new();
        let entries = self.entries().into_iter();
        let named = entries.filter(|entry| is_named(verdict, &entry.name));
        for entry in named.take(EXCERPT_ENTRIES_MAX) {
            entry.write(&mut text, EXCERPT_FRAMES_MAX);
        }
        text
    }

    fn entries(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        let writes = self.writes.iter().enumerate();
        entries.extend(writes.map(|(number, write)| Entry::write_to_one(number, write)));
        let reads = self.reads.iter().enumerate();
        entries.extend(reads.map(|(number, read)| Entry::read_of_one(number, read)));
        let lists = self.lists.iter().enumerate();
        entries.extend(lists.map(|(number, list)| Entry::list(number, list)));
        let watches = self.watches.iter().enumerate();
        entries.extend(watches.map(|(number, watch)| Entry::watch(number, watch)));
        let restarts = self.restarts.iter();
        entries.extend(restarts.map(|restart| {
            let text = format!("to {}: {:?}", restart.ended.0, restart.manner);
            Entry::new(restart.began, "restart".to_owned(), text)
        }));
        let gaps = self.gaps.iter();
        entries.extend(gaps.map(|gap| {
            let text = format!("{gap:?}");
            Entry::new(Moment(0), "gap".to_owned(), text)
        }));
        entries.sort_by_key(|entry| entry.began);
        entries
    }
}

/// Whether a text speaks of just this, and not of `write 30` where it is `write 3`.
fn is_named(text: &str, name: &str) -> bool {
    let mut places = text.match_indices(name);
    places.any(|(at, _)| {
        let next = text[at + name.len()..].chars().next();
        !next.is_some_and(|next| next.is_ascii_digit())
    })
}

impl Entry {
    fn new(began: Moment, name: String, text: String) -> Self {
        Self {
            began,
            name,
            text,
            frames: Vec::new(),
        }
    }

    fn write_to_one(number: usize, write: &Write) -> Self {
        let Write { key, answerer, .. } = write;
        let text = format!(
            "of {key} by {answerer}, token {}, to {}: {:?} -> {:?}",
            write.token.0, write.ended.0, write.request, write.outcome
        );
        Self::new(write.began, format!("write {number}"), text)
    }

    fn read_of_one(number: usize, read: &Read) -> Self {
        let seen = read.seen.as_ref();
        let seen = seen.map_or_else(|| "nothing".to_owned(), ToString::to_string);
        let Read { key, answerer, .. } = read;
        let text = format!("of {key} by {answerer}, to {}: {seen}", read.ended.0);
        Self::new(read.began, format!("read {number}"), text)
    }

    fn list(number: usize, list: &List) -> Self {
        let items: Vec<String> = list.items().map(ToString::to_string).collect();
        let text = format!(
            "by {} ({}; {}), to {}: {:?} {:?} [{}]",
            list.answerers(),
            list.selection,
            list.freshness,
            list.ended.0,
            list.at(),
            list.end,
            items.join(", ")
        );
        Self::new(list.began, format!("list {number}"), text)
    }

    fn watch(number: usize, watch: &Watch) -> Self {
        let text = format!(
            "of {} ({}; {}; bookmarks {:?}), ended {:?}",
            watch.answerer, watch.selection, watch.start, watch.bookmarks, watch.ending
        );
        let frames = watch.frames.iter();
        let frames = frames.map(|received| format!("{} {}", received.at.0, received.frame));
        Self {
            frames: frames.collect(),
            ..Self::new(watch.began, format!("watch {number}"), text)
        }
    }

    fn write(&self, text: &mut String, frames_max: usize) {
        let left_out = self.frames.len().saturating_sub(frames_max);
        let line = format!("{} {} {}", self.began.0, self.name, self.text);
        writeln!(text, "{line}").expect("writing to a String cannot fail");
        for frame in &self.frames[left_out..] {
            writeln!(text, "    {frame}").expect("writing to a String cannot fail");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::history::script::{Script, added, after};

    #[test]
    fn a_transcript_has_everything_in_order() {
        let mut script = Script::two_objects();
        script.watch(after(0), [added("a/x", 1)]);
        let transcript = script.history.transcript();
        let lines: Vec<&str> = transcript.lines().collect();
        assert_eq!(lines.len(), 4, "{transcript}");
        assert!(lines[0].starts_with("1 write 0 of a/x"), "{transcript}");
        assert!(lines[3].ends_with("ADDED a/x @1 (write 1)"), "{transcript}");
    }

    #[test]
    fn an_excerpt_has_what_is_named() {
        let mut script = Script::two_objects();
        script.watch(after(0), [added("a/x", 1)]);
        let excerpt = script.history.excerpt("at write 1 of a/y");
        assert!(excerpt.starts_with("3 write 1 of a/y"), "{excerpt}");
        assert_eq!(excerpt.lines().count(), 1, "{excerpt}");
        assert!(script.history.excerpt("at write 10 of a/y").is_empty());
    }
}
