//! The way to a value that is being looked at, written down only when something is wrong there.

use std::fmt;

use listwatch_api::FieldPath;

/// One step of the way, on the stack of whoever walks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ValuePath<'a> {
    /// Where the walk began.
    Start,
    /// A field with a schema of its own.
    Field(&'a ValuePath<'a>, &'a str),
    /// An entry of a map.
    Entry(&'a ValuePath<'a>, &'a str),
    /// An element of a list.
    Element(&'a ValuePath<'a>, usize),
}

impl ValuePath<'_> {
    /// The way as schemas' messages write it, in which entries look like fields.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Start => String::new(),
            Self::Field(Self::Start, name) => (*name).to_owned(),
            Self::Field(parent, name) | Self::Entry(parent, name) => {
                format!("{}.{name}", parent.name())
            }
            Self::Element(parent, index) => format!("{}[{index}]", parent.name()),
        }
    }

    /// The way as a field of the object, in which entries stand in brackets.
    pub(crate) fn field(&self, start: Option<&FieldPath>) -> FieldPath {
        match self {
            Self::Start => start.cloned().unwrap_or_else(FieldPath::root),
            Self::Field(parent, name) => parent.field(start).child(name),
            Self::Entry(parent, name) => parent.field(start).key(name),
            Self::Element(parent, index) => parent.field(start).index(*index),
        }
    }
}

impl fmt::Display for ValuePath<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name())
    }
}
