//! Empties namespaces that are deleted, then lets them go.

mod conditions;
mod content;

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client, api::PostParams};
use listwatch::{Next, Notification, Object, ObjectKey, WorkQueue, wall_clock::WallClock};

use crate::{
    controllers::Stop,
    inventory::{Collection, Facts, Inventory, Life, Observer},
    objects::{Objects, unless_gone},
    worker,
};
use content::Content;

/// What the namespace is held by until it is empty.
const FINALIZER: &str = "kubernetes";

/// Namespaces that are emptied at the same time.
const WORKERS: usize = 4;

/// Where namespaces are stored.
const NAMESPACES: &str = "/registry/namespaces/";

/// Empties namespaces that are deleted.
pub(crate) struct NamespaceController {
    pub(crate) inventory: Arc<Inventory>,
    pub(crate) client: Client,
    pub(crate) objects: Objects,
    pub(crate) clock: WallClock,
}

/// The names of namespaces to look at.
#[derive(Clone)]
pub(crate) struct Attention {
    queue: WorkQueue<ObjectKey>,
}

impl Attention {
    pub(crate) fn new() -> Self {
        Self {
            queue: WorkQueue::new("namespace"),
        }
    }

    /// What queues the namespaces that are going when they, or something in them, change.
    pub(crate) fn observer(&self, inventory: &Weak<Inventory>) -> Observer {
        let attention = self.clone();
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
        let is_namespace = *collection.kind.storage_prefix == *NAMESPACES;
        match notification {
            Notification::Added { object, .. } | Notification::Updated { new: object, .. }
                if is_namespace =>
            {
                if object.life == Life::Ending {
                    self.queue.add(object.key.clone());
                }
            }
            Notification::Deleted(deleted) if !is_namespace => {
                self.less_in(inventory, deleted.key.namespace());
            }
            Notification::Added { .. } | Notification::Updated { .. } => {}
            Notification::Deleted(_) | Notification::Lagged { .. } => {}
        }
    }

    fn less_in(&self, inventory: &Inventory, namespace: Option<&str>) {
        let Some(key) = namespace.map(ObjectKey::from) else {
            return;
        };
        let is_ending = |object: &Object<Facts>| object.life == Life::Ending;
        if let Some((_, object)) = inventory.get(NAMESPACES, &key)
            && is_ending(&object)
        {
            self.queue.add(key);
        }
    }
}

impl NamespaceController {
    /// Works until told to stop.
    pub(crate) async fn run(self, attention: Attention, stop: Stop) {
        let controller = Arc::new(self);
        worker::work(("namespace", WORKERS), &attention.queue, stop, move |key| {
            let controller = Arc::clone(&controller);
            async move { controller.reconcile(&key).await }
        })
        .await;
    }

    /// One step: deletes what is there, says what is left, and lets go if nothing is.
    async fn reconcile(&self, key: &ObjectKey) -> kube::Result<Next> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let Some(namespace) = namespaces.get_opt(key.name()).await? else {
            return Ok(Next::AwaitChange);
        };
        let spec = namespace.spec.as_ref();
        let is_held = spec.is_some_and(|spec| spec.finalizers.iter().flatten().next().is_some());
        let deleted = namespace.metadata.deletion_timestamp.as_ref();
        let Some(deleted) = deleted.filter(|_| is_held) else {
            return Ok(Next::AwaitChange);
        };
        let now = self.clock.now().0;
        let age = now.duration_since(deleted.0).unsigned_abs();
        let content = Content::delete(self, key.name(), age).await;
        let namespace = self.tell(&namespaces, namespace, &content).await?;
        match content.estimate {
            Some(estimate) => Ok(Next::After(estimate / 2 + Duration::from_secs(1))),
            None if content.is_gone() => self.let_go(&namespaces, namespace).await,
            None => Ok(Next::After(Duration::from_secs(1))),
        }
    }

    /// Writes down what is left, if that is news.
    async fn tell(
        &self,
        namespaces: &Api<Namespace>,
        mut namespace: Namespace,
        content: &Content,
    ) -> kube::Result<Namespace> {
        let status = namespace.status.get_or_insert_default();
        let mut is_news = status.phase.as_deref() != Some("Terminating");
        status.phase = Some("Terminating".to_owned());
        let now = self.clock.now();
        is_news |= conditions::update(&mut status.conditions, content, &now);
        if !is_news {
            return Ok(namespace);
        }
        let name = namespace.metadata.name.clone().unwrap_or_default();
        let parameters = PostParams::default();
        namespaces
            .replace_status(&name, &parameters, &namespace)
            .await
    }

    /// Takes off our finalizer. Others may still hold the namespace.
    async fn let_go(
        &self,
        namespaces: &Api<Namespace>,
        mut namespace: Namespace,
    ) -> kube::Result<Next> {
        let spec = namespace.spec.get_or_insert_default();
        let finalizers = spec.finalizers.get_or_insert_default();
        finalizers.retain(|finalizer| finalizer != FINALIZER);
        let name = namespace.metadata.name.clone().unwrap_or_default();
        let parameters = PostParams::default();
        let finalized = namespaces.replace_subresource("finalize", &name, &parameters, &namespace);
        unless_gone(finalized.await)?;
        Ok(Next::AwaitChange)
    }
}
