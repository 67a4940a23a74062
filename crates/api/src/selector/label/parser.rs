//! The grammar of label selectors, with the errors of Kubernetes' own parser.

use super::{LabelOperator, LabelRequirement};
use crate::field_error::{FIELD_ERRORS_MAX, FieldError, FieldPath, aggregate};
use crate::go_text;
use crate::name;
use crate::selector::ParseSelectorError;

/// Reads all conditions of a selector, in the order in which they stand.
pub(super) fn parse(text: &str) -> Result<Vec<LabelRequirement>, ParseSelectorError> {
    let mut parser = Parser {
        lexer: Lexer { rest: text },
        next: Token::End,
    };
    parser.next = parser.lexer.next_token();
    parser.selector().map_err(ParseSelectorError::new)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    End,
    ClosingParenthesis,
    OpeningParenthesis,
    Comma,
    Not,
    Equals,
    DoubleEquals,
    NotEquals,
    GreaterThan,
    LessThan,
    /// A key, a value, or one of the words `in` and `notin`.
    Word(&'a str),
}

impl<'a> Token<'a> {
    fn text(self) -> &'a str {
        match self {
            Token::End => "",
            Token::ClosingParenthesis => ")",
            Token::OpeningParenthesis => "(",
            Token::Comma => ",",
            Token::Not => "!",
            Token::Equals => "=",
            Token::DoubleEquals => "==",
            Token::NotEquals => "!=",
            Token::GreaterThan => ">",
            Token::LessThan => "<",
            Token::Word(text) => text,
        }
    }
}

struct Lexer<'a> {
    rest: &'a str,
}

impl<'a> Lexer<'a> {
    fn next_token(&mut self) -> Token<'a> {
        self.rest = self.rest.trim_start_matches(is_blank);
        let token = match self.rest.as_bytes() {
            // Another zero byte ends the text for Kubernetes, whatever comes after it.
            [] | [0, ..] => return Token::End,
            [b'=', b'=', ..] => Token::DoubleEquals,
            [b'!', b'=', ..] => Token::NotEquals,
            [b'=', ..] => Token::Equals,
            [b'!', ..] => Token::Not,
            [b'(', ..] => Token::OpeningParenthesis,
            [b')', ..] => Token::ClosingParenthesis,
            [b',', ..] => Token::Comma,
            [b'>', ..] => Token::GreaterThan,
            [b'<', ..] => Token::LessThan,
            _ => return self.word(),
        };
        self.skip(token.text().len());
        token
    }

    fn word(&mut self) -> Token<'a> {
        let ends_word = |character| is_blank(character) || "=!(),><\0".contains(character);
        let end = self.rest.find(ends_word).unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        self.skip(end);
        Token::Word(word)
    }

    /// A zero byte right behind a token goes with it.
    fn skip(&mut self, length: usize) {
        let rest = &self.rest[length..];
        self.rest = rest.strip_prefix('\0').unwrap_or(rest);
    }
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n')
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    next: Token<'a>,
}

impl<'a> Parser<'a> {
    fn selector(&mut self) -> Result<Vec<LabelRequirement>, String> {
        let mut requirements = Vec::new();
        match self.next {
            Token::End => return Ok(requirements),
            Token::Word(_) | Token::Not => {}
            other => {
                return Err(found(
                    other,
                    ", expected: !, identifier, or 'end of string'",
                ));
            }
        }
        loop {
            let requirement = self.requirement();
            requirements.push(
                requirement.map_err(|error| format!("unable to parse requirement: {error}"))?,
            );
            match self.take() {
                Token::End => return Ok(requirements),
                Token::Comma => {}
                other => return Err(found(other, ", expected: ',' or 'end of string'")),
            }
            if !matches!(self.next, Token::Word(_) | Token::Not) {
                return Err(found(self.next, ", expected: identifier after ','"));
            }
        }
    }

    fn requirement(&mut self) -> Result<LabelRequirement, String> {
        let negated = self.next == Token::Not;
        if negated {
            self.take();
        }
        let key = match self.take() {
            Token::Word(key) => key,
            other => return Err(found(other, ", expected: identifier")),
        };
        check_key(key)?;
        let operator = match self.next {
            _ if negated => LabelOperator::DoesNotExist,
            Token::End | Token::Comma => LabelOperator::Exists,
            _ => self.operator(key)?,
        };
        Ok(LabelRequirement {
            key: key.to_owned(),
            operator,
        })
    }

    fn operator(&mut self, key: &str) -> Result<LabelOperator, String> {
        match self.take() {
            Token::Word("in") => self.value_set(key).map(LabelOperator::In),
            Token::Word("notin") => self.value_set(key).map(LabelOperator::NotIn),
            Token::Equals | Token::DoubleEquals => self
                .exact_value(key)
                .map(|value| LabelOperator::In(vec![value])),
            Token::NotEquals => self
                .exact_value(key)
                .map(|value| LabelOperator::NotIn(vec![value])),
            Token::GreaterThan => self.number(key).map(LabelOperator::GreaterThan),
            Token::LessThan => self.number(key).map(LabelOperator::LessThan),
            other => Err(found(other, ", expected: in, notin, =, ==, !=, gt, lt")),
        }
    }

    fn value_set(&mut self, key: &str) -> Result<Vec<String>, String> {
        match self.take() {
            Token::OpeningParenthesis => {}
            other => return Err(found(other, " expected: '('")),
        }
        let mut values = match self.next {
            Token::Word(_) | Token::Comma => self.values()?,
            Token::ClosingParenthesis => vec![""],
            other => return Err(found(other, ", expected: ',', ')' or identifier")),
        };
        self.take();
        values.sort_unstable();
        values.dedup();
        check_values(key, &values)?;
        Ok(values.into_iter().map(str::to_owned).collect())
    }

    /// Values up to the closing parenthesis, which stays. Nothing beside a comma is an empty value.
    fn values(&mut self) -> Result<Vec<&'a str>, String> {
        let mut values = Vec::new();
        loop {
            match self.take() {
                Token::Word(value) => {
                    values.push(value);
                    match self.next {
                        Token::Comma => {}
                        Token::ClosingParenthesis => return Ok(values),
                        other => return Err(found(other, ", expected: ',' or ')'")),
                    }
                }
                Token::Comma => {
                    if values.is_empty() || self.next == Token::Comma {
                        values.push("");
                    }
                    if self.next == Token::ClosingParenthesis {
                        values.push("");
                        return Ok(values);
                    }
                }
                other => return Err(found(other, ", expected: ',', or identifier")),
            }
        }
    }

    fn exact_value(&mut self, key: &str) -> Result<String, String> {
        let value = self.single_value()?;
        check_values(key, &[value])?;
        Ok(value.to_owned())
    }

    fn number(&mut self, key: &str) -> Result<i64, String> {
        let value = self.single_value()?;
        let number = value.parse();
        let mut errors = Vec::new();
        if number.is_err() {
            let why = "for 'Gt', 'Lt' operators, the value must be an integer";
            errors.push(FieldError::invalid(
                &FieldPath::new("values").index(0),
                value,
                why,
            ));
        }
        errors.extend(value_errors(key, &[value]));
        match number {
            Ok(number) if errors.is_empty() => Ok(number),
            _ => Err(aggregate(&errors)),
        }
    }

    fn single_value(&mut self) -> Result<&'a str, String> {
        if matches!(self.next, Token::End | Token::Comma) {
            return Ok("");
        }
        match self.take() {
            Token::Word(value) => Ok(value),
            other => Err(found(other, ", expected: identifier")),
        }
    }

    fn take(&mut self) -> Token<'a> {
        let following = self.lexer.next_token();
        std::mem::replace(&mut self.next, following)
    }
}

fn found(token: Token<'_>, expected: &str) -> String {
    format!("found '{}'{expected}", token.text())
}

fn check_key(key: &str) -> Result<(), String> {
    match name::check_qualified_name(key).as_slice() {
        [] => Ok(()),
        problems => {
            let quoted = go_text::quote(key);
            Err(format!(
                "<nil>: Invalid value: {quoted}: {}",
                problems.join("; ")
            ))
        }
    }
}

fn check_values(key: &str, values: &[&str]) -> Result<(), String> {
    match value_errors(key, values).as_slice() {
        [] => Ok(()),
        errors => Err(aggregate(errors)),
    }
}

fn value_errors(key: &str, values: &[&str]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, value) in values.iter().enumerate() {
        let problems = name::check_label_value(value);
        if !problems.is_empty() && errors.len() < FIELD_ERRORS_MAX {
            let path = FieldPath::new("values").index(index).key(key);
            errors.push(FieldError::invalid(&path, *value, &problems.join("; ")));
        }
    }
    errors
}
