//! Fields that are amounts of resources.

pub(crate) use listwatch_api::Quantity;

use super::{Field, IS_NEGATIVE, IS_NOT_POSITIVE};

impl Field<'_, '_> {
    /// The amount; an absent one is zero.
    pub(crate) fn quantity(&self) -> Quantity {
        Quantity::parse(self.text()).unwrap_or_default()
    }
}

/// Refuses an amount below zero.
pub(crate) fn non_negative_quantity(amount: &Field<'_, '_>) {
    if amount.quantity() < Quantity::ZERO {
        amount.invalid(IS_NEGATIVE);
    }
}

/// Demands an amount above zero.
pub(crate) fn positive_quantity(amount: &Field<'_, '_>) {
    if amount.quantity() <= Quantity::ZERO {
        amount.invalid(IS_NOT_POSITIVE);
    }
}
