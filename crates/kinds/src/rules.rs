//! What one kind demands of its objects, as a table of functions.

use listwatch_api::FieldError;
use serde_json::Value;

/// An object before and after a change that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// As it is stored.
    pub before: &'a Value,
    /// As it is to be.
    pub next: &'a Value,
}

/// What one kind demands of its objects.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Fills in what leaving it out means. Whoever writes the object owns it as if stated.
    pub default: fn(&mut Value),
    /// Gives a new object what its kind decides at its birth, whatever the writer said: a status, a
    /// selector of its own. Nobody owns it.
    pub begin: fn(&mut Value),
    /// Gives a changed object, the second one, what its kind decides from the one before: what a
    /// new type clears, what stays as it was. Not called for changes of its status.
    pub adjust: fn(&Value, &mut Value),
    /// What is wrong with a new object.
    pub check_new: fn(&Value) -> Vec<FieldError>,
    /// What is wrong with a change through the object's own path.
    pub check_change: fn(Change<'_>) -> Vec<FieldError>,
    /// What is wrong with a change of its status.
    pub check_status: fn(Change<'_>) -> Vec<FieldError>,
    /// What the writer of this object should hear though it is taken.
    pub warn: fn(&Value) -> Vec<String>,
}

impl Rules {
    /// A kind without rules, from which others are made by naming those they have.
    pub const NONE: Self = Self {
        default: |_| {},
        begin: |_| {},
        adjust: |_, _| {},
        check_new: |_| Vec::new(),
        check_change: |_| Vec::new(),
        check_status: |_| Vec::new(),
        warn: |_| Vec::new(),
    };
}
