//! Kinds that show little: names, ages, counts and dates of creation.

use jiff::Timestamp;
use serde_json::Value;

use super::{
    field::Field,
    printer::{Printers, cells},
    text::age,
};

pub(super) const PRINTERS: Printers = &[
    ("configmaps", config_map),
    ("secrets", secret),
    ("serviceaccounts", name_and_age),
    ("limitranges", name_and_creation),
    ("roles.rbac.authorization.k8s.io", name_and_creation),
    ("clusterroles.rbac.authorization.k8s.io", name_and_creation),
    ("csistoragecapacities.storage.k8s.io", name_and_creation),
    ("deviceclasses.resource.k8s.io", name_and_age),
    ("resourceclaimtemplates.resource.k8s.io", name_and_age),
];

/// What is printed of a kind that says nothing else about itself.
pub(super) fn name_and_age(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    cells![object.name(), age(object, now)]
}

fn name_and_creation(object: Field<'_>, _now: Timestamp) -> Vec<Value> {
    cells![object.name(), created_at(object)]
}

/// The time of creation; objects without one were created in the year 1.
pub(super) fn created_at<'a>(object: Field<'a>) -> &'a str {
    object
        .get("metadata.creationTimestamp")
        .text_or("0001-01-01T00:00:00Z")
}

fn config_map(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let entries = object.member("data").count() + object.member("binaryData").count();
    cells![object.name(), entries, age(object, now)]
}

fn secret(object: Field<'_>, now: Timestamp) -> Vec<Value> {
    let kind = object.member("type").text();
    cells![
        object.name(),
        kind,
        object.member("data").count(),
        age(object, now)
    ]
}
