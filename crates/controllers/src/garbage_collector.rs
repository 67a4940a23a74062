//! Deletes what has no owner left, as each owner's deletion asks for it.
//!
//! There is no graph beside the [`Inventory`]: who depends on whom is an index of its informers.
//! Before anything is deleted or changed the object and its owners are asked for anew, and the
//! request says which object in which state it means.

mod deletion;
mod verdict;

use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, Weak},
};

use k8s_openapi::api::core::v1::ObjectReference;
use listwatch::{
    Deleted, EventRecorder, NewEvent, Next, Notification, Object, ObjectKey, Origin, Priority, Uid,
    WorkQueue, event_recorder::Severity, work_queue::When,
};
use listwatch_server::registry::Definition;
use parking_lot::Mutex;

use crate::{
    controllers::Stop,
    inventory::{Collection, Facts, Found, Inventory, Life, Observer, Owner},
    objects::Objects,
    worker,
};

/// Holds an object until its dependents that block it are gone.
const FOREGROUND: &str = "foregroundDeletion";

/// Holds an object until its dependents no longer name it.
const ORPHAN: &str = "orphan";

/// Objects that are worked on at the same time.
const WORKERS: usize = 4;

/// Uids of deleted objects that are remembered. Owners beyond that are asked for.
const ABSENT_MAX: usize = 4096;

/// What is to be looked at: one object and no later one of its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Item {
    prefix: Arc<str>,
    key: ObjectKey,
    uid: Uid,
}

/// What observers and workers share.
pub(crate) struct Attention {
    queue: WorkQueue<Item>,
    absent: Mutex<Absent>,
}

/// Uids of objects that are gone. The oldest are forgotten.
#[derive(Default)]
struct Absent {
    uids: HashSet<Uid>,
    in_order: VecDeque<Uid>,
}

/// Deletes what has no owner left.
pub(crate) struct GarbageCollector {
    inventory: Arc<Inventory>,
    attention: Arc<Attention>,
    objects: Objects,
    events: EventRecorder,
}

impl Attention {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            queue: WorkQueue::new("garbage-collector"),
            absent: Mutex::default(),
        })
    }

    /// What queues the objects that a change concerns.
    pub(crate) fn observer(self: &Arc<Self>, inventory: &Weak<Inventory>) -> Observer {
        let attention = Arc::clone(self);
        Inventory::observer(inventory, move |inventory, collection, notification| {
            attention.observe(inventory, collection, notification);
        })
    }

    fn observe(
        &self,
        inventory: &Inventory,
        collection: &Collection,
        notification: &Notification<Facts>,
    ) {
        match notification {
            Notification::Added { object, origin } => {
                let priority = match origin {
                    Origin::Initial => Priority::LOW,
                    Origin::Later => Priority::NORMAL,
                };
                let concerns = !object.owners.is_empty() || is_waiting(object);
                if concerns {
                    self.add(&collection.kind, object, priority);
                }
            }
            Notification::Updated { old, new } => self.changed(inventory, collection, (old, new)),
            Notification::Deleted(Deleted {
                last: Some(last), ..
            }) => self.gone(inventory, last),
            Notification::Deleted(_) | Notification::Lagged { .. } => {}
        }
    }

    fn changed(
        &self,
        inventory: &Inventory,
        collection: &Collection,
        (old, new): (&Object<Facts>, &Object<Facts>),
    ) {
        if old.body == new.body {
            return;
        }
        if old.body.uid != new.body.uid {
            self.gone(inventory, old);
        }
        self.add(&collection.kind, new, Priority::NORMAL);
        let let_go = old.owners.iter().filter(|owner| !new.holds(&owner.uid));
        self.wake_owners(inventory, let_go, old.key.namespace());
    }

    /// Its dependents have lost an owner, and its owners a dependent.
    fn gone(&self, inventory: &Inventory, last: &Object<Facts>) {
        let dependents = inventory.dependents(&last.body.uid);
        if !dependents.is_empty() {
            self.remember_absent(last.body.uid.clone());
        }
        for (kind, dependent) in dependents {
            self.add(&kind, &dependent, Priority::NORMAL);
        }
        self.wake_owners(inventory, last.owners.iter(), last.key.namespace());
    }

    /// Owners that wait for their dependents may have waited for this one.
    fn wake_owners<'a>(
        &self,
        inventory: &Inventory,
        owners: impl Iterator<Item = &'a Owner>,
        namespace: Option<&str>,
    ) {
        for owner in owners {
            if let Found::Place(place) = inventory.find_owner(owner, namespace)
                && let Some(object) = place.object.filter(|object| is_waiting(object))
            {
                self.add(&place.kind, &object, Priority::NORMAL);
            }
        }
    }

    fn add(&self, kind: &Definition, object: &Object<Facts>, priority: Priority) {
        let item = Item {
            prefix: (*kind.storage_prefix).into(),
            key: object.key.clone(),
            uid: object.body.uid.clone(),
        };
        self.queue.add_with(item, priority, When::Now);
    }

    fn remember_absent(&self, uid: Uid) {
        let mut absent = self.absent.lock();
        if !absent.uids.insert(uid.clone()) {
            return;
        }
        absent.in_order.push_back(uid);
        if absent.in_order.len() > ABSENT_MAX
            && let Some(oldest) = absent.in_order.pop_front()
        {
            absent.uids.remove(&oldest);
        }
    }

    fn is_absent(&self, uid: &Uid) -> bool {
        self.absent.lock().uids.contains(uid)
    }
}

/// Whether the object is going, and held until something has become of its dependents.
fn is_waiting(object: &Facts) -> bool {
    object.is_ending_with(FOREGROUND) || object.is_ending_with(ORPHAN)
}

impl GarbageCollector {
    pub(crate) fn new(
        inventory: Arc<Inventory>,
        attention: Arc<Attention>,
        (objects, events): (Objects, EventRecorder),
    ) -> Self {
        Self {
            inventory,
            attention,
            objects,
            events,
        }
    }

    /// Works until told to stop.
    pub(crate) async fn run(self, stop: Stop) {
        let queue = self.attention.queue.clone();
        let collector = Arc::new(self);
        worker::work(("garbage-collector", WORKERS), &queue, stop, move |item| {
            let collector = Arc::clone(&collector);
            async move { collector.look_at(&item).await }
        })
        .await;
    }

    /// Does what the state of one object asks for.
    async fn look_at(&self, item: &Item) -> Result<Next, deletion::Failure> {
        self.inventory.synced().await;
        let found = self.inventory.get(&item.prefix, &item.key);
        let Some((kind, object)) = found.filter(|(_, object)| object.body.uid == item.uid) else {
            return Ok(Next::AwaitChange);
        };
        if object.is_ending_with(ORPHAN) {
            self.orphan_dependents(&kind, &object).await?;
        } else if object.is_ending_with(FOREGROUND) {
            self.delete_dependents(&kind, &object).await?;
        } else if object.life == Life::Kept && !object.owners.is_empty() {
            self.judge(&kind, &object).await?;
        }
        Ok(Next::AwaitChange)
    }

    /// Says of an object that it names an owner which lives in another namespace.
    fn report_wrong_namespace(&self, kind: &Definition, object: &Object<Facts>, owner: &Owner) {
        let namespace = object.key.namespace().unwrap_or_default();
        let reference = format!(
            "[{}/{}, namespace: {namespace}, name: {}, uid: {}]",
            owner.api_version, owner.kind, owner.name, owner.uid
        );
        self.events.record(NewEvent {
            severity: Severity::Warning,
            reason: "OwnerRefInvalidNamespace".to_owned(),
            action: "Collecting".to_owned(),
            note: format!("ownerRef {reference} does not exist in namespace {namespace:?}"),
            regarding: ObjectReference {
                api_version: Some(kind.api_version()),
                kind: Some(kind.kind.to_string()),
                namespace: object.key.namespace().map(str::to_owned),
                name: Some(object.key.name().to_owned()),
                uid: Some(object.body.uid.to_string()),
                ..ObjectReference::default()
            },
            related: None,
        });
    }
}
