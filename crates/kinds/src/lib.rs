//! What built-in kinds fill in and refuse, beyond the shape of their objects and the rules of
//! metadata that all kinds share.
//!
//! Pure functions on trees: no clock, no store, no request. Objects are in the version in which
//! they are stored, and have the members that decoding always gives them.

#[allow(dead_code, unused_imports)]
mod field;
mod rules;
mod workloads;

pub use rules::{Change, Rules};

/// The rules of a kind; `None` for one that takes whatever fits its shape.
pub fn rules(group: &str, resource: &str) -> Option<&'static Rules> {
    match (group, resource) {
        ("", "pods") => Some(&workloads::PODS),
        _ => None,
    }
}
