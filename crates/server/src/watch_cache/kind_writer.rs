//! The feeder's half of one kind's cache. There is one of it, so that there is one writer.

use std::{cmp::Ordering, sync::Arc};

use listwatch_store::{Change, Page, Read, ReadError, Revision};
use tokio::time::Instant;

use super::{
    CacheLimits,
    bell::Wake,
    event::Event,
    journal::Lifecycle,
    kind_cache::{KindCache, KindShared, entry},
    kind_layout::KindLayout,
    origin::Origin,
    view::View,
};

/// Events that are recorded in one go, at the most, before watchers may read again. The events of
/// one commit stay together.
const RECORD_EVENTS_MAX: usize = 64;

/// Applies the changes of one kind.
pub(super) struct KindWriter {
    shared: Arc<KindShared>,
    view: View,
    /// Changes up to here were part of what was loaded.
    loaded: Revision,
    /// Events that have been applied to the view and not been published.
    pending: Vec<Arc<Event>>,
}

impl KindWriter {
    /// Reads a kind as it is, or as it was at a revision.
    pub(super) async fn load(
        layout: Arc<KindLayout>,
        at: Option<Revision>,
        origin: &Arc<Origin>,
        limits: CacheLimits,
    ) -> Result<Self, ReadError> {
        let newest = Read::newest(layout.range());
        let read = at.map_or(newest.clone(), |at| newest.at(at));
        let page = origin.store.read(read).await?;
        let loaded = page.revision;
        let empty = View::loaded(&[], loaded, &layout);
        let shared = KindShared::new(
            Arc::clone(&layout),
            Arc::clone(origin),
            Arc::new(empty.clone()),
            limits,
        );
        let present = page.entries.into_iter();
        let objects: Vec<_> = present
            .filter_map(|entry| shared.read_present(entry))
            .collect();
        let view = View::loaded(&objects, loaded, &layout);
        shared.publish(Arc::new(view.clone()));
        Ok(Self {
            shared: Arc::new(shared),
            view,
            loaded,
            pending: Vec::new(),
        })
    }

    /// The readers' half.
    pub(super) fn reader(&self) -> KindCache {
        KindCache::new(Arc::clone(&self.shared))
    }

    pub(super) fn layout(&self) -> &KindLayout {
        &self.shared.layout
    }

    /// The revision of what was loaded.
    pub(super) fn loaded(&self) -> Revision {
        self.loaded
    }

    /// Applies a change. Nobody sees it before [`Self::publish`].
    pub(super) fn apply(&mut self, change: Change) {
        let Change {
            revision,
            key,
            value,
            ..
        } = change;
        if revision <= self.loaded {
            return;
        }
        let object = match value {
            Some(value) => self
                .shared
                .read_present(entry(key.clone(), revision, value)),
            None => {
                self.shared.unreadable.forget(&key);
                None
            }
        };
        let previous = self.view.replace(&key, object.clone(), &self.shared.layout);
        self.view.revision = revision;
        if let Some(event) = Event::new(revision, previous, object) {
            self.view.sequence += 1;
            self.pending.push(Arc::new(event));
        }
    }

    /// Makes what was applied visible, and tells who is to be woken for it.
    pub(super) fn publish(&mut self, now: Instant) -> Vec<Wake> {
        for commits in whole_commits(&self.pending) {
            self.shared.journal.write().record(commits, now);
        }
        self.pending.clear();
        self.shared.publish(Arc::new(self.view.clone()));
        self.shared.journal.write().fanout.take_wakes()
    }

    /// Whether something was applied that nobody sees yet.
    pub(super) fn has_news(&self) -> bool {
        !self.pending.is_empty()
    }

    /// The revision up to which the kind is known.
    pub(super) fn known(&self) -> Revision {
        self.shared.origin.applied.get().max(self.view.revision)
    }

    /// Brings the cache to a state that was read after changes had been missed: the differences
    /// become ordinary events.
    pub(super) fn reconcile(&mut self, page: Page, now: Instant) -> Vec<Wake> {
        let (known, revision) = (self.known(), page.revision);
        self.shared.unreadable.retain(&page);
        let differences = differences(&self.view, page, known.next());
        if !differences.is_empty() {
            let prefix = self.shared.layout.storage_prefix();
            let (after, through) = (known, revision);
            tracing::info!(prefix, %after, %through, "only the difference is told");
        }
        for change in differences {
            self.apply(change);
        }
        self.view.revision = revision;
        self.loaded = revision;
        self.shared.journal.write().mark_gap(known, revision);
        self.publish(now)
    }

    /// Lets go of what is too old.
    pub(super) fn trim(&self, now: Instant, past_unused_since: Option<Instant>) {
        self.shared.journal.write().trim(now);
        if let Some(unused_since) = past_unused_since {
            self.shared.forget_past(unused_since);
        }
    }

    /// Ends the watches on the kind.
    pub(super) fn remove(self) -> Vec<Wake> {
        let mut journal = self.shared.journal.write();
        journal.lifecycle = Lifecycle::Removed;
        journal.fanout.all_wakes()
    }
}

/// Cuts events into parts that are not too large and hold only whole commits.
fn whole_commits(events: &[Arc<Event>]) -> impl Iterator<Item = &[Arc<Event>]> {
    let mut rest = events;
    std::iter::from_fn(move || {
        let last = rest.get(rest.len().min(RECORD_EVENTS_MAX).checked_sub(1)?)?;
        let end = rest.partition_point(|event| event.revision() <= last.revision());
        let (part, after) = rest.split_at(end);
        rest = after;
        Some(part)
    })
}

/// What leads from the view to the page, in the order of the revisions.
///
/// When a key was deleted is not known. All deletions come first, so that whoever has been told of
/// everything up to a revision can go on from there with what the store has after it:
///
/// ```text
/// known at 3: a@1 b@2     missed: a@5, b deleted, d@13     read at 14: a@5 d@13
/// told: b deleted@4, a@5, d@13
/// ```
fn differences(view: &View, page: Page, deleted_at: Revision) -> Vec<Change> {
    let entries = page.entries;
    let mut known = view.objects.iter_from(b"").peekable();
    let mut changes = Vec::new();
    let deletion = |key: &listwatch_store::Key| Change {
        revision: deleted_at,
        key: key.clone(),
        value: None,
        previous: None,
    };
    for entry in entries {
        while let Some(gone) = known.next_if(|object| *object.key() < entry.key) {
            changes.push(deletion(gone.key()));
        }
        let same = known
            .next_if(|object| object.key().cmp(&entry.key) == Ordering::Equal)
            .is_some_and(|object| object.revision() == entry.revision);
        if !same {
            changes.push(Change {
                revision: entry.revision,
                key: entry.key,
                value: Some(entry.value),
                previous: None,
            });
        }
    }
    changes.extend(known.map(|gone| deletion(gone.key())));
    // What was written at the revision of the deletions goes before them: who goes on from there is
    // told of all deletions after it, but not of the write again.
    changes.sort_by_key(|change| (change.revision, change.value.is_none()));
    changes
}
