//! Paths that rules and selectable fields state, such as `.spec.labels['a.b']`.

use crate::props::{Additional, Props};

/// Whether a path may name members in brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brackets {
    Allowed,
    Refused,
}

/// Where a path leads.
#[derive(Debug)]
pub(crate) struct Route<'a> {
    /// Each step, as the field paths of errors write it.
    pub(crate) steps: Vec<RouteStep>,
    /// The schema there, unless it may be anything.
    pub(crate) schema: Option<Props<'a>>,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RouteStep {
    Field(String),
    Key(String),
}

/// Follows a path through a schema, or says why it leads nowhere.
pub(crate) fn follow<'a>(
    text: &str,
    schema: Props<'a>,
    brackets: Brackets,
) -> Result<Route<'a>, String> {
    let mut route = Route {
        steps: Vec::new(),
        schema: Some(schema),
    };
    let mut tokens = Tokens { rest: text };
    while let Some(token) = tokens.next() {
        let end = || "unexpected end of JSON path".to_owned();
        match token {
            "." => {
                let name = tokens.next().ok_or_else(end)?;
                route.enter(name)?;
            }
            "[" if brackets == Brackets::Refused => {
                return Err("array notation is not allowed".to_owned());
            }
            "[" => {
                let quoted = tokens.next().ok_or_else(end)?;
                let inner = quoted
                    .strip_prefix('\'')
                    .and_then(|rest| rest.strip_suffix('\''))
                    .ok_or_else(|| format!("expected single quoted string but got {quoted}"))?;
                let name = unescape(inner)?;
                route.enter(&name)?;
                match tokens.next().ok_or_else(end)? {
                    "]" => {}
                    other => return Err(format!("expected ] but got {other}")),
                }
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        }
    }
    Ok(route)
}

impl Route<'_> {
    fn enter(&mut self, name: &str) -> Result<(), String> {
        let nowhere = || "does not refer to a valid field".to_owned();
        let schema = self.schema.ok_or_else(nowhere)?;
        if schema.properties().next().is_some() {
            self.steps.push(RouteStep::Field(name.to_owned()));
            self.schema = Some(schema.property(name).ok_or_else(nowhere)?);
            return Ok(());
        }
        self.schema = match schema.additional().ok_or_else(nowhere)? {
            Additional::Each(each) => Some(each),
            Additional::Allowed(_) => None,
        };
        self.steps.push(RouteStep::Key(name.to_owned()));
        Ok(())
    }
}

struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let end = match self.rest.as_bytes() {
            [] => return None,
            [b'\'', ..] => self.quoted_end(),
            [b'.' | b'[' | b']', ..] => 1,
            _ => self.rest.find(['.', '[', ']']).unwrap_or(self.rest.len()),
        };
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(token)
    }

    fn quoted_end(&self) -> usize {
        let bytes = self.rest.as_bytes();
        let mut places = 1..bytes.len();
        let end = places.find(|place| bytes[*place] == b'\'' && bytes[place - 1] != b'\\');
        end.map_or(bytes.len(), |place| place + 1)
    }
}

fn unescape(text: &str) -> Result<String, String> {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let escaped = match character {
            '\\' => characters.next(),
            other => Some(other),
        };
        match escaped {
            Some(escaped) => plain.push(escaped),
            None => return Err("invalid string literal: invalid syntax".to_owned()),
        }
    }
    Ok(plain)
}
