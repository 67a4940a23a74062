//! The tree of an expression, after macros are written out.

use crate::value::Value;

/// Names one node of a tree; types, references and sizes are kept by it.
pub(crate) type NodeId = usize;

/// One node of an expression.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    pub(crate) id: NodeId,
    /// Byte offset of the token that messages point at.
    pub(crate) offset: usize,
    pub(crate) kind: Kind,
}

/// What a node is.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Literal(Value<'static>),
    Identifier(String),
    Select(Select),
    Call(Call),
    List(Vec<Element>),
    Map(Vec<Entry>),
    Message(Message),
    Comprehension(Box<Comprehension>),
}

/// `operand.field`, or a test whether it is there.
#[derive(Clone, Debug)]
pub(crate) struct Select {
    pub(crate) operand: Box<Expression>,
    pub(crate) field: String,
    pub(crate) purpose: Purpose,
}

/// Why a field is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Read,
    TestPresence,
}

/// A function applied to arguments, and to a target when written after a dot.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) function: String,
    pub(crate) target: Option<Box<Expression>>,
    pub(crate) arguments: Vec<Expression>,
}

/// Whether an element, entry or field may be left out when its optional value is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Always,
    Optional,
}

/// An element of a list.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    pub(crate) presence: Presence,
    pub(crate) value: Expression,
}

/// An entry of a map.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) presence: Presence,
    pub(crate) key: Expression,
    pub(crate) value: Expression,
}

/// An object built field by field.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) type_name: String,
    pub(crate) fields: Vec<Field>,
}

/// A field of an object that is built.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) offset: usize,
    pub(crate) presence: Presence,
    pub(crate) name: String,
    pub(crate) value: Expression,
}

/// A fold over a range: what the macros become.
#[derive(Clone, Debug)]
pub(crate) struct Comprehension {
    pub(crate) range: Expression,
    pub(crate) variable: String,
    pub(crate) second_variable: Option<String>,
    pub(crate) accumulator: String,
    pub(crate) initial: Expression,
    pub(crate) condition: Expression,
    pub(crate) step: Expression,
    pub(crate) result: Expression,
}

impl Comprehension {
    /// Whether this only gives a name to a value: nothing to iterate over.
    pub(crate) fn is_binding(&self) -> bool {
        matches!(&self.range.kind, Kind::List(elements) if elements.is_empty())
            && matches!(self.condition.kind, Kind::Literal(Value::Bool(false)))
    }
}

impl Expression {
    /// `a.b.c` as one name, if it is nothing but names.
    pub(crate) fn qualified_name(&self) -> Option<String> {
        match &self.kind {
            Kind::Identifier(name) => Some(name.clone()),
            Kind::Select(select) if select.purpose == Purpose::Read => Some(format!(
                "{}.{}",
                select.operand.qualified_name()?,
                select.field
            )),
            _ => None,
        }
    }

    /// Calls `visit` for every node right under this one, in order.
    pub(crate) fn children<'e>(&'e self, visit: &mut impl FnMut(&'e Expression)) {
        match &self.kind {
            Kind::Literal(_) | Kind::Identifier(_) => {}
            Kind::Select(select) => visit(&select.operand),
            Kind::Call(call) => call
                .target
                .iter()
                .map(|target| &**target)
                .chain(&call.arguments)
                .for_each(visit),
            Kind::List(elements) => elements.iter().for_each(|element| visit(&element.value)),
            Kind::Map(entries) => entries.iter().for_each(|entry| {
                visit(&entry.key);
                visit(&entry.value);
            }),
            Kind::Message(message) => message.fields.iter().for_each(|field| visit(&field.value)),
            Kind::Comprehension(fold) => {
                [
                    &fold.range,
                    &fold.initial,
                    &fold.condition,
                    &fold.step,
                    &fold.result,
                ]
                .into_iter()
                .for_each(visit);
            }
        }
    }

    /// Calls `visit` for this node and every node under it, parents first.
    pub(crate) fn walk<'e>(&'e self, visit: &mut dyn FnMut(&'e Expression)) {
        visit(self);
        self.children(&mut |child| child.walk(visit));
    }
}
