//! From what handlers are told to the keys that are to be reconciled.

use std::{any::Any, time::Duration};

use futures_util::{
    FutureExt,
    future::{BoxFuture, select_all},
};

use super::ControllerError;
use crate::{
    HandlerOptions, Notification, Object, ObjectKey, Origin, Priority, Registration,
    SharedInformer, WorkQueue,
    shared_informer::{AddHandlerError, StartError},
    work_queue::When,
};

/// An informer and what is to be reconciled when something changes there.
pub(super) struct Trigger {
    informer: String,
    resync: Option<Duration>,
    attach: Box<dyn FnOnce(HandlerOptions, WorkQueue<ObjectKey>) -> Attached + Send>,
}

/// The handlers of one controller. They are removed with its drop.
pub(super) struct Handlers(Vec<Attachment>);

/// Which updates are worth a run.
pub(super) struct Predicates<T>(Vec<Box<Predicate<T>>>);

type Predicate<T> = dyn Fn(&Object<T>, &Object<T>) -> bool + Send;
type Attached = Result<(Registration, Box<dyn Any + Send + Sync>), AttachError>;

enum AttachError {
    Stopped,
    NoRuntime,
}

struct Attachment {
    informer: String,
    registration: Registration,
    /// An informer stops when nobody has it any more.
    _kept: Box<dyn Any + Send + Sync>,
}

impl Trigger {
    /// Reconciles the keys that `concerned` names.
    pub(super) fn new<W, I>(
        informer: &SharedInformer<W>,
        concerned: impl Fn(&Notification<W>) -> I + Send + 'static,
    ) -> Self
    where
        W: Send + Sync + 'static,
        I: IntoIterator<Item = ObjectKey>,
    {
        let name = informer.name().to_owned();
        let informer = informer.clone();
        let attach = move |options, queue: WorkQueue<ObjectKey>| {
            let handler = move |notification: Notification<W>| {
                let priority = priority(&notification);
                for key in concerned(&notification) {
                    queue.add_with(key, priority, When::Now);
                }
            };
            let registration = informer.add_handler_with(handler, options)?;
            match informer.start() {
                Ok(()) | Err(StartError::AlreadyStarted) => {}
                Err(StartError::Stopped(_)) => return Err(AttachError::Stopped),
                Err(StartError::NoRuntime) => return Err(AttachError::NoRuntime),
            }
            let kept: Box<dyn Any + Send + Sync> = Box::new(informer);
            Ok((registration, kept))
        };
        Self {
            informer: name,
            resync: None,
            attach: Box::new(attach),
        }
    }

    /// Reconciles the objects of the informer themselves.
    pub(super) fn primary<T: Send + Sync + 'static>(
        informer: &SharedInformer<T>,
        predicates: Predicates<T>,
    ) -> Self {
        Self::new(informer, move |notification| {
            let key = predicates.pass(notification).then(|| notification.key());
            key.flatten().cloned()
        })
    }

    pub(super) fn with_resync(self, resync: Option<Duration>) -> Self {
        Self { resync, ..self }
    }
}

impl Handlers {
    /// Adds a handler for each trigger, and starts its informer if nobody has.
    pub(super) fn attach(
        triggers: Vec<Trigger>,
        controller: &str,
        queue: &WorkQueue<ObjectKey>,
    ) -> Result<Self, ControllerError> {
        let mut attached = Self(Vec::with_capacity(triggers.len()));
        for trigger in triggers {
            let informer = trigger.informer;
            let options = HandlerOptions {
                name: Some(controller.to_owned()),
                resync: trigger.resync,
                ..HandlerOptions::default()
            };
            match (trigger.attach)(options, queue.clone()) {
                Ok((registration, kept)) => attached.0.push(Attachment {
                    informer,
                    registration,
                    _kept: kept,
                }),
                Err(AttachError::Stopped) => {
                    return Err(ControllerError::InformerStopped { informer });
                }
                Err(AttachError::NoRuntime) => return Err(ControllerError::NoRuntime),
            }
        }
        Ok(attached)
    }

    /// Waits until each handler has taken in all that was there at the start.
    pub(super) async fn synced(&self) -> Result<(), ControllerError> {
        for attachment in &self.0 {
            let synced = attachment.registration.synced().await;
            synced.map_err(|_| ControllerError::InformerStopped {
                informer: attachment.informer.clone(),
            })?;
        }
        Ok(())
    }

    /// Waits until one of the informers has stopped, and tells which.
    pub(super) async fn ended(&self) -> String {
        let ends = self.0.iter().map(|attachment| -> BoxFuture<'_, &str> {
            let end = attachment.registration.removed();
            end.map(|()| attachment.informer.as_str()).boxed()
        });
        let (informer, _, _) = select_all(ends).await;
        informer.to_owned()
    }
}

impl Drop for Handlers {
    fn drop(&mut self) {
        for attachment in &self.0 {
            attachment.registration.remove();
        }
    }
}

impl<T> Predicates<T> {
    pub(super) fn add(
        &mut self,
        predicate: impl Fn(&Object<T>, &Object<T>) -> bool + Send + 'static,
    ) {
        self.0.push(Box::new(predicate));
    }

    fn pass(&self, notification: &Notification<T>) -> bool {
        match notification {
            Notification::Updated { old, new } if old.version != new.version => {
                self.0.is_empty() || self.0.iter().any(|predicate| predicate(old, new))
            }
            Notification::Updated { .. }
            | Notification::Added { .. }
            | Notification::Deleted(_)
            | Notification::Lagged { .. } => true,
        }
    }
}

impl<T> Default for Predicates<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl From<AddHandlerError> for AttachError {
    fn from(error: AddHandlerError) -> Self {
        match error {
            AddHandlerError::Stopped(_) => Self::Stopped,
            AddHandlerError::NoRuntime => Self::NoRuntime,
        }
    }
}

/// The states that a notification knows: the one before and the one now.
pub(super) fn states<T>(
    notification: &Notification<T>,
) -> (Option<&Object<T>>, Option<&Object<T>>) {
    match notification {
        Notification::Added { object, .. } => (None, Some(object)),
        Notification::Updated { old, new } => (Some(old), Some(new)),
        Notification::Deleted(deleted) => (deleted.last.as_deref(), None),
        Notification::Lagged { .. } => (None, None),
    }
}

/// What happens now goes before what is only told again.
fn priority<T>(notification: &Notification<T>) -> Priority {
    match notification {
        Notification::Added { origin, .. } => match origin {
            Origin::Initial => Priority::LOW,
            Origin::Later => Priority::NORMAL,
        },
        Notification::Updated { old, new } if old.version == new.version => Priority::LOW,
        Notification::Updated { .. } | Notification::Deleted(_) | Notification::Lagged { .. } => {
            Priority::NORMAL
        }
    }
}
