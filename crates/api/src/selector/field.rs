//! Field selectors: `metadata.name=web,status.phase!=Failed`.

use std::fmt;

use super::ParseSelectorError;
use crate::status::Status;

/// The field that every kind has.
const METADATA_NAME: &str = "metadata.name";

/// Conditions on an object's fields, all of which must hold. Equal selectors are equal values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldSelector {
    requirements: Vec<FieldRequirement>,
}

/// One condition on one field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldRequirement {
    /// The field's path, such as `spec.nodeName`.
    pub field: String,
    /// The condition.
    pub operator: FieldOperator,
    /// The text compared with; an absent field is the empty text.
    pub value: String,
}

/// How a field is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FieldOperator {
    /// The field is this text.
    Equals,
    /// The field is not this text.
    NotEquals,
}

impl FieldSelector {
    /// Selects every object.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Reads a selector as Kubernetes writes it; empty text selects everything. In values, `\\`,
    /// `\,` and `\=` stand for the characters themselves.
    pub fn parse(text: &str) -> Result<Self, ParseSelectorError> {
        let mut terms = split_terms(text);
        // Kubernetes looks at the terms in order, which decides the error when several are wrong.
        terms.sort_unstable();
        let mut requirements = Vec::new();
        for term in terms.into_iter().filter(|term| !term.is_empty()) {
            let requirement = parse_term(term, text)?;
            // A term without field and value asks for nothing.
            if !(requirement.field.is_empty() && requirement.value.is_empty()) {
                requirements.push(requirement);
            }
        }
        Ok(Self::all_of(requirements))
    }

    /// Selects the one object of this name; a selector for another name is a contradiction.
    pub fn narrowed_to_name(self, name: &str) -> Result<Self, Status> {
        if self.is_everything() {
            return Ok(Self::all_of(vec![FieldRequirement {
                field: METADATA_NAME.to_owned(),
                operator: FieldOperator::Equals,
                value: name.to_owned(),
            }]));
        }
        if self.exact(METADATA_NAME) != Some(name) {
            let message = "fieldSelector metadata.name doesn't match requested name";
            return Err(Status::bad_request(message));
        }
        Ok(self)
    }

    /// Selects what fulfils all of these.
    pub fn all_of(mut requirements: Vec<FieldRequirement>) -> Self {
        requirements.sort();
        requirements.dedup();
        Self { requirements }
    }

    /// Whether nothing is asked.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// The conditions, sorted.
    pub fn requirements(&self) -> &[FieldRequirement] {
        &self.requirements
    }

    /// The value that `field` must equal, when the selector says so.
    pub fn exact(&self, field: &str) -> Option<&str> {
        self.requirements
            .iter()
            .find(|requirement| {
                requirement.field == field && requirement.operator == FieldOperator::Equals
            })
            .map(|requirement| requirement.value.as_str())
    }

    /// Whether an object whose fields are told by `value` is selected.
    pub fn matches<'a>(&self, value: impl Fn(&str) -> &'a str) -> bool {
        self.requirements.iter().all(|requirement| {
            let equal = value(&requirement.field) == requirement.value;
            equal == (requirement.operator == FieldOperator::Equals)
        })
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        super::write_list(formatter, &self.requirements)
    }
}

impl fmt::Display for FieldRequirement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = match self.operator {
            FieldOperator::Equals => "=",
            FieldOperator::NotEquals => "!=",
        };
        write!(formatter, "{}{operator}{}", self.field, escape(&self.value))
    }
}

/// The parts between commas; an escaped comma is part of a term.
fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b',' => {
                terms.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn parse_term(term: &str, whole: &str) -> Result<FieldRequirement, ParseSelectorError> {
    let not_understood = || {
        ParseSelectorError::new(format!(
            "invalid selector: '{whole}'; can't understand '{term}'"
        ))
    };
    let equals = term.find('=').ok_or_else(not_understood)?;
    let (before, after) = (&term[..equals], &term[equals + 1..]);
    let (field, operator, value) = match before.strip_suffix('!') {
        Some(field) => (field, FieldOperator::NotEquals, after),
        None => (
            before,
            FieldOperator::Equals,
            after.strip_prefix('=').unwrap_or(after),
        ),
    };
    Ok(FieldRequirement {
        field: field.to_owned(),
        operator,
        value: unescape(value)?,
    })
}

fn unescape(text: &str) -> Result<String, ParseSelectorError> {
    let mut value = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => value.push(unescape_next(characters.next())?),
            ',' | '=' => {
                return Err(ParseSelectorError::new(format!(
                    "invalid field selector: unescaped character in value: {}",
                    u32::from(character)
                )));
            }
            _ => value.push(character),
        }
    }
    Ok(value)
}

fn unescape_next(character: Option<char>) -> Result<char, ParseSelectorError> {
    match character {
        Some(character @ ('\\' | ',' | '=')) => Ok(character),
        other => {
            let sequence: String = std::iter::once('\\').chain(other).collect();
            Err(ParseSelectorError::new(format!(
                "invalid field selector: invalid escape sequence: {sequence}"
            )))
        }
    }
}

fn escape(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for character in value.chars() {
        if matches!(character, '\\' | ',' | '=') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Vec<(String, FieldOperator, String)> {
        let selector = FieldSelector::parse(text).unwrap();
        let terms = selector.requirements().iter();
        terms
            .map(|term| (term.field.clone(), term.operator, term.value.clone()))
            .collect()
    }

    fn refused(text: &str) -> String {
        FieldSelector::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn terms_are_joined_by_commas() {
        use FieldOperator::{Equals, NotEquals};
        let expected = [
            ("a".to_owned(), Equals, "1".to_owned()),
            ("b".to_owned(), Equals, String::new()),
            ("c".to_owned(), NotEquals, "2".to_owned()),
        ];
        assert_eq!(parsed("c!=2,a==1,,b="), expected);
        assert!(FieldSelector::parse("").unwrap().is_everything());
        assert!(FieldSelector::parse(",=,!=").unwrap().is_everything());
    }

    #[test]
    fn escapes_stand_for_the_characters() {
        let expected = [("a".to_owned(), FieldOperator::Equals, r"x,y=z\".to_owned())];
        assert_eq!(parsed(r"a=x\,y\=z\\"), expected);
    }

    #[test]
    fn what_is_wrong_is_said_in_kubernetes_words() {
        assert_eq!(
            refused("b,a"),
            "invalid selector: 'b,a'; can't understand 'a'"
        );
        let unescaped = "invalid field selector: unescaped character in value: 61";
        assert_eq!(refused("a=b=c"), unescaped);
        let sequence = "invalid field selector: invalid escape sequence: ";
        assert_eq!(refused(r"a=\x"), format!(r"{sequence}\x"));
        assert_eq!(refused(r"a=\"), format!(r"{sequence}\"));
    }

    #[test]
    fn a_name_in_the_path_must_agree_with_the_selector() {
        let named = FieldSelector::everything().narrowed_to_name("x").unwrap();
        assert_eq!(named.to_string(), "metadata.name=x");
        assert_eq!(named.clone().narrowed_to_name("x"), Ok(named.clone()));
        let message = named.narrowed_to_name("y").unwrap_err().message;
        assert_eq!(
            message,
            "fieldSelector metadata.name doesn't match requested name"
        );
    }

    #[test]
    fn a_hundred_thousand_terms_are_read() {
        let text = "a=b,".repeat(100_000);
        assert_eq!(FieldSelector::parse(&text).unwrap().requirements().len(), 1);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in r"[ab.=!\\,\x00é ]{0,40}") {
            if let Ok(selector) = FieldSelector::parse(&text) {
                prop_assert_eq!(FieldSelector::parse(&selector.to_string()), Ok(selector));
            }
        }
    }
}
