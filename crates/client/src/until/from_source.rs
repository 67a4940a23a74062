//! Waiting at a source: list, then watch, and list again when the watch has expired.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::time::sleep;

use super::{UntilError, Waiting};
use crate::{
    Decoder, ListerWatcher, Object, ObjectKey, Pager, PagerSettings, RawEvent, RawObject,
    RetryWatcher, RetryWatcherSettings, SourceError, Version, pager::PagedPart,
};

/// The pause before a list that failed is tried again.
const LIST_RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Objects that are waited for; `None` for one that cannot be decoded.
type Found<T> = BTreeMap<ObjectKey, Option<Arc<Object<T>>>>;

pub(super) async fn wait<T>(
    source: &Arc<dyn ListerWatcher>,
    decoder: &Decoder<T>,
    waiting: &mut Waiting<'_, T>,
) -> Result<(), UntilError> {
    loop {
        let version = match list(source, decoder, waiting).await {
            Ok(version) => version,
            Err(error) => {
                pause(error).await?;
                continue;
            }
        };
        if waiting.is_over() {
            return Ok(());
        }
        match watch(source, decoder, waiting, version).await {
            Err(expired @ SourceError::Expired { .. }) => pause(expired).await?,
            ended => return Ok(ended?),
        }
    }
}

/// Looks at what there is, and returns its version.
async fn list<T>(
    source: &Arc<dyn ListerWatcher>,
    decoder: &Decoder<T>,
    waiting: &mut Waiting<'_, T>,
) -> Result<Version, SourceError> {
    let mut pager = Pager::new(Arc::clone(source), PagerSettings::default());
    let mut found = Found::new();
    while let Some(part) = pager.next().await {
        match part? {
            PagedPart::Items(items) => {
                for raw in items.into_iter().flatten() {
                    if waiting.concerns(&raw.key) {
                        let object = decode(decoder, &raw);
                        found.insert(raw.key, object);
                    }
                }
            }
            PagedPart::StartOver => found.clear(),
        }
    }
    for key in waiting.pending.clone() {
        match found.remove(&key) {
            Some(Some(object)) => waiting.look(&key, Some(&object)),
            Some(None) => {}
            None => waiting.look(&key, None),
        }
    }
    let version = pager.version().cloned();
    version.ok_or_else(|| SourceError::Unreadable {
        reason: "the list has no version to watch from".to_owned(),
    })
}

/// Looks at what changes, until nothing is left to wait for.
async fn watch<T>(
    source: &Arc<dyn ListerWatcher>,
    decoder: &Decoder<T>,
    waiting: &mut Waiting<'_, T>,
    start: Version,
) -> Result<(), SourceError> {
    let settings = RetryWatcherSettings::default();
    let mut watcher = RetryWatcher::new(Arc::clone(source), start, settings);
    while !waiting.is_over() {
        let event = watcher.next().await;
        match event.expect("it ends with an error, and that ended this")? {
            RawEvent::Added(raw) | RawEvent::Modified(raw) => {
                if waiting.concerns(&raw.key)
                    && let Some(object) = decode(decoder, &raw)
                {
                    waiting.look(&raw.key, Some(&object));
                }
            }
            RawEvent::Deleted(raw) => waiting.look(&raw.key, None),
            RawEvent::Bookmark(_) | RawEvent::Unreadable(_) => {}
        }
    }
    Ok(())
}

/// Waits a little, or hands the error back if waiting cannot help.
async fn pause(error: SourceError) -> Result<(), SourceError> {
    let asked_for = match &error {
        SourceError::Denied { .. } | SourceError::Refused { .. } => return Err(error),
        SourceError::TooLarge { retry_after, .. }
        | SourceError::TooManyRequests { retry_after, .. } => *retry_after,
        SourceError::Expired { .. }
        | SourceError::ConnectionRefused { .. }
        | SourceError::Disconnected { .. }
        | SourceError::Internal { .. }
        | SourceError::Unreadable { .. } => None,
    };
    tracing::debug!(%error, "the list is tried again");
    sleep(asked_for.unwrap_or(LIST_RETRY_PAUSE)).await;
    Ok(())
}

fn decode<T>(decoder: &Decoder<T>, raw: &RawObject) -> Option<Arc<Object<T>>> {
    match decoder.decode(raw) {
        Ok(object) => Some(Arc::new(object)),
        Err(error) => {
            tracing::warn!(%error, key = %raw.key, "an object that is waited for cannot be read");
            None
        }
    }
}
