//! What to do to evaluate an expression: names resolved to places, constant parts computed once.

mod build;

use std::sync::Arc;

use regex::Regex;

use crate::ast::Presence;
use crate::library::Function;
use crate::library::declarations::Overload;
use crate::value::Value;

pub(crate) use build::plan;

/// One step of an evaluation.
#[derive(Debug)]
pub(crate) enum Node {
    Constant(Value<'static>),
    Attribute(Box<Attribute>),
    /// Whether the last qualifier of an attribute finds something.
    Presence(Box<Attribute>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Equality(Box<Equality>),
    NotStrictlyFalse(Box<Node>),
    Call(Box<CallNode>),
    /// The first of two optional values that is present.
    OptionalOr(Box<(Node, Node)>),
    /// What is in an optional value, or another value.
    OptionalOrValue(Box<(Node, Node)>),
    /// Whether a value is one of a few constants.
    Membership(Box<Membership>),
    List(Vec<(Presence, Node)>),
    Map(Vec<MapEntry>),
    Message(Box<MessageNode>),
    Fold(Box<Fold>),
}

/// Where a value comes from and what is selected from it.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) root: Root,
    pub(crate) qualifiers: Vec<Qualifier>,
}

/// Where a value comes from.
#[derive(Debug)]
pub(crate) enum Root {
    /// A variable of a fold, by its place.
    Local(usize),
    /// A variable of the environment.
    Global(String),
    Expression(Node),
    /// One of two attributes.
    Conditional(Box<Conditional>),
}

/// A choice between two attributes.
#[derive(Debug)]
pub(crate) struct Conditional {
    pub(crate) condition: Node,
    pub(crate) truthy: Attribute,
    pub(crate) falsy: Attribute,
}

/// A field, key or index.
#[derive(Debug)]
pub(crate) struct Qualifier {
    pub(crate) key: Key,
    pub(crate) mode: Mode,
}

/// What to select by.
#[derive(Debug)]
pub(crate) enum Key {
    Constant(Value<'static>),
    Attribute(Attribute),
}

/// How to select.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It must be there.
    Plain,
    /// It may be absent.
    Optional,
    /// Only whether it is there.
    Test,
}

/// Whether two values are the same, or are not.
#[derive(Debug)]
pub(crate) struct Equality {
    pub(crate) one: Node,
    pub(crate) other: Node,
    pub(crate) wanted: bool,
}

/// A function and its arguments, the target first.
#[derive(Debug)]
pub(crate) struct CallNode {
    pub(crate) function: String,
    /// The overload, where types leave only one.
    pub(crate) overload: Option<&'static str>,
    pub(crate) action: Action,
    pub(crate) arguments: Vec<Node>,
}

/// How a call finds what to do.
#[derive(Debug)]
pub(crate) enum Action {
    /// One function that looks at its arguments itself.
    Direct(Function),
    /// The function of the first overload that the arguments fit.
    Dispatch(Vec<(&'static Overload, Function)>),
    /// A pattern that is known beforehand.
    Pattern(Arc<Regex>),
}

/// A value and the constants that it may be one of.
#[derive(Debug)]
pub(crate) struct Membership {
    pub(crate) value: Node,
    pub(crate) among: Vec<Value<'static>>,
}

/// An entry of a map that is built.
#[derive(Debug)]
pub(crate) struct MapEntry {
    pub(crate) presence: Presence,
    pub(crate) key: Node,
    pub(crate) value: Node,
}

/// An object that is built.
#[derive(Debug)]
pub(crate) struct MessageNode {
    pub(crate) type_name: Arc<str>,
    pub(crate) fields: Vec<(Presence, String, Node)>,
}

/// A fold over a range.
#[derive(Debug)]
pub(crate) struct Fold {
    pub(crate) range: Node,
    pub(crate) initial: Node,
    pub(crate) condition: Node,
    pub(crate) step: Node,
    pub(crate) result: Node,
    pub(crate) variables: Variables,
}

/// How many variables a fold has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variables {
    /// The element, or the key.
    One,
    /// The index and the element, or the key and the value.
    Two,
}
