//! Reads an expression into a tree: the grammar, and the limits that keep it small.

mod literals;
mod macros;

use crate::ast::{
    Call, Element, Entry, Expression, Field, Kind, Message, NodeId, Presence, Purpose, Select,
};
use crate::lexer::{self, Token, TokenKind};
use crate::names::is_reserved;
use crate::source::Issue;
use crate::value::Value;

/// Longest expression, in characters.
const CHARACTERS_MAX: usize = 100_000;

/// How deep parts of an expression may stand inside one another.
const DEPTH_MAX: usize = 250;

const EXPRESSION_START: &str = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', \
    NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

const ARGUMENTS_START: &str = "{'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', \
    NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
const INDEX_START: &str = "{'[', '{', '(', '.', '-', '!', '?', 'true', 'false', 'null', \
    NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
const LIST_START: &str = "{'[', ']', '{', '(', '.', ',', '-', '!', '?', 'true', 'false', \
    'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
const MAP_START: &str = "{'[', '{', '}', '(', '.', ',', '-', '!', '?', 'true', 'false', \
    'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

/// A tree with as many nodes as `nodes` says.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) expression: Expression,
    pub(crate) nodes: usize,
}

/// Reads an expression, or says all that is wrong with it.
pub(crate) fn parse(source: &str) -> Result<Parsed, Vec<Issue>> {
    let characters = source.chars().count();
    if characters > CHARACTERS_MAX {
        let message = format!(
            "expression code point size exceeds limit: size: {characters}, limit {CHARACTERS_MAX}"
        );
        return Err(vec![Issue::nowhere(message)]);
    }
    let (tokens, mut issues) = lexer::tokens(source);
    let mut parser = Parser {
        tokens,
        position: 0,
        nodes: 0,
        depth: 0,
        issues: Vec::new(),
    };
    let outcome = parser.start();
    issues.append(&mut parser.issues);
    match outcome {
        Ok(expression) if issues.is_empty() => Ok(Parsed {
            expression,
            nodes: parser.nodes,
        }),
        Ok(_) => Err(issues),
        Err(Stop(issue)) => {
            issues.push(issue);
            Err(issues)
        }
    }
}

/// Why reading cannot go on.
struct Stop(Issue);

type Parse<T> = Result<T, Stop>;

/// How tightly an operator binds, the loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Or,
    And,
    Relation,
    Sum,
    Product,
}

impl Level {
    fn tighter(self) -> Option<Self> {
        match self {
            Self::Or => Some(Self::And),
            Self::And => Some(Self::Relation),
            Self::Relation => Some(Self::Sum),
            Self::Sum => Some(Self::Product),
            Self::Product => None,
        }
    }
}

fn level(token: Token<'_>) -> Option<Level> {
    if token.kind != TokenKind::Symbol {
        return None;
    }
    match token.text {
        "||" => Some(Level::Or),
        "&&" => Some(Level::And),
        "<" | "<=" | ">" | ">=" | "==" | "!=" | "in" => Some(Level::Relation),
        "+" | "-" => Some(Level::Sum),
        "*" | "/" | "%" => Some(Level::Product),
        _ => None,
    }
}

struct Parser<'s> {
    tokens: Vec<Token<'s>>,
    position: usize,
    nodes: usize,
    /// How deep what is being read stands inside the expression.
    depth: usize,
    /// What is wrong but does not keep the rest from being read.
    issues: Vec<Issue>,
}

impl<'s> Parser<'s> {
    fn start(&mut self) -> Parse<Expression> {
        let expression = self.expression()?;
        let token = self.peek();
        if token.kind == TokenKind::End {
            return Ok(expression);
        }
        let last = self
            .tokens
            .get(self.position + 1)
            .is_none_or(|next| next.kind == TokenKind::End);
        let manner = if last { "extraneous" } else { "mismatched" };
        Err(syntax(
            token,
            format!("{manner} input '{}' expecting <EOF>", token.text),
        ))
    }

    fn peek(&self) -> Token<'s> {
        self.tokens[self.position.min(self.tokens.len() - 1)]
    }

    fn advance(&mut self) -> Token<'s> {
        let token = self.peek();
        self.position += 1;
        token
    }

    fn is_symbol(&self, symbol: &str) -> bool {
        let token = self.peek();
        token.kind == TokenKind::Symbol && token.text == symbol
    }

    fn take_symbol(&mut self, symbol: &str) -> Option<Token<'s>> {
        self.is_symbol(symbol).then(|| self.advance())
    }

    /// Takes the symbol that must follow, with the message that its absence gets.
    fn expect(&mut self, symbol: &str, absence: Absence) -> Parse<Token<'s>> {
        if let Some(token) = self.take_symbol(symbol) {
            return Ok(token);
        }
        let token = self.peek();
        let expected = match absence {
            Absence::Missing => format!("'{symbol}'"),
            Absence::OneOf(expected) => expected.to_owned(),
        };
        let next_fits = self.tokens.get(self.position + 1).is_some_and(|next| {
            next.kind == TokenKind::Symbol && expected.contains(&format!("'{}'", next.text))
        });
        let follows = match symbol {
            ":" => begins_expression(token),
            _ => matches!(absence, Absence::Missing) && token.kind == TokenKind::End,
        };
        Err(match (next_fits, follows) {
            (true, _) => syntax(
                token,
                format!("extraneous input '{}' expecting {expected}", token.text),
            ),
            (false, true) => syntax(token, format!("missing '{symbol}' at '{}'", token.text)),
            (false, false) => syntax(
                token,
                format!("mismatched input '{}' expecting {expected}", token.text),
            ),
        })
    }

    fn node(&mut self, offset: usize, kind: Kind) -> Expression {
        let id: NodeId = self.nodes;
        self.nodes += 1;
        Expression { id, offset, kind }
    }

    fn call(&mut self, offset: usize, function: &str, arguments: Vec<Expression>) -> Expression {
        let call = Call {
            function: function.to_owned(),
            target: None,
            arguments,
        };
        self.node(offset, Kind::Call(call))
    }

    fn expression(&mut self) -> Parse<Expression> {
        self.deeper()?;
        let before = self.depth;
        let condition = self.binary(Level::Or)?;
        let result = match self.take_symbol("?") {
            None => condition,
            Some(operator) => {
                let truthy = self.binary(Level::Or)?;
                self.expect(":", Absence::OneOf("':'"))?;
                let falsy = self.expression()?;
                self.call(operator.offset, "_?_:_", vec![condition, truthy, falsy])
            }
        };
        self.depth = before - 1;
        Ok(result)
    }

    /// One step further down; at the bound the expression is refused.
    fn deeper(&mut self) -> Parse<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Stop(Issue::nowhere(format!(
                "expression recursion limit exceeded: {DEPTH_MAX}"
            ))));
        }
        Ok(())
    }

    /// Operands joined by operators that bind at least as tightly as `loosest`.
    fn binary(&mut self, loosest: Level) -> Parse<Expression> {
        let before = self.depth;
        let mut left = self.unary()?;
        while let Some(level) = level(self.peek()).filter(|level| *level >= loosest) {
            let operator = self.advance();
            if level > Level::And {
                self.deeper()?;
            }
            let right = match level.tighter() {
                Some(tighter) => self.binary(tighter)?,
                None => self.unary()?,
            };
            left = self.joined(operator, left, right);
        }
        self.depth = before;
        Ok(left)
    }

    /// Two operands as a call. Terms of one logical operator become one call with as many
    /// arguments.
    fn joined(
        &mut self,
        operator: Token<'s>,
        mut left: Expression,
        right: Expression,
    ) -> Expression {
        let function = match operator.text {
            "in" => "@in".to_owned(),
            text => format!("_{text}_"),
        };
        if let Kind::Call(call) = &mut left.kind
            && call.function == function
            && matches!(operator.text, "&&" | "||")
        {
            call.arguments.push(right);
            return left;
        }
        self.call(operator.offset, &function, vec![left, right])
    }

    fn unary(&mut self) -> Parse<Expression> {
        if self.is_symbol("!") {
            return self.repeated("!", "!_");
        }
        if self.is_symbol("-") && !self.negative_number() {
            return self.repeated("-", "-_");
        }
        self.member()
    }

    fn negative_number(&self) -> bool {
        self.tokens
            .get(self.position + 1)
            .is_some_and(|next| matches!(next.kind, TokenKind::Integer | TokenKind::Float))
    }

    fn repeated(&mut self, symbol: &str, function: &str) -> Parse<Expression> {
        let offset = self.peek().offset;
        let mut count = 0;
        while self.take_symbol(symbol).is_some() {
            count += 1;
        }
        if self.peek().kind == TokenKind::End {
            let token = self.peek();
            return Err(syntax(
                token,
                format!(
                    "extraneous input '{}' expecting {EXPRESSION_START}",
                    token.text
                ),
            ));
        }
        let operand = self.member()?;
        Ok(if count % 2 == 0 {
            operand
        } else {
            self.call(offset, function, vec![operand])
        })
    }

    fn member(&mut self) -> Parse<Expression> {
        let before = self.depth;
        let mut operand = self.primary()?;
        loop {
            if let Some(dot) = self.take_symbol(".") {
                operand = self.after_dot(dot, operand)?;
            } else if let Some(bracket) = self.take_symbol("[") {
                let function = if self.take_symbol("?").is_some() {
                    "_[?_]"
                } else {
                    "_[_]"
                };
                self.not_at_end(INDEX_START)?;
                let index = self.expression()?;
                self.expect("]", Absence::Missing)?;
                operand = self.call(bracket.offset, function, vec![operand, index]);
            } else {
                break;
            }
            self.deeper()?;
        }
        self.depth = before;
        Ok(operand)
    }

    fn after_dot(&mut self, dot: Token<'s>, operand: Expression) -> Parse<Expression> {
        let optional = self.take_symbol("?").is_some();
        let name = self.field_name()?;
        if optional {
            let field = self.node(
                name.offset,
                Kind::Literal(Value::from(name.text.to_owned())),
            );
            return Ok(self.call(dot.offset, "_?._", vec![operand, field]));
        }
        if let Some(open) = self.take_symbol("(") {
            let arguments = self.arguments()?;
            return Ok(self.method(open.offset, name.text, operand, arguments));
        }
        let select = Select {
            operand: Box::new(operand),
            field: name.text.to_owned(),
            purpose: Purpose::Read,
        };
        Ok(self.node(dot.offset, Kind::Select(select)))
    }

    fn field_name(&mut self) -> Parse<Token<'s>> {
        let token = self.advance();
        match token.kind {
            TokenKind::Identifier => Ok(token),
            TokenKind::EscapedIdentifier => Ok(Token {
                text: token.text.trim_matches('`'),
                ..token
            }),
            TokenKind::Symbol if matches!(token.text, "true" | "false" | "null") => Err(syntax(
                token,
                format!("mismatched input '{}' expecting IDENTIFIER", token.text),
            )),
            TokenKind::End => Err(syntax(
                token,
                "no viable alternative at input '.'".to_owned(),
            )),
            _ => Err(syntax(
                token,
                format!("no viable alternative at input '.{}'", token.text),
            )),
        }
    }

    fn arguments(&mut self) -> Parse<Vec<Expression>> {
        let mut arguments = Vec::new();
        if self.take_symbol(")").is_some() {
            return Ok(arguments);
        }
        self.not_at_end(ARGUMENTS_START)?;
        loop {
            arguments.push(self.expression()?);
            if self.take_symbol(",").is_none() {
                break;
            }
        }
        self.expect(")", Absence::OneOf("{')', ','}"))?;
        Ok(arguments)
    }

    fn primary(&mut self) -> Parse<Expression> {
        let token = self.peek();
        match (token.kind, token.text) {
            (TokenKind::Identifier, _) => self.name(""),
            (TokenKind::Symbol, ".") => {
                self.advance();
                self.name(".")
            }
            (TokenKind::Symbol, "(") => {
                self.advance();
                let inner = self.expression()?;
                self.expect(")", Absence::Missing)?;
                Ok(inner)
            }
            (TokenKind::Symbol, "[") => self.list(),
            (TokenKind::Symbol, "{") => self.map(),
            _ => self.literal(),
        }
    }

    /// A variable, a function call or the name of an object that is built.
    fn name(&mut self, prefix: &str) -> Parse<Expression> {
        let token = self.advance();
        if token.kind != TokenKind::Identifier {
            return Err(syntax(
                token,
                format!("no viable alternative at input '{prefix}{}'", token.text),
            ));
        }
        if let Some(type_name) = self.message_name(token, prefix) {
            return self.message(type_name);
        }
        if is_reserved(token.text) {
            self.issues.push(Issue::at(
                token.offset,
                format!("reserved identifier: {}", token.text),
            ));
        }
        let name = format!("{prefix}{}", token.text);
        match self.take_symbol("(") {
            Some(open) => {
                let arguments = self.arguments()?;
                Ok(self.function(open.offset, &name, arguments))
            }
            None => Ok(self.node(token.offset, Kind::Identifier(name))),
        }
    }

    /// The dotted name up to `{`, if that is what comes.
    fn message_name(&mut self, first: Token<'s>, prefix: &str) -> Option<String> {
        let mut name = format!("{prefix}{}", first.text);
        let mut position = self.position;
        loop {
            let token = self.tokens.get(position)?;
            match (token.kind, token.text) {
                (TokenKind::Symbol, "{") => {
                    self.position = position;
                    return Some(name);
                }
                (TokenKind::Symbol, ".") => {
                    let next = self
                        .tokens
                        .get(position + 1)
                        .filter(|next| next.kind == TokenKind::Identifier)?;
                    name.push('.');
                    name.push_str(next.text);
                    position += 2;
                }
                _ => return None,
            }
        }
    }

    fn message(&mut self, type_name: String) -> Parse<Expression> {
        let open = self.advance();
        let mut fields = Vec::new();
        while !self.is_symbol("}") {
            let presence = self.presence();
            let name = self.field_name()?;
            let colon = self.expect(":", Absence::Missing)?;
            let value = self.expression()?;
            fields.push(Field {
                offset: colon.offset,
                presence,
                name: name.text.to_owned(),
                value,
            });
            if self.take_symbol(",").is_none() {
                break;
            }
        }
        self.expect("}", Absence::OneOf("{'}', ','}"))?;
        Ok(self.node(open.offset, Kind::Message(Message { type_name, fields })))
    }

    fn presence(&mut self) -> Presence {
        match self.take_symbol("?") {
            Some(_) => Presence::Optional,
            None => Presence::Always,
        }
    }

    fn list(&mut self) -> Parse<Expression> {
        let open = self.advance();
        self.not_at_end(LIST_START)?;
        let mut elements = Vec::new();
        while !self.is_symbol("]") {
            let presence = self.presence();
            elements.push(Element {
                presence,
                value: self.expression()?,
            });
            if self.take_symbol(",").is_none() {
                break;
            }
        }
        self.expect("]", Absence::OneOf("{']', ','}"))?;
        Ok(self.node(open.offset, Kind::List(elements)))
    }

    fn map(&mut self) -> Parse<Expression> {
        let open = self.advance();
        self.not_at_end(MAP_START)?;
        let mut entries = Vec::new();
        while !self.is_symbol("}") {
            let presence = self.presence();
            let key = self.expression()?;
            self.expect(":", Absence::OneOf("':'"))?;
            entries.push(Entry {
                presence,
                key,
                value: self.expression()?,
            });
            if self.take_symbol(",").is_none() {
                break;
            }
        }
        self.expect("}", Absence::OneOf("{'}', ','}"))?;
        Ok(self.node(open.offset, Kind::Map(entries)))
    }

    /// Refuses an expression that ends where more must follow.
    fn not_at_end(&self, expected: &str) -> Parse<()> {
        let token = self.peek();
        if token.kind != TokenKind::End {
            return Ok(());
        }
        Err(syntax(
            token,
            format!("mismatched input '{}' expecting {expected}", token.text),
        ))
    }

    /// No expression begins here: says so, in the words for one token too many or for something
    /// else entirely.
    fn no_expression(&self) -> Stop {
        let token = self.peek();
        let next_begins = self
            .tokens
            .get(self.position + 1)
            .is_some_and(|next| begins_expression(*next));
        let manner = if next_begins && token.kind != TokenKind::End {
            "extraneous"
        } else {
            "mismatched"
        };
        syntax(
            token,
            format!(
                "{manner} input '{}' expecting {EXPRESSION_START}",
                token.text
            ),
        )
    }
}

/// What to say when a symbol is not there.
#[derive(Clone, Copy)]
enum Absence {
    Missing,
    OneOf(&'static str),
}

fn syntax(token: Token<'_>, message: String) -> Stop {
    Stop(Issue::at(token.offset, format!("Syntax error: {message}")))
}

fn begins_expression(token: Token<'_>) -> bool {
    match token.kind {
        TokenKind::End | TokenKind::EscapedIdentifier => false,
        TokenKind::Symbol => {
            matches!(
                token.text,
                "[" | "{" | "(" | "." | "-" | "!" | "true" | "false" | "null"
            )
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests;
