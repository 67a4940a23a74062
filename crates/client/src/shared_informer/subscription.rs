//! Notifications for code that asks instead of being called.

use std::{fmt, sync::Arc};

use futures_util::{Stream, stream};

use super::{Registration, SharedInformer, cursor::Cursor};
use crate::Notification;

/// A handler that is asked. It keeps its informer alive; dropping it removes it.
///
/// A subscription with [`Bound::Block`](super::Bound::Block) that nobody asks holds up its
/// informer.
pub struct Subscription<T> {
    cursor: Cursor<T>,
    registration: Registration,
    _informer: SharedInformer<T>,
}

impl<T> Subscription<T> {
    pub(super) fn new(cursor: Cursor<T>, informer: SharedInformer<T>) -> Self {
        let ticket = Arc::clone(cursor.ticket());
        Self {
            registration: Registration::new(ticket, cursor.stage()),
            cursor,
            _informer: informer,
        }
    }

    /// The next notification; `None` when the subscription was removed or the informer stopped.
    /// Cancel safe: a dropped future loses nothing.
    pub async fn next(&mut self) -> Option<Notification<T>> {
        loop {
            if let Some(notification) = self.cursor.next() {
                self.cursor.settle();
                self.cursor.ticket().tally.count_delivered();
                return Some(notification);
            }
            self.cursor.fill().await.ok()?;
        }
    }

    /// The notifications as a stream.
    pub fn into_stream(self) -> impl Stream<Item = Notification<T>> {
        stream::unfold(self, async |mut subscription| {
            let notification = subscription.next().await?;
            Some((notification, subscription))
        })
    }

    /// Its sync, its counts and its end. What was returned counts as taken in.
    pub fn registration(&self) -> &Registration {
        &self.registration
    }
}

impl<T> fmt::Debug for Subscription<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.registration.fmt(formatter)
    }
}
