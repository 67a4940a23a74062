//! Mistakes that types do not show: constants that no function takes, and lists of mixed elements.

use crate::ast::{Call, Expression, Kind, NodeId, Presence};
use crate::checker::Checked;
use crate::library::format_text::{self, Clause, Piece};
use crate::library::regex;
use crate::library::time::{Duration, Timestamp};
use crate::source::Issue;
use crate::types::Type;
use crate::value::Value;

/// Everything that is wrong with an expression whose types fit.
pub(crate) fn validate(expression: &Expression, checked: &Checked) -> Vec<Issue> {
    let mut validator = Validator {
        checked,
        issues: Vec::new(),
    };
    expression.walk(&mut |node| validator.constant(node));
    validator.aggregates(expression);
    expression.walk(&mut |node| validator.format(node));
    validator.issues
}

struct Validator<'c> {
    checked: &'c Checked,
    issues: Vec<Issue>,
}

impl Validator<'_> {
    fn constant(&mut self, node: &Expression) {
        let Kind::Call(call) = &node.kind else { return };
        let Some(argument) = call.arguments.first() else {
            return;
        };
        let Kind::Literal(value) = &argument.kind else {
            return;
        };
        let valid = match (call.function.as_str(), value) {
            ("duration", Value::String(text)) => Duration::parse(text).is_some(),
            ("timestamp", Value::String(text)) => Timestamp::parse(text).is_some(),
            ("timestamp", Value::Int(seconds)) => Timestamp::from_seconds(*seconds).is_some(),
            ("matches", Value::String(pattern)) => regex::compile(pattern).is_ok(),
            _ => true,
        };
        if !valid {
            self.issues.push(Issue::at(
                argument.offset,
                format!("invalid {} argument", call.function),
            ));
        }
    }

    fn type_of(&self, id: NodeId) -> &Type {
        &self.checked.types[id]
    }

    /// Lists and maps must not mix types, save where they are the arguments of a format.
    fn aggregates(&mut self, node: &Expression) {
        match &node.kind {
            Kind::Call(call) if call.function == "format" => return,
            Kind::List(elements) => {
                let parts = elements
                    .iter()
                    .map(|element| (&element.value, element.presence));
                self.homogeneous(parts.collect());
            }
            Kind::Map(entries) => {
                self.homogeneous(
                    entries
                        .iter()
                        .map(|entry| (&entry.key, Presence::Always))
                        .collect(),
                );
                self.homogeneous(
                    entries
                        .iter()
                        .map(|entry| (&entry.value, entry.presence))
                        .collect(),
                );
            }
            _ => {}
        }
        node.children(&mut |child| self.aggregates(child));
    }

    fn homogeneous(&mut self, parts: Vec<(&Expression, Presence)>) {
        let mut parts = parts.into_iter().map(|(part, presence)| {
            let found = &self.checked.types[part.id];
            (
                part,
                if presence == Presence::Optional {
                    found.unwrapped().0
                } else {
                    found
                },
            )
        });
        let Some((_, first)) = parts.next() else {
            return;
        };
        if let Some((part, found)) = parts.find(|(_, found)| *found != first) {
            let message = format!(
                "expected type '{}' but found '{}'",
                first.shown(),
                found.shown()
            );
            self.issues.push(Issue::at(part.offset, message));
        }
    }

    fn format(&mut self, node: &Expression) {
        let Kind::Call(Call {
            function,
            target: Some(target),
            arguments,
        }) = &node.kind
        else {
            return;
        };
        let (
            Kind::Literal(Value::String(text)),
            [
                Expression {
                    kind: Kind::List(elements),
                    ..
                },
            ],
        ) = (&target.kind, &arguments[..])
        else {
            return;
        };
        if function != "format" {
            return;
        }
        let pieces = match format_text::pieces(text, elements.len()) {
            Ok(pieces) => pieces,
            Err(message) => return self.issues.push(Issue::at(node.offset, message)),
        };
        let holes = pieces.iter().filter_map(|piece| match piece {
            Piece::Hole(clause) => Some(*clause),
            Piece::Literal(_) => None,
        });
        let holes: Vec<Clause> = holes.collect();
        for (clause, element) in holes.iter().zip(elements) {
            let found = self.type_of(element.value.id);
            if !accepts(*clause, found) {
                let message = format!(
                    "error during formatting: {}",
                    format_text::refusal(*clause, found.name())
                );
                return self.issues.push(Issue::at(element.value.offset, message));
            }
        }
        if elements.len() > holes.len() {
            let message = format!(
                "too many arguments supplied to string.format (expected {}, got {})",
                holes.len(),
                elements.len()
            );
            self.issues.push(Issue::at(node.offset, message));
        }
    }
}

fn accepts(clause: Clause, found: &Type) -> bool {
    if *found == Type::Dyn {
        return true;
    }
    match clause {
        Clause::Text => !matches!(
            found,
            Type::Object(_) | Type::Named(_) | Type::Opaque(_) | Type::Optional(_)
        ),
        Clause::Decimal | Clause::Octal => matches!(found, Type::Int | Type::Uint),
        Clause::Fixed(_) | Clause::Scientific(_) => matches!(found, Type::Double | Type::String),
        Clause::Binary => matches!(found, Type::Bool | Type::Int | Type::Uint),
        Clause::Hexadecimal(_) => {
            matches!(found, Type::Int | Type::Uint | Type::String | Type::Bytes)
        }
    }
}
