//! What becomes of an object that has owners.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use listwatch::{Object, Uid};
use listwatch_server::registry::Definition;

use super::{FOREGROUND, GarbageCollector, deletion::Failure};
use crate::inventory::{Facts, Found, Hold, Owner};

/// The owners that an object names, by what became of them.
#[derive(Debug, Default)]
pub(super) struct Owners {
    /// They are there.
    pub(super) present: Vec<Uid>,
    /// They are not, or were never, or cannot be meant.
    pub(super) absent: Vec<Uid>,
    /// They go, but not before their dependents.
    pub(super) waiting: Vec<Uid>,
}

impl GarbageCollector {
    /// Whether all owners of an object are known to be there and to stay.
    pub(super) fn is_owned(&self, object: &Object<Facts>) -> bool {
        let mut owners = object.owners.iter();
        owners.all(|owner| {
            let found = self.inventory.find_owner(owner, object.key.namespace());
            match found {
                Found::Place(place) => place
                    .object
                    .is_some_and(|owner| !owner.is_ending_with(FOREGROUND)),
                Found::UnknownKind | Found::OutOfReach => false,
            }
        })
    }

    /// Asks the server for each owner.
    pub(super) async fn classify(
        &self,
        kind: &Definition,
        object: &Object<Facts>,
        references: &[OwnerReference],
    ) -> Result<Owners, Failure> {
        let mut owners = Owners::default();
        for owner in references.iter().filter_map(owner) {
            match self.owner(kind, object, &owner).await? {
                None => owners.absent.push(owner.uid),
                Some(found) if is_waiting(&found) => owners.waiting.push(owner.uid),
                Some(_) => owners.present.push(owner.uid),
            }
        }
        Ok(owners)
    }

    /// The owner as the server has it; `None` if there is no such object where the reference says.
    async fn owner(
        &self,
        kind: &Definition,
        object: &Object<Facts>,
        owner: &Owner,
    ) -> Result<Option<ObjectMeta>, Failure> {
        if self.attention.is_absent(&owner.uid) {
            return Ok(None);
        }
        let place = match self.inventory.find_owner(owner, object.key.namespace()) {
            Found::Place(place) => place,
            Found::OutOfReach => return Ok(None),
            Found::UnknownKind => {
                return Err(Failure::UnknownOwner {
                    api_version: owner.api_version.to_string(),
                    kind: owner.kind.to_string(),
                });
            }
        };
        let found = self.objects.get(&place.kind, &place.key).await?;
        let found = found.filter(|found| found.uid.as_deref() == Some(&*owner.uid.to_string()));
        if found.is_none()
            && place.key.namespace().is_some()
            && self.inventory.is_anywhere(&place.kind, &owner.uid)
        {
            self.report_wrong_namespace(kind, object, owner);
        }
        Ok(found)
    }
}

/// Whether an object goes as soon as its dependents have gone.
fn is_waiting(object: &ObjectMeta) -> bool {
    let mut finalizers = object.finalizers.iter().flatten();
    object.deletion_timestamp.is_some() && finalizers.any(|it| it == FOREGROUND)
}

fn owner(reference: &OwnerReference) -> Option<Owner> {
    Some(Owner {
        api_version: reference.api_version.as_str().into(),
        kind: reference.kind.as_str().into(),
        name: reference.name.as_str().into(),
        uid: Uid::parse(&reference.uid)?,
        hold: match reference.block_owner_deletion {
            Some(true) => Hold::Blocks,
            Some(false) | None => Hold::Free,
        },
    })
}
