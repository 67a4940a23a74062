//! A history as text, one line for each thing that happened, for people who look for a cause.

use std::fmt::Write as _;

use super::{History, Moment};

impl History {
    /// Everything in order of beginning; frames stand under their stream.
    pub fn transcript(&self) -> String {
        let mut lines: Vec<(Moment, String)> = Vec::new();
        for (number, write) in self.writes.iter().enumerate() {
            let line = format!(
                "write {number} of {} by {}, token {}, to {}: {:?} -> {:?}",
                write.key,
                write.answerer,
                write.token.0,
                write.ended.0,
                write.request,
                write.outcome
            );
            lines.push((write.began, line));
        }
        for (number, read) in self.reads.iter().enumerate() {
            let seen = read.seen.as_ref();
            let seen = seen.map_or_else(|| "nothing".to_owned(), ToString::to_string);
            let (key, answerer, ended) = (&read.key, read.answerer, read.ended.0);
            let line = format!("read {number} of {key} by {answerer}, to {ended}: {seen}");
            lines.push((read.began, line));
        }
        for (number, list) in self.lists.iter().enumerate() {
            let items: Vec<String> = list.items().map(ToString::to_string).collect();
            let line = format!(
                "list {number} by {} ({}; {}), to {}: {:?} {:?} [{}]",
                list.answerers(),
                list.selection,
                list.freshness,
                list.ended.0,
                list.at(),
                list.end,
                items.join(", ")
            );
            lines.push((list.began, line));
        }
        for (number, watch) in self.watches.iter().enumerate() {
            let mut line = format!(
                "watch {number} of {} ({}; {}; bookmarks {:?}), ended {:?}",
                watch.answerer, watch.selection, watch.start, watch.bookmarks, watch.ending
            );
            for received in &watch.frames {
                let (Moment(at), frame) = (received.at, &received.frame);
                write!(line, "\n    {at} {frame}").expect("writing to a String cannot fail");
            }
            lines.push((watch.began, line));
        }
        for restart in &self.restarts {
            lines.push((restart.began, format!("{restart:?}")));
        }
        for gap in &self.gaps {
            lines.push((Moment(0), format!("{gap:?}")));
        }
        lines.sort();
        let texts = lines
            .into_iter()
            .map(|(Moment(began), line)| format!("{began} {line}"));
        texts.collect::<Vec<_>>().join("\n")
    }
}
