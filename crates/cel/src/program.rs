//! An expression that is ready to be evaluated.

use crate::ast::Expression;
use crate::checker::Checked;
use crate::error::EvaluationError;
use crate::estimate::{self, CostEstimate, Sizes};
use crate::evaluate::{self, Bindings, Budget};
use crate::plan::Node;
use crate::types::Type;
use crate::value::Value;

/// An expression that is ready to be evaluated, as often as needed and by many at once.
#[derive(Debug)]
pub struct Program {
    pub(crate) expression: Expression,
    pub(crate) checked: Checked,
    pub(crate) plan: Node,
}

impl Program {
    /// The type of what the expression yields.
    pub fn output_type(&self) -> &Type {
        &self.checked.types[self.expression.id]
    }

    /// What evaluating the expression may cost, given how large its data may be.
    pub fn estimate(&self, sizes: Sizes<'_>) -> CostEstimate {
        estimate::estimate(&self.expression, &self.checked, sizes)
    }

    /// The value of the expression. What that costs is taken from the budget, which ends the
    /// evaluation when it is
    /// spent.
    pub fn evaluate<'a>(
        &self,
        bindings: &Bindings<'a>,
        budget: &mut Budget,
    ) -> Result<Value<'a>, EvaluationError> {
        evaluate::evaluate(&self.plan, bindings, budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_shared_by_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Program>();
        shared::<Bindings<'static>>();
    }
}
