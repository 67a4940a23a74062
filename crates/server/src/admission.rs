//! Changes an object, then judges it.
//!
//! The rules of its kind fill in and refuse; content lives in namespaces that exist and are not
//! being deleted; services get addresses and ports; whoever is configured to be is asked.

mod amounts;
mod chain;
mod conditions;
mod expressions;
mod interceptors;
mod matching;
mod namespace_lifecycle;
mod plugins;
mod policies;
mod quota;
mod request;
mod rules;
mod services;
mod webhooks;

pub(crate) use chain::Chain;
pub(crate) use interceptors::{Interceptors, configures};
pub(crate) use matching::{Operation, read_selector, selects};
pub(crate) use namespace_lifecycle::{Home, find_home, refuse_to_delete};
pub(crate) use plugins::{
    Restored, Surroundings, asks_for_what_is_stored, note_phase, restore, select,
};
pub(crate) use policies::{check_expressions, expression_warnings};
pub(crate) use quota::{Accounting, is_quota, observe as observe_quota};
pub(crate) use request::{Asked, GROUPS, USER};
pub(crate) use rules::{
    ChangeOf, adjust, apply_defaults, begin_life, change_warnings, judge_change, judge_new,
    warnings,
};
pub use services::{AddressRange, PortRange, ServiceAddresses};
pub(crate) use services::{Allocation, address_object, concerns as allocates};
