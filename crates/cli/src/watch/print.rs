//! Notifications as lines for people or programs.

use std::io::{self, Write};

use clap::ValueEnum;
use listwatch::{Notification, Object, Raw};
use serde_json::{Value, json, value::RawValue};

use super::difference::{Change, Difference, differences};

/// How an event is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// One line: what happened, to what, at which version
    Line,
    /// One JSON document a line, as the API sends it: {"type": …, "object": …}
    Json,
    /// A line, then only the fields that changed
    Diff,
}

/// Whether the output may have colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colours {
    Yes,
    No,
}

const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";

/// Prints events in one format.
pub(super) struct Printer<W> {
    output: W,
    format: Format,
    colours: Colours,
}

impl<W: Write> Printer<W> {
    pub(super) fn new(output: W, format: Format, colours: Colours) -> Self {
        Self {
            output,
            format,
            colours,
        }
    }

    /// Prints one event and flushes it, so that a reader behind a pipe sees it at once.
    pub(super) fn print(&mut self, event: &Notification<Raw>) -> io::Result<()> {
        match self.format {
            Format::Line => self.line(event)?,
            Format::Json => self.json(event)?,
            Format::Diff => {
                self.line(event)?;
                self.changes(event)?;
            }
        }
        self.output.flush()
    }

    fn line(&mut self, event: &Notification<Raw>) -> io::Result<()> {
        let colour = match event {
            Notification::Added { .. } => GREEN,
            Notification::Updated { .. } => YELLOW,
            Notification::Deleted(_) | Notification::Lagged { .. } => RED,
        };
        let line = self.painted(&event.to_string(), colour);
        writeln!(self.output, "{line}")
    }

    fn json(&mut self, event: &Notification<Raw>) -> io::Result<()> {
        let (word, object) = match event {
            Notification::Added { object, .. } => ("ADDED", Some(object)),
            Notification::Updated { new, .. } => ("MODIFIED", Some(new)),
            Notification::Deleted(deleted) => ("DELETED", deleted.last.as_ref()),
            // The API has no such event.
            Notification::Lagged { .. } => return Ok(()),
        };
        let object: Option<&RawValue> =
            object.and_then(|object| serde_json::from_slice(object.as_bytes()).ok());
        let object = object.map_or("null", RawValue::get);
        writeln!(self.output, r#"{{"type":"{word}","object":{object}}}"#)
    }

    fn changes(&mut self, event: &Notification<Raw>) -> io::Result<()> {
        let Notification::Updated { old, new } = event else {
            return Ok(());
        };
        let (old, new) = (value(old), value(new));
        for difference in differences(&old, &new) {
            let line = self.difference(&difference);
            writeln!(self.output, "    {line}")?;
        }
        Ok(())
    }

    fn difference(&self, Difference { path, change }: &Difference<'_>) -> String {
        match change {
            Change::Added(new) => self.painted(&format!("+ {path}: {new}"), GREEN),
            Change::Removed(old) => self.painted(&format!("- {path}: {old}"), RED),
            Change::Changed { old, new } => {
                let old = self.painted(&old.to_string(), RED);
                let new = self.painted(&new.to_string(), GREEN);
                format!("~ {path}: {old} -> {new}")
            }
        }
    }

    fn painted(&self, text: &str, colour: &str) -> String {
        match self.colours {
            Colours::Yes => format!("\x1b[{colour}m{text}\x1b[0m"),
            Colours::No => text.to_owned(),
        }
    }
}

/// The object as a tree; one that is no JSON is shown as the text that it is.
fn value(object: &Object<Raw>) -> Value {
    let decoded = object.decode();
    decoded.unwrap_or_else(|_| json!(String::from_utf8_lossy(object.as_bytes())))
}
