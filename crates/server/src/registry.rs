//! Which kinds exist and how each behaves, as data.

mod definition;

pub use definition::{
    Conversion, Definition, Generation, Naming, Scope, SelectableField, Subresource, Verb,
};
