//! The Common Expression Language as Kubernetes speaks it: parsed, checked against types, metered
//! and evaluated.
//!
//! An [`Environment`] says what expressions may refer to and compiles them to [`Program`]s; a
//! program is evaluated
//! with [`Bindings`] and a [`Budget`].

mod admission;
mod ast;
mod checker;
mod environment;
mod error;
mod estimate;
mod evaluate;
mod lexer;
pub mod library;
pub mod names;
mod parser;
mod plan;
mod program;
pub mod schema;
mod source;
mod types;
mod validators;
pub mod value;

pub use environment::Environment;
pub use error::{CompileError, EvaluationError};
pub use estimate::{CostEstimate, Sizes};
pub use evaluate::{Bindings, Budget};
pub use program::Program;
pub use schema::Schema;
pub use source::Issue;
pub use types::{ObjectType, Openness, Type};
pub use value::Value;
