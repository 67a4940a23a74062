//! The layout of YAML: blocks, indentation, and texts folded behind the eightieth column.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::key_order;
use super::scalar::{self, Place, Style};
use crate::go_text;

/// The column behind which a text goes on in a new line at the next space.
const COLUMN_MAX: usize = 80;
const INDENT: usize = 2;
/// Bytes of a key that stands in one line with its value; a longer one gets its own, behind a `?`.
const SIMPLE_KEY_BYTES_MAX: usize = 128;

/// The value as a document.
pub(super) fn write(value: &Value) -> String {
    let mut writer = Writer {
        text: String::new(),
        column: 0,
    };
    writer.value(value, 0, Context::Root);
    writer.line_break();
    writer.text
}

/// What a value stands behind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Context {
    Root,
    /// A key; lists need no indentation of their own.
    Key,
    /// A dash, or the colon of a key in a line of its own.
    Element,
}

struct Writer {
    text: String,
    column: usize,
}

impl Writer {
    /// Writes a value inside a block that is indented by `indent`.
    fn value(&mut self, value: &Value, indent: usize, context: Context) {
        match value {
            Value::Object(fields) if !fields.is_empty() => self.mapping(fields, indent, context),
            Value::Array(elements) if !elements.is_empty() => {
                self.sequence(elements, indent, context);
            }
            leaf => {
                if context != Context::Root {
                    self.push(' ');
                }
                self.leaf(leaf, if context == Context::Root { 0 } else { indent });
            }
        }
    }

    fn mapping(&mut self, fields: &Map<String, Value>, indent: usize, context: Context) {
        let indent = if context == Context::Root {
            0
        } else {
            indent + INDENT
        };
        let entries = fields
            .iter()
            .map(|(key, value)| (key.as_str(), value))
            .collect();
        for (index, (key, value)) in key_order::sorted(entries).into_iter().enumerate() {
            self.begin_line(indent, index, context);
            if key.len() <= SIMPLE_KEY_BYTES_MAX && !key.contains('\n') {
                self.scalar(key, indent, Place::Key);
                self.push(':');
                self.value(value, indent, Context::Key);
            } else {
                self.push_all("? ");
                self.scalar(key, indent, Place::Value);
                self.new_line(indent);
                self.push(':');
                self.value(value, indent, Context::Element);
            }
        }
    }

    fn sequence(&mut self, elements: &[Value], indent: usize, context: Context) {
        let indent = match context {
            Context::Root => 0,
            Context::Key => indent,
            Context::Element => indent + INDENT,
        };
        for (index, element) in elements.iter().enumerate() {
            self.begin_line(indent, index, context);
            self.push('-');
            self.value(element, indent, Context::Element);
        }
    }

    /// The first line of a block behind a dash is the dash's own.
    fn begin_line(&mut self, indent: usize, index: usize, context: Context) {
        match (index, context) {
            (0, Context::Root) => {}
            (0, Context::Element) => self.push(' '),
            _ => self.new_line(indent),
        }
    }

    fn leaf(&mut self, value: &Value, indent: usize) {
        match value {
            Value::String(text) => self.scalar(text, indent, Place::Value),
            Value::Array(_) => self.push_all("[]"),
            Value::Object(_) => self.push_all("{}"),
            Value::Number(number) if number.is_f64() => {
                self.push_all(&go_text::float(number.as_f64().unwrap_or_default()));
            }
            other => self.push_all(&other.to_string()),
        }
    }

    fn scalar(&mut self, text: &str, indent: usize, place: Place) {
        match scalar::style(text, place) {
            Style::Plain => self.folded(text, indent + INDENT, place),
            Style::SingleQuoted => {
                self.push('\'');
                self.folded(&text.replace('\'', "''"), indent + INDENT, place);
                self.push('\'');
            }
            Style::DoubleQuoted => {
                self.push('"');
                self.double_quoted(text, indent + INDENT, place);
                self.push('"');
            }
            Style::Literal => self.literal(text, indent + INDENT),
        }
    }

    /// Writes the text, with a line break instead of single spaces behind the last column.
    fn folded(&mut self, text: &str, indent: usize, place: Place) {
        let mut after_space = true;
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            let is_fold = character == ' '
                && place == Place::Value
                && self.column > COLUMN_MAX
                && !after_space
                && characters.peek().is_some_and(|next| *next != ' ');
            if is_fold {
                self.new_line(indent);
            } else {
                self.push(character);
            }
            after_space = character == ' ';
        }
    }

    fn double_quoted(&mut self, text: &str, indent: usize, place: Place) {
        let mut after_space = true;
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            let is_fold = character == ' '
                && place == Place::Value
                && self.column > COLUMN_MAX
                && !after_space
                && characters.peek().is_some();
            after_space = character == ' ';
            if is_fold {
                self.new_line(indent);
                if characters.peek() == Some(&' ') {
                    self.push('\\');
                }
            } else {
                self.escaped(character);
            }
        }
    }

    fn escaped(&mut self, character: char) {
        let escape = match character {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\0' => "\\0",
            '\u{07}' => "\\a",
            '\u{08}' => "\\b",
            '\t' => "\\t",
            '\n' => "\\n",
            '\u{0b}' => "\\v",
            '\u{0c}' => "\\f",
            '\r' => "\\r",
            '\u{1b}' => "\\e",
            '\u{85}' => "\\N",
            '\u{2028}' => "\\L",
            '\u{2029}' => "\\P",
            printable if scalar::is_printable(printable) => return self.push(printable),
            other => {
                let mut escape = String::new();
                let written = match u32::from(other) {
                    code @ 0..=0xff => write!(escape, "\\x{code:02X}"),
                    code @ 0x100..=0xffff => write!(escape, "\\u{code:04X}"),
                    code => write!(escape, "\\U{code:08X}"),
                };
                written.expect("text takes any text");
                return self.push_all(&escape);
            }
        };
        self.push_all(escape);
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.push('|');
        if text.starts_with([' ', '\n']) {
            self.push_all(&INDENT.to_string());
        }
        let body = text.strip_suffix('\n');
        match body {
            None => self.push('-'),
            Some(body) if body.is_empty() || body.ends_with('\n') => self.push('+'),
            Some(_) => {}
        }
        for line in body.unwrap_or(text).split('\n') {
            self.line_break();
            if !line.is_empty() {
                self.spaces(indent);
                self.push_all(line);
            }
        }
    }

    fn new_line(&mut self, indent: usize) {
        self.line_break();
        self.spaces(indent);
    }

    fn line_break(&mut self) {
        self.text.push('\n');
        self.column = 0;
    }

    fn spaces(&mut self, count: usize) {
        self.text.extend(std::iter::repeat_n(' ', count));
        self.column += count;
    }

    fn push(&mut self, character: char) {
        self.text.push(character);
        self.column += 1;
    }

    fn push_all(&mut self, text: &str) {
        self.text.push_str(text);
        self.column += text.chars().count();
    }
}
