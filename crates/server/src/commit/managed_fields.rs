//! Who owns which field: `metadata.managedFields`, kept up to date with every write.
//!
//! A write takes the fields that it changes from whoever had them. What no write changes stays as
//! it is stored, to the byte, so that a write that changes nothing writes nothing.

mod apply;
mod entry;
mod fields;
mod last_applied;
mod ledger;
mod reach;
mod views;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, sync::LazyLock};

use bytes::Bytes;
use jiff::Timestamp;
use listwatch_api::{
    field_set::{Comparison, FieldSet},
    object::{Outline, is_text_of},
};
use serde_json::{Value, json};

use self::{
    entry::{Manager, Operation},
    ledger::Ledger,
};
use super::metadata::{metadata, metadata_mut};
use crate::registry::{Conversion, Definition, Registry};

pub(crate) use apply::{Applied, ApplyError, Conflict, OnConflict};
pub(crate) use entry::manager_name;
pub(crate) use views::{NO_VIEWS, Unseen, Views};

const MEMBER: &str = "managedFields";

/// Fields that nobody owns, because the server alone decides about them.
static NOBODYS: LazyLock<FieldSet> = LazyLock::new(|| FieldSet::of_names(&NOBODYS_NAMES));

const NOBODYS_NAMES: [&[&str]; 12] = [
    &["apiVersion"],
    &["kind"],
    &["metadata"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "creationTimestamp"],
    &["metadata", "selfLink"],
    &["metadata", "uid"],
    &["metadata", "clusterName"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "resourceVersion"],
];

/// Keeps the ownership of fields for the writes of one request.
pub(crate) struct FieldTracker<'a> {
    /// The kinds and their shapes.
    pub registry: &'a Registry,
    /// The kind that is written, in the version that the client speaks.
    pub definition: &'a Definition,
    /// The part of the object that is written; `None` for the object itself.
    pub subresource: Option<&'a str>,
    /// Who writes.
    pub manager: String,
    /// When.
    pub now: Timestamp,
    /// The object as owners see it who speak other versions, where a webhook has to convert it.
    pub views: &'a Views,
}

/// How the owners of an object's fields are found when it is written.
pub(crate) enum Owners<'a> {
    /// Whoever changes a field owns it.
    Changers(&'a FieldTracker<'a>),
    /// An apply has decided.
    Decided(Ledger),
}

impl Owners<'_> {
    /// Takes what a client said about the owners out of a new object, and writes down who they are.
    pub(crate) fn settle_new(&self, object: &mut Value) -> Option<Bytes> {
        match self {
            Self::Changers(tracker) => tracker.track_create(object),
            Self::Decided(ledger) => write_down(ledger, object),
        }
    }

    /// Takes what a client said about the owners out of the next state of an object, and writes
    /// down who they are.
    pub(crate) fn settle_next(&self, current: &Outline, next: &mut Value) -> Option<Bytes> {
        match self {
            Self::Changers(tracker) => tracker.track_update(current, next),
            Self::Decided(ledger) => {
                let known = known_owners(current);
                let is_known =
                    ledger.equals_but_for_times(&known) && same_content(&current.object, next);
                match is_known {
                    true => keep(current, next),
                    false => write_down(ledger, next),
                }
            }
        }
    }
}

/// Lets an empty list of owners, which means that ownership is forgotten, survive decoding, which
/// leaves empty lists out.
pub(crate) fn keep_reset(object: &mut Value) {
    let submitted = object
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut(MEMBER));
    if let Some(Value::Array(entries)) = submitted.filter(|list| **list == json!([])) {
        entries.push(json!({}));
    }
}

impl FieldTracker<'_> {
    /// Makes the writer the owner of everything that a new object has.
    fn track_create(&self, object: &mut Value) -> Option<Bytes> {
        let ledger = match self.claim(object, None) {
            Claim::Submitted(ledger) => ledger,
            Claim::Nothing | Claim::Stored | Claim::Forgotten => Ledger::default(),
        };
        let changed = self.compare(self.definition, Earlier::Nothing, object);
        self.record(ledger, changed, Earlier::Nothing, object)
    }

    /// Makes the writer the owner of everything that it changes in an object.
    ///
    /// An object whose owners were forgotten has none until somebody applies to it.
    fn track_update(&self, current: &Outline, next: &mut Value) -> Option<Bytes> {
        let stored = current.managed_fields.as_ref();
        let claim = self.claim(next, stored);
        if self.views.are_given_up() {
            return keep(current, next);
        }
        let earlier = Earlier::State(&current.object);
        let changed = self.compare(self.definition, earlier, next);
        let ledger = match (claim, stored) {
            (Claim::Forgotten, _) | (Claim::Nothing | Claim::Stored, None) => return None,
            (Claim::Nothing | Claim::Stored, Some(stored)) if changed.is_empty() => {
                return Some(stored.clone());
            }
            (Claim::Nothing | Claim::Stored, Some(stored)) => Ledger::decode_stored(stored),
            (Claim::Submitted(ledger), _) => {
                let known = known_owners(current);
                if changed.is_empty() && ledger.equals_but_for_times(&known) {
                    return keep(current, next);
                }
                ledger
            }
        };
        self.record(ledger, changed, earlier, next)
    }

    /// What the client says about the owners, which leaves the object.
    fn claim(&self, object: &mut Value, stored: Option<&Bytes>) -> Claim {
        match metadata_mut(object).remove(MEMBER) {
            Some(entries) if stored.is_some_and(|stored| is_text_of(stored, &entries)) => {
                Claim::Stored
            }
            // Only the object itself is a place to say who owns what.
            Some(entries) if self.subresource.is_none() => {
                if entries == json!([]) || entries == json!([{}]) {
                    return Claim::Forgotten;
                }
                let submitted = Ledger::decode(&entries).filter(|ledger| !ledger.is_empty());
                submitted.map_or(Claim::Nothing, Claim::Submitted)
            }
            _ => Claim::Nothing,
        }
    }

    /// Writes down who owns what after a change.
    fn record(
        &self,
        mut ledger: Ledger,
        changed: Comparison,
        earlier: Earlier<'_>,
        later: &mut Value,
    ) -> Option<Bytes> {
        let writer = self.writer();
        ledger.take_away(&writer, |version| {
            if version == writer.api_version {
                return Some(changed.clone());
            }
            Some(self.compare(self.version(version)?, earlier, later))
        });
        let taken = changed.added.union(changed.modified);
        if !taken.is_empty() {
            ledger.give(writer, taken, self.time());
        }
        ledger.cap();
        write_down(&ledger, later)
    }

    fn writer(&self) -> Manager {
        Manager {
            name: self.manager.clone(),
            operation: Operation::Update,
            api_version: self.definition.api_version(),
            subresource: self.subresource.map(str::to_owned),
        }
    }

    /// When the writer came to own what it writes. Kubernetes does not tell it of scaling.
    fn time(&self) -> Option<Timestamp> {
        (self.subresource != Some("scale")).then_some(self.now)
    }

    /// What differs between two states, as a version of the kind shows them.
    fn compare(&self, definition: &Definition, earlier: Earlier<'_>, later: &Value) -> Comparison {
        let served = |object| match self.views.is_needed() {
            true => self.views.show(definition, object),
            false => self.served(definition.conversion, object),
        };
        let earlier = match earlier {
            Earlier::Nothing => Cow::Owned(Value::Object(self.registry.unset_object(definition))),
            Earlier::State(object) => served(object),
        };
        self.compare_served(definition, &earlier, &served(later))
    }

    fn compare_served(
        &self,
        definition: &Definition,
        earlier: &Value,
        later: &Value,
    ) -> Comparison {
        let Some((schema, type_id)) = self.registry.shape_of(definition) else {
            return Comparison::default();
        };
        Comparison::between(schema, type_id, earlier, later)
            .without(&reach::out_of_reach(definition, self.subresource))
            .without_exactly(&NOBODYS)
    }

    fn served<'b>(&self, conversion: Conversion, stored: &'b Value) -> Cow<'b, Value> {
        if conversion == Conversion::None {
            return Cow::Borrowed(stored);
        }
        let mut served = stored.clone();
        self.registry.to_served(conversion, &mut served);
        Cow::Owned(served)
    }

    /// An object of one version as another shows it.
    fn convert<'b>(&self, from: &Definition, to: &Definition, object: &'b Value) -> Cow<'b, Value> {
        if self.views.is_needed() {
            return self.views.show(to, object);
        }
        if from.conversion == to.conversion {
            return Cow::Borrowed(object);
        }
        let mut converted = object.clone();
        self.registry.to_stored(from.conversion, &mut converted);
        self.registry.to_served(to.conversion, &mut converted);
        Cow::Owned(converted)
    }

    /// The kind in this version; `None` when it is not served.
    fn version(&self, api_version: &str) -> Option<&Definition> {
        if self.definition.api_version() == api_version {
            return Some(self.definition);
        }
        if self.views.is_needed() {
            return self.views.version(api_version);
        }
        if self.definition.custom.is_some() {
            return self.custom_version(api_version);
        }
        let definitions = self.registry.definitions().iter();
        let mut siblings =
            definitions.filter(|other| other.storage_prefix == self.definition.storage_prefix);
        siblings
            .find(|other| other.api_version() == api_version)
            .map(|found| &**found)
    }

    /// The versions of a custom kind hold the same fields, of which this one knows the shape.
    fn custom_version(&self, api_version: &str) -> Option<&Definition> {
        let Definition {
            group, resource, ..
        } = self.definition;
        let kinds = self.registry.custom();
        let mut versions = kinds.kind(group, resource)?.versions.iter();
        versions
            .any(|version| version.api_version() == api_version)
            .then_some(self.definition)
    }
}

/// What a client says about the owners.
enum Claim {
    /// Nothing.
    Nothing,
    /// What is stored.
    Stored,
    /// They are to be forgotten.
    Forgotten,
    /// They are these.
    Submitted(Ledger),
}

/// What was there before a write.
#[derive(Clone, Copy)]
enum Earlier<'a> {
    Nothing,
    State(&'a Value),
}

/// The text of a ledger, of which nothing else is left in the object: `None` for no owners.
fn write_down(ledger: &Ledger, object: &mut Value) -> Option<Bytes> {
    let metadata = metadata_mut(object);
    metadata.remove(MEMBER);
    let text = ledger.encode()?;
    if ledger.is_plainly_named() {
        return Some(text);
    }
    // In the object they are held against the rules for metadata.
    let entries = serde_json::from_slice(&text).expect("a ledger is written as JSON");
    metadata.insert(MEMBER.to_owned(), entries);
    None
}

/// The owners as they are stored, of which nothing else is left in the object.
fn keep(current: &Outline, next: &mut Value) -> Option<Bytes> {
    metadata_mut(next).remove(MEMBER);
    current.managed_fields.clone()
}

/// The owners that an object has had so far.
fn known_owners(current: &Outline) -> Ledger {
    let stored = current.managed_fields.as_ref();
    stored.map_or_else(Ledger::default, |text| Ledger::decode_stored(text))
}

/// Whether two states are the same but for what is written about them.
fn same_content(current: &Value, next: &Value) -> bool {
    told(current).eq(told(next)) && outside_metadata(current).eq(outside_metadata(next))
}

fn told(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let members = metadata(object).iter();
    members.filter(|(name, _)| ![MEMBER, "resourceVersion"].contains(&name.as_str()))
}

fn outside_metadata(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let members = object.as_object().into_iter().flatten();
    members.filter(|(name, _)| *name != "metadata")
}
