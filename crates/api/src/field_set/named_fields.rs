//! Fields that lead to owned ones and count as owned with them.

use super::{FieldSet, Step, ownership::Ownership};
use crate::schema::{Schema, Shape, TypeId};

impl FieldSet {
    /// The set with all fields of structs that lead to fields in it; entries of maps and elements
    /// of lists stay out.
    #[must_use]
    pub fn with_named_fields(self, schema: &Schema, type_id: TypeId) -> Self {
        let shape = Shape::Object {
            type_id,
            atomic: false,
        };
        with_named(schema, Some(&shape), self)
    }
}

fn with_named(schema: &Schema, shape: Option<&Shape>, mut set: FieldSet) -> FieldSet {
    let Some(ownership) = shape.map(|shape| Ownership::of(schema, shape)) else {
        return set;
    };
    for node in &mut set.nodes {
        let branch = &mut node.branch;
        if branch.below.is_empty() {
            continue;
        }
        let shape = match (&node.step, ownership) {
            (Step::Field(name), _) => ownership.member(name),
            (_, Ownership::Elements(elements)) => Some(elements.shape),
            _ => None,
        };
        branch.is_member |= shape.is_some()
            && matches!((&node.step, ownership), (Step::Field(name), Ownership::Fields(_))
                if !ownership.is_entry(name));
        branch.below = with_named(schema, shape, std::mem::take(&mut branch.below));
    }
    set
}
