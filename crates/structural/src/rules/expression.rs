//! Expressions of rules, compiled against the schema of their values.

use std::sync::Arc;

use listwatch_cel::{Environment, Program, Schema, Sizes, Type};

use crate::node::Rule;

/// Objects in expressions are of types named after this.
const TYPE_NAME: &str = "selfType";

/// Whether the value of before may be absent when a rule asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OldSelf {
    /// The rule is asked only when there is one.
    Present,
    Optional,
}

impl OldSelf {
    pub(crate) fn of(rule: &Rule) -> Self {
        match rule.optional_old_self {
            Some(true) => Self::Optional,
            Some(false) | None => Self::Present,
        }
    }
}

/// An expression that is ready.
#[derive(Clone, Debug)]
pub(crate) struct Compiled {
    pub(crate) program: Arc<Program>,
    pub(crate) uses_old_self: bool,
    /// What it may cost at most.
    pub(crate) cost_max: u64,
}

/// Compiles the condition of a rule, or says why it is none.
pub(crate) fn condition(
    source: &str,
    schema: &Schema,
    old_self: OldSelf,
) -> Result<Compiled, String> {
    let compiled = compile(source, schema, old_self)
        .map_err(|problem| format!("compilation failed: {problem}"))?;
    match compiled.program.output_type() {
        Type::Bool => Ok(compiled),
        _ => Err("cel expression must evaluate to a bool".to_owned()),
    }
}

/// Compiles the expression that makes the message of a rule, or says why it is none.
pub(crate) fn message(
    source: &str,
    schema: &Schema,
    old_self: OldSelf,
) -> Result<Compiled, String> {
    let compiled = compile(source, schema, old_self)
        .map_err(|problem| format!("messageExpression compilation failed: {problem}"))?;
    match compiled.program.output_type() {
        Type::String => Ok(compiled),
        _ => Err("messageExpression must evaluate to a string".to_owned()),
    }
}

fn compile(source: &str, schema: &Schema, old_self: OldSelf) -> Result<Compiled, String> {
    let alone = Environment::kubernetes().with_data("self", TYPE_NAME, schema);
    let declared = schema.declared_type(TYPE_NAME);
    let both = alone.clone().with_variable(
        "oldSelf",
        match old_self {
            OldSelf::Present => declared,
            OldSelf::Optional => Type::optional(declared),
        },
    );
    let program = both.compile(source).map_err(|error| error.to_string())?;
    Ok(Compiled {
        uses_old_self: source.contains("oldSelf") && alone.compile(source).is_err(),
        cost_max: program.estimate(Sizes::Root(schema)).max,
        program: Arc::new(program),
    })
}
