//! A cursor on etcd's watch, which also learns of revisions that hold nothing for it.

use std::{sync::Arc, time::Duration};

use listwatch_etcd::{
    Content, Error, Event, KeyRange as EtcdRange, PreviousValues, ProgressRequests, Range, ReadAt,
    Watch, WatchRequest, WatchUpdate,
};
use listwatch_store::{
    Change, ChangeBatch, Changes, ChangesError, Follow, KeyRange, Previous, Revision, StoreFuture,
    pack,
};
use tokio::{
    sync::watch::Receiver,
    time::{Instant, sleep_until},
};

use crate::{cluster::Cluster, failure::changes_error, own_keys, progress::Progress, read::entry};

/// How long to wait for an answer about progress, at the most.
const ASK_PAUSE_MAX: Duration = Duration::from_millis(200);
/// A watch that is behind and says nothing for this long has lost its member. Another is then
/// tried, while readers still wait.
const SILENCE_MAX: Duration = Duration::from_secs(2);

/// Follows the changes of a range.
pub(crate) struct EtcdChanges {
    cluster: Arc<Cluster>,
    progress: Arc<Progress>,
    watch: Watch,
    range: KeyRange,
    /// Everything up to here has been told.
    through: Revision,
    /// The newest revision of etcd that is known to be there.
    known: Receiver<u64>,
    asking: Asking,
}

/// Whether the watch has to be asked how far it is.
#[derive(Clone, Copy)]
enum Asking {
    /// It has told all that is known to be there.
    Even,
    /// It is behind, and is asked at this time, and after each pause again.
    Behind {
        silent_since: Instant,
        at: Instant,
        pause: Duration,
    },
}

impl EtcdChanges {
    pub(crate) async fn open(
        cluster: &Arc<Cluster>,
        progress: &Arc<Progress>,
        follow: Follow,
    ) -> Result<Self, ChangesError> {
        let opening = Opening { cluster, follow };
        let number = opening.check_kept().await?;
        let ours = cluster.mount.watched_range(&opening.follow.range);
        let ours = ours.unwrap_or_else(|| EtcdRange::one(cluster.mount.own(own_keys::NOTHING)));
        let mut watch = opening.watch(ours, number).await?;
        if watch.progress_requests() == ProgressRequests::Unreliable {
            progress.tell_unreliable();
            // The key that is written to tell progress has to be among those watched.
            watch = opening.watch(cluster.mount.everything(), number).await?;
        }
        Ok(Self {
            cluster: Arc::clone(cluster),
            progress: Arc::clone(progress),
            watch,
            range: opening.follow.range,
            through: opening.follow.after,
            known: cluster.known(),
            asking: Asking::Even,
        })
    }

    async fn next_batch(&mut self) -> Result<ChangeBatch, ChangesError> {
        loop {
            self.judge_lag();
            let asked = async {
                match self.asking {
                    Asking::Behind { at, .. } => sleep_until(at).await,
                    Asking::Even => {
                        // The sender lives as long as the cluster, which is held here.
                        let _grown = self.known.changed().await;
                    }
                }
            };
            tokio::select! {
                biased;
                update = self.watch.next() => {
                    let update = update.map_err(|error| self.ended(&error))?;
                    self.asking = Asking::Even;
                    if let Some(batch) = self.take(update)? {
                        return Ok(batch);
                    }
                }
                () = asked => self.ask()?,
            }
        }
    }

    /// Notes whether something is known to be there that has not come.
    fn judge_lag(&mut self) {
        let known = self.cluster.revision(*self.known.borrow_and_update());
        self.asking = match self.asking {
            _ if known <= self.through => Asking::Even,
            Asking::Even => {
                let (pause, now) = (Progress::patience(&self.watch), Instant::now());
                Asking::Behind {
                    silent_since: now,
                    at: now + pause,
                    pause,
                }
            }
            behind @ Asking::Behind { .. } => behind,
        };
    }

    fn ask(&mut self) -> Result<(), ChangesError> {
        let Asking::Behind {
            silent_since,
            pause,
            ..
        } = self.asking
        else {
            return Ok(());
        };
        if silent_since.elapsed() > SILENCE_MAX {
            return Err(ChangesError::Unavailable {
                reason: format!("the watch on etcd has said nothing for {SILENCE_MAX:?}"),
            });
        }
        self.progress.request(&self.watch);
        self.asking = Asking::Behind {
            silent_since,
            at: Instant::now() + pause,
            pause: (pause * 2).min(ASK_PAUSE_MAX),
        };
        Ok(())
    }

    /// What an update says that is new; `None` for nothing.
    fn take(&mut self, update: WatchUpdate) -> Result<Option<ChangeBatch>, ChangesError> {
        let (events, number) = match update {
            WatchUpdate::Progress { revision } => match self.watch.progress_requests() {
                ProgressRequests::Reliable => (Vec::new(), revision),
                ProgressRequests::Unreliable => return Ok(None),
            },
            WatchUpdate::Events(events) => {
                let last = events.last().map_or(0, number_of);
                (events, last)
            }
        };
        self.cluster.saw(number);
        let through = self.cluster.revision(number);
        if through <= self.through {
            return Ok(None);
        }
        let after = std::mem::replace(&mut self.through, through);
        let changes = events
            .into_iter()
            .filter_map(|event| self.change(event, after));
        let changes = changes.collect::<Result<_, _>>()?;
        Ok(Some(ChangeBatch { changes, through }))
    }

    fn change(&self, event: Event, after: Revision) -> Option<Result<Change, ChangesError>> {
        let revision = self.cluster.revision(number_of(&event));
        let (stored, value, previous) = match event {
            Event::Put { current, previous } => {
                let value = pack(&current.value);
                (current.key, Some(value), previous)
            }
            Event::Delete { key, previous, .. } => (key, None, previous),
        };
        if revision <= after {
            return None;
        }
        if stored == self.cluster.mount.own(own_keys::REVISION_OFFSET) {
            let reason = "the revisions of these keys have been renumbered; start the server again";
            self.cluster.lose(reason.to_owned());
            return Some(Err(ChangesError::Unavailable {
                reason: reason.to_owned(),
            }));
        }
        let key = self.cluster.mount.known(&stored)?;
        let wanted = self.range.contains(&key);
        let previous = previous.and_then(|previous| entry(&self.cluster, &previous));
        wanted.then_some(Ok(Change {
            revision,
            key,
            value,
            previous,
        }))
    }

    fn ended(&self, error: &Error) -> ChangesError {
        match error {
            Error::Compacted { oldest } => {
                let requested = self.through;
                let oldest = oldest.map_or(requested, |oldest| self.cluster.revision(oldest));
                ChangesError::Compacted { requested, oldest }
            }
            other => changes_error(other),
        }
    }
}

impl Changes for EtcdChanges {
    fn next(&mut self) -> StoreFuture<'_, Result<ChangeBatch, ChangesError>> {
        Box::pin(self.next_batch())
    }
}

/// A cursor before it is there.
struct Opening<'a> {
    cluster: &'a Arc<Cluster>,
    follow: Follow,
}

impl Opening<'_> {
    /// The revision of etcd to follow from, if what is after it is still there.
    async fn check_kept(&self) -> Result<u64, ChangesError> {
        let oldest = self.cluster.oldest();
        let kept = self.cluster.number(self.follow.after);
        let Some(number) = kept.filter(|number| *number >= oldest) else {
            return Err(self.compacted(oldest));
        };
        let range = Range {
            at: ReadAt::Revision(number),
            content: Content::Count,
            ..Range::new(EtcdRange::one(self.cluster.mount.own(own_keys::NOTHING)))
        };
        match self.cluster.ask(self.cluster.client.range(range)).await {
            Ok(_) => Ok(number),
            Err(Error::Compacted { .. }) => Err(self.compacted(self.cluster.find_oldest().await)),
            // This also finds out whether etcd went back.
            Err(Error::FutureRevision) => match self.cluster.newest().await {
                Ok(_) => Ok(number),
                Err(error) => Err(changes_error(&error)),
            },
            Err(error) => Err(changes_error(&error)),
        }
    }

    /// Watches from the revision itself, not from the one after it: if a compaction overtakes it,
    /// etcd then says so, and does not begin with what the compaction has left of the next.
    async fn watch(&self, keys: EtcdRange, number: u64) -> Result<Watch, ChangesError> {
        let request = WatchRequest {
            keys,
            first_revision: Some(number),
            previous: match self.follow.previous {
                Previous::Told => PreviousValues::Included,
                Previous::NotNeeded => PreviousValues::Omitted,
            },
        };
        let opened = self.cluster.client.watch(request).await;
        match opened {
            Ok(watch) => Ok(watch),
            Err(Error::Compacted { .. }) => Err(self.compacted(self.cluster.find_oldest().await)),
            Err(error) => Err(changes_error(&error)),
        }
    }

    fn compacted(&self, oldest: u64) -> ChangesError {
        ChangesError::Compacted {
            requested: self.follow.after,
            oldest: self.cluster.revision(oldest),
        }
    }
}

fn number_of(event: &Event) -> u64 {
    match event {
        Event::Put { current, .. } => current.mod_revision,
        Event::Delete { revision, .. } => *revision,
    }
}
