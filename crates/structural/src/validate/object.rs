//! Lists and maps: their sizes, and what is in them.

use listwatch_api::{FieldError, FieldPath};
use serde_json::{Map, Value};

use super::{Outcome, Subject, Validator};
use crate::checks::SizeChecks;
use crate::node::{Additional, Node};
use crate::value_path::ValuePath;

impl Validator<'_> {
    /// The field that messages of schemas name: entries of maps look like fields there.
    pub(super) fn named_field(self, subject: Subject<'_>) -> FieldPath {
        self.field_called(&subject.path.name())
    }

    fn field_called(self, name: &str) -> FieldPath {
        let name = name.strip_prefix('.').unwrap_or(name);
        match (self.start, name) {
            (None, "") => FieldPath::root(),
            (None, name) => FieldPath::new(name),
            (Some(start), "") => start.clone(),
            (Some(start), name) => start.child(name),
        }
    }

    /// Refuses the whole, for what has no field of its own.
    pub(super) fn refuse_whole(self, message: String, outcome: &mut Outcome) {
        let field = self.start.cloned().unwrap_or_else(FieldPath::root);
        outcome.refuse(&field, "", message);
    }

    pub(super) fn check_list(
        self,
        node: &Node,
        list: &[Value],
        subject: Subject<'_>,
        outcome: &mut Outcome,
    ) {
        let checks = node.checks().sizes();
        outcome.count(2);
        if let Some(items) = node.items() {
            for (index, value) in list.iter().enumerate() {
                let element = Subject {
                    value,
                    path: &ValuePath::Element(subject.path, index),
                    past: subject.past.and_then(|past| past.index(index)),
                };
                outcome.merge(self.ratcheted(items, element));
            }
        }
        let size = i64::try_from(list.len()).unwrap_or(i64::MAX);
        let name = || subject.path.name();
        if let Some(min) = checks.items.too_few(size) {
            let message = format!("{} in body should have at least {min} items", name());
            outcome.refuse(&self.named_field(subject), size, message);
        }
        if let Some(max) = checks.items.too_many(size) {
            let message = format!("{} in body should have at most {max} items", name());
            outcome.fail(message, self.too_many(subject, list.len(), max));
        }
        if checks.unique_items && has_duplicates(list) {
            let message = format!("{} in body shouldn't contain duplicates", name());
            outcome.refuse(&self.named_field(subject), "", message);
        }
    }

    fn too_many(self, subject: Subject<'_>, size: usize, max: i64) -> FieldError {
        let max = usize::try_from(max).unwrap_or_default();
        FieldError::too_many(&self.named_field(subject), size, max)
    }

    pub(super) fn check_members(
        self,
        node: &Node,
        members: &Map<String, Value>,
        subject: Subject<'_>,
        outcome: &mut Outcome,
    ) {
        let checks = node.checks();
        outcome.count(1);
        self.check_size(checks.sizes(), members.len(), subject, outcome);
        self.check_additional(node, members, subject, outcome);
        for (name, property) in &node.properties {
            let Some(value) = members.get(name.as_ref()) else {
                continue;
            };
            let at_start = matches!(subject.path, ValuePath::Start);
            let is_type_field = at_start && matches!(name.as_ref(), "kind" | "apiVersion");
            let past = subject.past.filter(|_| !is_type_field);
            let member = Subject {
                value,
                path: &ValuePath::Field(subject.path, name),
                past: past.and_then(|past| past.key(name)),
            };
            outcome.merge(self.ratcheted(property, member));
        }
        for name in &checks.required {
            if !members.contains_key(name.as_ref()) {
                let name = format!("{}.{name}", subject.path.name());
                let error = FieldError::required(&self.field_called(&name), "");
                outcome.fail(format!("{name} in body is required"), error);
            }
        }
    }

    fn check_size(
        self,
        checks: &SizeChecks,
        count: usize,
        subject: Subject<'_>,
        outcome: &mut Outcome,
    ) {
        let size = i64::try_from(count).unwrap_or(i64::MAX);
        let name = || subject.path.name();
        if let Some(min) = checks.properties.too_few(size) {
            let message = format!("{} in body should have at least {min} properties", name());
            outcome.refuse(&self.named_field(subject), size, message);
        }
        if let Some(max) = checks.properties.too_many(size) {
            let message = format!("{} in body should have at most {max} properties", name());
            outcome.fail(message, self.too_many(subject, count, max));
        }
    }

    fn check_additional(
        self,
        node: &Node,
        members: &Map<String, Value>,
        subject: Subject<'_>,
        outcome: &mut Outcome,
    ) {
        let each = match &node.additional {
            Additional::Unknown | Additional::Any => return,
            Additional::Refused => None,
            Additional::Each(each) => Some(each),
        };
        let further = members
            .iter()
            .filter(|(name, _)| node.property(name).is_none());
        for (name, value) in further {
            let Some(each) = each else {
                let path = subject.path.name();
                let message = format!("{path}.{name} in body is a forbidden property");
                outcome.refuse(&self.named_field(subject), name, message);
                continue;
            };
            let member = Subject {
                value,
                path: &ValuePath::Entry(subject.path, name),
                past: subject.past.and_then(|past| past.key(name)),
            };
            outcome.merge(self.ratcheted(each, member));
        }
    }
}

fn has_duplicates(list: &[Value]) -> bool {
    let mut places = list.iter().enumerate();
    places.any(|(index, value)| list[..index].contains(value))
}
