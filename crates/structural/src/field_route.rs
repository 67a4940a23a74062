//! Paths that rules and selectable fields state, such as `.spec.labels['a.b']`.

use listwatch_api::FieldPath;

use crate::props::{Additional, Props};

/// Whether a path may name members in brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Brackets {
    Allowed,
    Refused,
}

/// Where a path leads.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    pub(crate) route: Route,
    /// The schema there, unless it may be anything.
    pub(crate) schema: Option<Props<'a>>,
}

/// The steps of a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Route(pub(crate) Vec<RouteStep>);

impl Route {
    /// The field that the path leads to from this one.
    pub(crate) fn after(&self, start: &FieldPath) -> FieldPath {
        let mut path = start.clone();
        for step in &self.0 {
            path = match step {
                RouteStep::Field(name) => path.child(name),
                RouteStep::Key(name) => path.key(name),
            };
        }
        path
    }
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
) -> Result<Found<'a>, String> {
    let mut found = Found {
        route: Route(Vec::new()),
        schema: Some(schema),
    };
    let mut tokens = Tokens { rest: text };
    while let Some(token) = tokens.next() {
        let end = || "unexpected end of JSON path".to_owned();
        match token {
            "." => {
                let name = tokens.next().ok_or_else(end)?;
                found.enter(name)?;
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
                found.enter(&name)?;
                match tokens.next().ok_or_else(end)? {
                    "]" => {}
                    other => return Err(format!("expected ] but got {other}")),
                }
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        }
    }
    Ok(found)
}

impl Found<'_> {
    fn enter(&mut self, name: &str) -> Result<(), String> {
        let nowhere = || "does not refer to a valid field".to_owned();
        let schema = self.schema.ok_or_else(nowhere)?;
        if schema.properties().next().is_some() {
            self.route.0.push(RouteStep::Field(name.to_owned()));
            self.schema = Some(schema.property(name).ok_or_else(nowhere)?);
            return Ok(());
        }
        self.schema = match schema.additional().ok_or_else(nowhere)? {
            Additional::Each(each) => Some(each),
            Additional::Allowed(_) => None,
        };
        self.route.0.push(RouteStep::Key(name.to_owned()));
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lead(text: &str, brackets: Brackets) -> Result<String, String> {
        let schema = json!({
            "type": "object",
            "properties": {
                "spec": {
                    "type": "object",
                    "properties": {
                        "a.b": {"type": "string"},
                        "labels": {"type": "object", "additionalProperties": {"type": "string"}}
                    }
                }
            }
        });
        let props = Props::of(&schema).expect("it is an object");
        let found = follow(text, props, brackets)?;
        Ok(found.route.after(&FieldPath::root()).to_string())
    }

    #[test]
    fn a_path_leads_through_fields_and_entries() {
        let led = |text| lead(text, Brackets::Allowed);
        assert_eq!(led(".spec"), Ok("spec".to_owned()));
        assert_eq!(led(".spec['a.b']"), Ok("spec.a.b".to_owned()));
        assert_eq!(led(".spec.labels.x"), Ok("spec.labels[x]".to_owned()));
        assert_eq!(
            led(r".spec.labels['x\'y']"),
            Ok("spec.labels[x'y]".to_owned())
        );
    }

    #[test]
    fn a_path_that_leads_nowhere_says_why() {
        let led = |text| lead(text, Brackets::Allowed).expect_err("it leads nowhere");
        assert_eq!(led("spec"), "expected [ or . but got: spec");
        assert_eq!(led(".spec.c"), "does not refer to a valid field");
        assert_eq!(led(".spec.labels.x.y"), "does not refer to a valid field");
        assert_eq!(led("."), "unexpected end of JSON path");
        assert_eq!(led(".spec[a]"), "expected single quoted string but got a");
        assert_eq!(led(".spec['a.b'"), "unexpected end of JSON path");
        let refused = lead(".spec['a.b']", Brackets::Refused);
        assert_eq!(refused, Err("array notation is not allowed".to_owned()));
    }
}
