//! Waiting at an informer: its cache first, then what it tells.

use super::{UntilError, Waiting};
use crate::{HandlerOptions, Notification, SharedInformer, shared_informer::InformerStopped};

pub(super) async fn wait<T: Send + Sync + 'static>(
    informer: &SharedInformer<T>,
    waiting: &mut Waiting<'_, T>,
) -> Result<(), UntilError> {
    // Subscribed before the cache is read, so that no change falls between the two.
    let mut subscription = informer.subscribe(&HandlerOptions::default())?;
    informer.wait_until_synced().await?;
    let snapshot = informer.cache().snapshot();
    for key in waiting.pending.clone() {
        waiting.look(&key, snapshot.get(key.as_str()));
    }
    while !waiting.is_over() {
        match subscription.next().await {
            Some(Notification::Added { object, .. }) => waiting.look(&object.key, Some(&object)),
            Some(Notification::Updated { new, .. }) => waiting.look(&new.key, Some(&new)),
            Some(Notification::Deleted(deleted)) => waiting.look(&deleted.key, None),
            Some(Notification::Lagged { .. }) => {}
            None => return Err(UntilError::InformerStopped),
        }
    }
    Ok(())
}

impl From<InformerStopped> for UntilError {
    fn from(_: InformerStopped) -> Self {
        Self::InformerStopped
    }
}
