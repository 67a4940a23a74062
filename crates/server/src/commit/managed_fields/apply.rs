//! Server-side apply: a manager states the fields that it wants, and owns just them.
//!
//! What it states is laid over the object. What it stated before and leaves out now goes, unless
//! somebody else owns it. A field of somebody else that would change is a conflict.

use std::collections::BTreeMap;

use listwatch_api::{
    field_set::{Comparison, FieldSet, FieldSetPath, Nonconformity, check_conformity, merge},
    object::to_canonical,
};
use serde_json::Value;

use super::{
    Earlier, FieldTracker, MEMBER, NOBODYS,
    entry::{Entry, Manager, Operation},
    fields::Fields,
    last_applied,
    ledger::Ledger,
    reach,
};
use crate::{
    commit::metadata::{metadata, metadata_mut},
    registry::Definition,
};

/// The owner of what was there before the first apply to an object without owners.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// What becomes of fields that others own and an apply would change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnConflict {
    /// They stay, and the apply is refused.
    Refuse,
    /// They change, and their owners lose them.
    TakeOver,
}

/// What an apply makes of an object.
#[derive(Debug)]
pub(crate) struct Applied {
    /// The object, in the version that the client speaks.
    pub object: Value,
    /// Who owns what in it.
    pub owners: Ledger,
}

/// Why an apply is refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ApplyError {
    /// What is applied does not have the shape of its kind.
    Nonconforming(Vec<Nonconformity>),
    /// It would change fields of others.
    Conflicts(Vec<Conflict>),
}

/// A field that somebody else owns and an apply would change.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// The owner, as messages name it.
    pub owner: String,
    /// The field.
    pub path: FieldSetPath,
}

impl FieldTracker<'_> {
    /// Lays what is applied over the live object, or over nothing.
    pub(crate) fn apply(
        &self,
        live: Option<&Value>,
        applied: &Value,
        on_conflict: OnConflict,
    ) -> Result<Applied, ApplyError> {
        let shape = self.registry.shape_of(self.definition);
        let problems = shape.map(|(schema, type_id)| check_conformity(schema, type_id, applied));
        if let Some(problems) = problems.filter(|problems| !problems.is_empty()) {
            return Err(ApplyError::Nonconforming(problems));
        }
        let result = self.lay_over(live, applied, on_conflict);
        if self.manager != last_applied::KUBECTL {
            return result;
        }
        let result = match (result, live) {
            (Err(ApplyError::Conflicts(conflicts)), Some(live)) => {
                let shown = self.served(self.definition.conversion, live);
                let excused = last_applied::excused(self, &shown);
                let others: Vec<Conflict> = conflicts
                    .into_iter()
                    .filter(|conflict| !excused.contains(&conflict.path.0))
                    .collect();
                if !others.is_empty() {
                    return Err(ApplyError::Conflicts(others));
                }
                self.lay_over(Some(live), applied, OnConflict::TakeOver)
            }
            (result, _) => result,
        };
        result.map(|mut done| {
            last_applied::refresh(&mut done.object, applied);
            done
        })
    }

    fn lay_over(
        &self,
        live: Option<&Value>,
        applied: &Value,
        on_conflict: OnConflict,
    ) -> Result<Applied, ApplyError> {
        let Some((schema, type_id)) = self.registry.shape_of(self.definition) else {
            return Ok(Applied {
                object: applied.clone(),
                owners: Ledger::default(),
            });
        };
        let mut owners = self.owners_before(live);
        let live = match live {
            Some(live) => self.served(self.definition.conversion, live).into_owned(),
            None => Value::Object(self.registry.unset_object(self.definition)),
        };
        let live = without_owners(live);
        let out_of_reach = reach::out_of_reach(self.definition, self.subresource);
        let stated = FieldSet::of_value(schema, type_id, applied);
        let stated = stated.difference_with_all_below(&out_of_reach);
        let own = Entry {
            manager: self.applier(),
            time: self.time(),
            fields: Fields::Read(stated.clone()),
        };
        let before = owners.take(&own.manager);
        let merged = merge(schema, type_id, &live, applied);
        let object = match &before {
            Some(before) => self.prune(merged, before, owners.entries.iter().chain([&own])),
            None => merged,
        };
        let changes = self.changes(&owners, &live, &object);
        let conflicts = conflicts(&owners, &changes);
        if on_conflict == OnConflict::Refuse && !conflicts.is_empty() {
            return Err(ApplyError::Conflicts(conflicts));
        }
        owners.take_away(&own.manager, |version| changes.get(version).cloned());
        let fields = stated.difference(&NOBODYS);
        if !fields.is_empty() {
            owners.give(own.manager, fields, own.time);
        }
        Ok(Applied { object, owners })
    }

    /// Who owned what before the apply. Nobody is not an answer for an object that exists.
    fn owners_before(&self, live: Option<&Value>) -> Ledger {
        let Some(live) = live else {
            return Ledger::default();
        };
        let stored = metadata(live).get(MEMBER).map(to_canonical);
        let mut ledger = Ledger::decode_stored(&stored.unwrap_or_default());
        if ledger.is_empty() {
            let found = self.compare(self.definition, Earlier::Nothing, live);
            let manager = Manager {
                name: BEFORE_FIRST_APPLY.to_owned(),
                ..self.writer()
            };
            let fields = found.added.union(found.modified);
            if !fields.is_empty() {
                ledger.give(manager, fields, self.time());
            }
        }
        ledger
    }

    fn applier(&self) -> Manager {
        Manager {
            operation: Operation::Apply,
            ..self.writer()
        }
    }

    /// What differs between two states, told in each served version that owners speak.
    fn changes(&self, owners: &Ledger, live: &Value, next: &Value) -> BTreeMap<String, Comparison> {
        let mut changes = BTreeMap::new();
        for Entry { manager, .. } in &owners.entries {
            let version = &manager.api_version;
            let Some(definition) = self
                .version(version)
                .filter(|_| !changes.contains_key(version))
            else {
                continue;
            };
            let live = self.convert(self.definition, definition, live);
            let next = self.convert(self.definition, definition, next);
            let found = self.compare_served(definition, &live, &next);
            changes.insert(version.clone(), found);
        }
        changes
    }

    /// Takes out what a manager stated before, does not state now, and nobody else owns.
    fn prune<'b>(
        &self,
        merged: Value,
        before: &Entry,
        owners: impl Iterator<Item = &'b Entry>,
    ) -> Value {
        let Some(home) = self.version(&before.manager.api_version) else {
            return merged;
        };
        let merged = self.convert(self.definition, home, &merged).into_owned();
        let last = self.with_named_fields(home, before.fields.as_set().into_owned());
        let mut owned: BTreeMap<&str, FieldSet> = BTreeMap::new();
        for entry in owners {
            let version = owned.entry(&entry.manager.api_version).or_default();
            *version = std::mem::take(version).union(entry.fields.as_set().into_owned());
        }
        let mut pruned = self.remove(home, &last, merged.clone());
        for (version, owned) in owned {
            if let Some(definition) = self.version(version) {
                let shown = |object: &Value| self.convert(home, definition, object).into_owned();
                let kept = self.keep_owned(definition, shown(&merged), &shown(&pruned), owned);
                pruned = self.convert(definition, home, &kept).into_owned();
            }
        }
        let left = self.all_fields(home, &pruned);
        let gone = self.all_fields(home, &merged).difference(&left);
        let pruned = self.remove(home, &gone.intersection(&last), merged);
        self.convert(home, self.definition, &pruned).into_owned()
    }

    /// The merged object with what the pruned one still has and what is owned.
    fn keep_owned(
        &self,
        definition: &Definition,
        merged: Value,
        pruned: &Value,
        owned: FieldSet,
    ) -> Value {
        let owned = self.with_named_fields(definition, owned);
        let kept = self.all_fields(definition, pruned).union(owned);
        let gone = self.all_fields(definition, &merged).difference(&kept);
        self.remove(definition, &gone, merged)
    }

    fn all_fields(&self, definition: &Definition, object: &Value) -> FieldSet {
        let Some((schema, type_id)) = self.registry.shape_of(definition) else {
            return FieldSet::default();
        };
        FieldSet::of_value(schema, type_id, object).with_named_fields(schema, type_id)
    }

    fn with_named_fields(&self, definition: &Definition, set: FieldSet) -> FieldSet {
        match self.registry.shape_of(definition) {
            Some((schema, type_id)) => set.with_named_fields(schema, type_id),
            None => set,
        }
    }

    fn remove(&self, definition: &Definition, gone: &FieldSet, object: Value) -> Value {
        match self.registry.shape_of(definition) {
            Some((schema, type_id)) => gone.removed_from(schema, type_id, object),
            None => object,
        }
    }
}

fn without_owners(mut object: Value) -> Value {
    metadata_mut(&mut object).remove(MEMBER);
    object
}

/// The fields of others that change.
fn conflicts(owners: &Ledger, changes: &BTreeMap<String, Comparison>) -> Vec<Conflict> {
    let mut found: Vec<(String, FieldSet)> = Vec::new();
    for entry in &owners.entries {
        let Some(changed) = changes.get(&entry.manager.api_version).cloned() else {
            continue;
        };
        let changed = changed.added.union(changed.modified);
        let fields = changed.intersection(&entry.fields.as_set());
        if !fields.is_empty() {
            found.push((entry.manager.to_string(), fields));
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    let conflicts = found.into_iter().flat_map(|(owner, fields)| {
        let paths = fields.paths().into_iter();
        paths.map(move |path| Conflict {
            owner: owner.clone(),
            path,
        })
    });
    conflicts.collect()
}
