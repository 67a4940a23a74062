//! What is done about an object, its owners and its dependents.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::{DeleteParams, Preconditions};
use listwatch::{Object, Uid};
use listwatch_server::registry::Definition;
use serde_json::{Value, json};
use thiserror::Error;

use super::{FOREGROUND, GarbageCollector, ORPHAN};
use crate::{
    inventory::{Facts, Life},
    objects::is_conflict,
};

/// Why something is tried again later.
#[derive(Debug, Error)]
pub(super) enum Failure {
    /// The server did not do it.
    #[error(transparent)]
    Refused(#[from] kube::Error),
    /// The kind of an owner may be served later, or never.
    #[error("no kind {kind} of {api_version} is served")]
    UnknownOwner { api_version: String, kind: String },
}

impl GarbageCollector {
    /// Deletes an object that no owner keeps, and takes the names of lost owners off one that
    /// another keeps.
    pub(super) async fn judge(
        &self,
        kind: &Definition,
        object: &Object<Facts>,
    ) -> Result<(), Failure> {
        if self.is_owned(object) {
            return Ok(());
        }
        let Some(latest) = self.latest(kind, object).await? else {
            return Ok(());
        };
        let references = latest.owner_references.as_deref().unwrap_or_default();
        if references.is_empty() || latest.deletion_timestamp.is_some() {
            return Ok(());
        }
        let owners = self.classify(kind, object, references).await?;
        if !owners.present.is_empty() {
            let lost = [owners.absent, owners.waiting].concat();
            return match lost.is_empty() {
                true => Ok(()),
                false => self.disown(kind, object, (&latest, &lost)).await,
            };
        }
        let dependents = self.inventory.dependents(&object.body.uid);
        if owners.waiting.is_empty() || dependents.is_empty() {
            return self.delete(kind, object, (&latest, policy(&latest))).await;
        }
        let mut others = dependents.iter();
        match others.any(|(_, other)| other.is_ending_with(FOREGROUND)) {
            // The two may wait for each other, so this one no longer holds up its owners.
            true => {
                self.unblock(kind, object, &latest).await?;
                let unblocked = self.latest(kind, object).await?;
                let Some(latest) = unblocked else {
                    return Ok(());
                };
                self.delete(kind, object, (&latest, DeleteParams::foreground()))
                    .await
            }
            false => {
                self.delete(kind, object, (&latest, DeleteParams::foreground()))
                    .await
            }
        }
    }

    /// Deletes the dependents of an object that goes in the foreground, and lets it go when none
    /// is left for which it waits.
    pub(super) async fn delete_dependents(
        &self,
        kind: &Definition,
        object: &Object<Facts>,
    ) -> Result<(), Failure> {
        let dependents = self.inventory.dependents(&object.body.uid);
        for (kind, dependent) in &dependents {
            if dependent.life == Life::Kept {
                self.judge(kind, dependent).await?;
            }
        }
        let mut others = dependents.iter();
        match others.any(|(_, dependent)| dependent.holds(&object.body.uid)) {
            true => Ok(()),
            false => self.release(kind, object, FOREGROUND).await,
        }
    }

    /// Takes the name of an object off its dependents, then lets it go.
    pub(super) async fn orphan_dependents(
        &self,
        kind: &Definition,
        object: &Object<Facts>,
    ) -> Result<(), Failure> {
        let uid = &object.body.uid;
        for (kind, dependent) in self.inventory.dependents(uid) {
            if let Some(latest) = self.latest(&kind, &dependent).await? {
                let lost = std::slice::from_ref(uid);
                self.disown(&kind, &dependent, (&latest, lost)).await?;
            }
        }
        self.release(kind, object, ORPHAN).await
    }

    /// The object as the server has it; `None` if it is gone, or another of its name is there.
    async fn latest(
        &self,
        kind: &Definition,
        object: &Object<Facts>,
    ) -> Result<Option<ObjectMeta>, Failure> {
        let found = self.objects.get(kind, &object.key).await?;
        let uid = object.body.uid.to_string();
        Ok(found.filter(|found| found.uid.as_deref() == Some(&*uid)))
    }

    /// Deletes the object, if it still has the owners by which it was judged.
    async fn delete(
        &self,
        kind: &Definition,
        object: &Object<Facts>,
        (latest, how): (&ObjectMeta, DeleteParams),
    ) -> Result<(), Failure> {
        let exactly = |resource_version| {
            how.clone().preconditions(Preconditions {
                resource_version,
                uid: latest.uid.clone(),
            })
        };
        let parameters = exactly(latest.resource_version.clone());
        match self.objects.delete(kind, &object.key, &parameters).await {
            Err(error) if is_conflict(&error) => {}
            result => return Ok(result?),
        }
        // Something else may have changed, again and again, and must not keep it alive.
        let now = self.latest(kind, object).await?;
        if now.is_some_and(|now| now.owner_references == latest.owner_references) {
            self.objects
                .delete(kind, &object.key, &exactly(None))
                .await?;
        }
        Ok(())
    }

    /// Takes the names of these owners off an object.
    async fn disown(
        &self,
        kind: &Definition,
        object: &Object<Facts>,
        (latest, lost): (&ObjectMeta, &[Uid]),
    ) -> Result<(), Failure> {
        let is_lost =
            |owner: &&OwnerReference| Uid::parse(&owner.uid).is_some_and(|uid| lost.contains(&uid));
        let owners = latest.owner_references.iter().flatten();
        let left: Vec<_> = owners.filter(|owner| !is_lost(owner)).collect();
        if latest.owner_references.as_ref().map_or(0, Vec::len) == left.len() {
            return Ok(());
        }
        let left = match left.is_empty() {
            true => Value::Null,
            false => json!(left),
        };
        self.patch(kind, object, (latest, "ownerReferences", left))
            .await
    }

    /// Lets the owners of an object go before it.
    async fn unblock(
        &self,
        kind: &Definition,
        object: &Object<Facts>,
        latest: &ObjectMeta,
    ) -> Result<(), Failure> {
        let mut owners = latest.owner_references.clone().unwrap_or_default();
        for owner in &mut owners {
            owner.block_owner_deletion = Some(false);
        }
        self.patch(kind, object, (latest, "ownerReferences", json!(owners)))
            .await
    }

    /// Takes a finalizer off an object.
    async fn release(
        &self,
        kind: &Definition,
        object: &Object<Facts>,
        finalizer: &str,
    ) -> Result<(), Failure> {
        let Some(latest) = self.latest(kind, object).await? else {
            return Ok(());
        };
        let finalizers = latest.finalizers.iter().flatten();
        let left: Vec<_> = finalizers.filter(|it| *it != finalizer).collect();
        let left = match left.is_empty() {
            true => Value::Null,
            false => json!(left),
        };
        self.patch(kind, object, (&latest, "finalizers", left))
            .await
    }

    /// Changes one member of an object's metadata, if it is in the state that was seen.
    async fn patch(
        &self,
        kind: &Definition,
        object: &Object<Facts>,
        (latest, member, value): (&ObjectMeta, &str, Value),
    ) -> Result<(), Failure> {
        let patch = json!({"metadata": {
            "uid": latest.uid,
            "resourceVersion": latest.resource_version,
            member: value,
        }});
        Ok(self
            .objects
            .patch_metadata(kind, &object.key, &patch)
            .await?)
    }
}

/// What the object itself asks for.
fn policy(object: &ObjectMeta) -> DeleteParams {
    let has = |finalizer| object.finalizers.iter().flatten().any(|it| it == finalizer);
    if has(ORPHAN) {
        DeleteParams::orphan()
    } else if has(FOREGROUND) {
        DeleteParams::foreground()
    } else {
        DeleteParams::background()
    }
}
