//! Every object of every kind, as much as it takes to know who owns whom.
//!
//! One informer for each kind that can be listed, watched and deleted, custom resources as they
//! come and go. Events are left out: they own nothing, nothing owns them, and there are many.

mod facts;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Weak},
};

use listwatch::{Index, Notification, Object, ObjectKey, Registration, SharedInformer, Uid};
use listwatch_in_process::ServerSource;
use listwatch_server::{
    ServerHandle,
    registry::{Definition, Lifetime, Persistence, Scope, Verb},
    watch_cache::{Area, Interest},
};
use parking_lot::RwLock;

pub(crate) use self::facts::{Facts, Hold, Life, Owner};
use crate::controllers::Stop;

/// What is told of every change, after the collection shows it.
pub(crate) type Observer = Box<dyn Fn(&Collection, &Notification<Facts>) + Send + Sync>;

/// Kinds by `apiVersion` and `kind`.
type ByName = HashMap<(Box<str>, Box<str>), Arc<Definition>>;

/// All objects of all kinds.
pub(crate) struct Inventory {
    server: ServerHandle,
    observers: Vec<Observer>,
    collections: RwLock<BTreeMap<Box<str>, Arc<Collection>>>,
    /// How each kind of each version is served, by what owner references call it.
    by_name: RwLock<ByName>,
}

/// The objects of one kind.
pub(crate) struct Collection {
    /// How the kind is served.
    pub(crate) kind: Arc<Definition>,
    informer: SharedInformer<Facts>,
    handling: Registration,
    by_owner: Index<Facts, Uid>,
}

/// An object of which others say that it owns them.
pub(crate) enum Found {
    /// No such kind is served.
    UnknownKind,
    /// The reference cannot be meant: the owner has a namespace and the dependent none.
    OutOfReach,
    /// The kind is served, and here is where the object is or would be.
    Place(Place),
}

/// Where an object is, or would be.
pub(crate) struct Place {
    /// How its kind is served.
    pub(crate) kind: Arc<Definition>,
    /// Its name.
    pub(crate) key: ObjectKey,
    /// What is known of it.
    pub(crate) object: Option<Arc<Object<Facts>>>,
}

impl Inventory {
    /// An inventory that is empty until it [runs](Self::run).
    pub(crate) fn new(
        server: ServerHandle,
        observers: impl FnOnce(&Weak<Self>) -> Vec<Observer>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|inventory| Self {
            server,
            observers: observers(inventory),
            collections: RwLock::default(),
            by_name: RwLock::default(),
        })
    }

    /// An observer that looks into an inventory, for as long as there is one.
    pub(crate) fn observer(
        inventory: &Weak<Self>,
        observe: impl Fn(&Self, &Collection, &Notification<Facts>) + Send + Sync + 'static,
    ) -> Observer {
        let inventory = inventory.clone();
        Box::new(move |collection, notification| {
            if let Some(inventory) = inventory.upgrade() {
                observe(&inventory, collection, notification);
            }
        })
    }

    /// Follows the kinds until told to stop. Then nothing of it runs.
    pub(crate) async fn run(self: Arc<Self>, mut stop: Stop) {
        let mut served = self.server.definitions_served();
        while let Some(changes) = &mut served {
            self.review().await;
            tokio::select! {
                biased;
                () = stop.requested() => break,
                changed = changes.changed() => {
                    if changed.is_err() {
                        // The server goes, and its kinds with it.
                        served = None;
                    }
                }
            }
        }
        let collections = std::mem::take(&mut *self.collections.write());
        for collection in collections.values() {
            collection.informer.shut_down().await;
        }
    }

    /// Begins to follow the kinds that have come, and leaves those that have gone.
    async fn review(self: &Arc<Self>) {
        let definitions = self.server.definitions();
        *self.by_name.write() = by_name(&definitions);
        let kinds = followed(definitions);
        let gone: Vec<_> = {
            let mut collections = self.collections.write();
            let gone = collections.extract_if(.., |prefix, _| !kinds.contains_key(prefix));
            gone.map(|(_, collection)| collection).collect()
        };
        for collection in gone {
            collection.informer.shut_down().await;
        }
        for (prefix, kind) in kinds {
            if !self.collections.read().contains_key(&prefix)
                && let Some(collection) = self.follow(kind)
            {
                self.collections.write().insert(prefix, collection);
            }
        }
    }

    fn follow(self: &Arc<Self>, kind: Arc<Definition>) -> Option<Arc<Collection>> {
        let name = (&*kind.group, &*kind.version, &*kind.resource);
        let everything = Interest::everything_in(Area::Everywhere);
        // Metadata is the same in all versions, so that nothing has to be converted.
        let source = ServerSource::as_stored(&self.server, name, everything).ok()?;
        let source = Arc::new(source.without_labels());
        let informer = SharedInformer::builder(source, facts::decoder())
            .name(&*kind.resource)
            .build();
        let by_owner = informer.add_index("owner", |object: &Object<Facts>| {
            let owners = object.owners.iter();
            owners.map(|owner| owner.uid.clone()).collect::<Vec<_>>()
        });
        let by_owner = by_owner.expect("a new informer has no index");
        let inventory = Arc::downgrade(self);
        let collection = Arc::new_cyclic(|collection: &Weak<Collection>| {
            // Weak, since the informer has the handler and the collection has the informer.
            let collection = collection.clone();
            let handler = move |notification: Notification<Facts>| {
                let parts = (inventory.upgrade(), collection.upgrade());
                if let (Some(inventory), Some(collection)) = parts {
                    inventory.observe(&collection, &notification);
                }
            };
            let handling = informer.add_handler(handler);
            Collection {
                kind,
                handling: handling.expect("a new informer takes handlers"),
                informer,
                by_owner,
            }
        });
        collection.informer.start().ok()?;
        Some(collection)
    }

    fn observe(&self, collection: &Collection, notification: &Notification<Facts>) {
        for observer in &self.observers {
            observer(collection, notification);
        }
    }

    /// Waits until every kind that is followed has been read to its end.
    pub(crate) async fn synced(&self) {
        let unsynced: Vec<_> = {
            let collections = self.collections.read();
            let collections = collections.values();
            collections
                .filter(|collection| !collection.handling.has_synced())
                .cloned()
                .collect()
        };
        for collection in unsynced {
            // One that stops is left by the next review.
            let _ = collection.handling.synced().await;
        }
    }

    /// How the kinds are served that have objects in namespaces and can be deleted, in
    /// discovery's order, each once.
    pub(crate) fn namespaced_kinds(&self) -> Vec<Arc<Definition>> {
        let mut kinds: Vec<Arc<Definition>> = Vec::new();
        for kind in self.server.definitions() {
            let is_new = !kinds
                .iter()
                .any(|it| it.storage_prefix == kind.storage_prefix);
            if is_new
                && kind.scope == Scope::Namespaced
                && kind.persistence == Persistence::Stored
                && kind.verbs.contains(&Verb::Delete)
            {
                kinds.push(kind);
            }
        }
        kinds
    }

    /// What is known of an object.
    pub(crate) fn get(
        &self,
        prefix: &str,
        key: &ObjectKey,
    ) -> Option<(Arc<Definition>, Arc<Object<Facts>>)> {
        let collection = self.collections.read().get(prefix).cloned()?;
        let object = collection.get(key)?;
        Some((Arc::clone(&collection.kind), object))
    }

    /// The objects that name this one as an owner.
    pub(crate) fn dependents(&self, owner: &Uid) -> Vec<(Arc<Definition>, Arc<Object<Facts>>)> {
        let collections: Vec<_> = self.collections.read().values().cloned().collect();
        let mut dependents = Vec::new();
        for collection in collections {
            let snapshot = collection.informer.cache().snapshot();
            for object in snapshot.by_index(&collection.by_owner, owner) {
                dependents.push((Arc::clone(&collection.kind), Arc::clone(object)));
            }
        }
        dependents
    }

    /// Where the owner of an object in this namespace is.
    pub(crate) fn find_owner(&self, owner: &Owner, namespace: Option<&str>) -> Found {
        let name = (owner.api_version.clone(), owner.kind.clone());
        let Some(kind) = self.by_name.read().get(&name).cloned() else {
            return Found::UnknownKind;
        };
        let key = match (kind.scope, namespace) {
            (Scope::Namespaced, None) => return Found::OutOfReach,
            (Scope::Namespaced, namespace) => ObjectKey::new(namespace, &owner.name),
            (Scope::Cluster, _) => ObjectKey::new(None, &owner.name),
        };
        let found = self.get(&kind.storage_prefix, &key);
        Found::Place(Place {
            object: found
                .map(|(_, object)| object)
                .filter(|it| it.body.uid == owner.uid),
            kind,
            key,
        })
    }

    /// Whether an object with this uid is known in any namespace.
    pub(crate) fn is_anywhere(&self, kind: &Definition, uid: &Uid) -> bool {
        let collection = self.collections.read().get(&kind.storage_prefix).cloned();
        collection.is_some_and(|collection| {
            let snapshot = collection.informer.cache().snapshot();
            snapshot.iter().any(|object| object.body.uid == *uid)
        })
    }
}

impl Collection {
    /// What is known of an object.
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<Arc<Object<Facts>>> {
        self.informer.cache().snapshot().get(key.as_str()).cloned()
    }
}

/// The kinds to follow, by where they are stored: each once, in its stored form if that is served.
fn followed(definitions: Vec<Arc<Definition>>) -> BTreeMap<Box<str>, Arc<Definition>> {
    let mut kinds: BTreeMap<Box<str>, Arc<Definition>> = BTreeMap::new();
    let verbs = [Verb::Delete, Verb::List, Verb::Watch];
    for kind in definitions {
        let is_followed = kind.persistence == Persistence::Stored
            && kind.lifetime == Lifetime::Unlimited
            && verbs.iter().all(|verb| kind.verbs.contains(verb));
        if is_followed {
            kinds.entry(kind.storage_prefix.clone()).or_insert(kind);
        }
    }
    kinds
}

fn by_name(definitions: &[Arc<Definition>]) -> ByName {
    let stored = definitions
        .iter()
        .filter(|kind| kind.persistence == Persistence::Stored);
    stored
        .map(|kind| {
            (
                (kind.api_version().into(), kind.kind.clone()),
                Arc::clone(kind),
            )
        })
        .collect()
}
