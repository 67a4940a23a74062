//! Who forgets the past, when several have opened the same keys.
//!
//! Each tries, once in an interval, to be the one that writes the revision of now under a key of
//! the store's own. Who succeeds compacts up to the revision that was there before; the others take
//! over what it wrote. No clock is compared, and one that dies is replaced at the next interval.

use std::{
    sync::{Arc, Once},
    time::Duration,
};

use listwatch_etcd::{
    Compaction, Condition, Error, KeyRange, Operation, OperationAnswer, Outcome, Put, Range,
    Transaction,
};
use listwatch_store::CommitError;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::{cluster::Cluster, failure::commit_error, own_keys};

/// What the key says, as far as this process knows.
#[derive(Clone, Copy, Default)]
struct Mark {
    /// The revision that wrote it; 0 for never.
    written: u64,
    /// The revision that was the newest then.
    newest: u64,
}

/// Compacts once in an interval, unless another does.
pub(crate) async fn run(cluster: Arc<Cluster>, interval: Duration) {
    let mut ticks = interval_at(Instant::now() + interval, interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut mark = Mark::default();
    let denied = Once::new();
    loop {
        ticks.tick().await;
        match take_turn(&cluster, mark).await {
            Ok(next) => mark = next,
            Err(error @ Error::Denied { .. }) => denied.call_once(|| tell_denied(&error)),
            Err(error) => tracing::debug!(%error, "the past could not be forgotten now"),
        }
    }
}

/// Forgets what was before a revision of etcd, or before now if that is later than now.
pub(crate) async fn compact(cluster: &Cluster, number: u64) -> Result<(), CommitError> {
    match compact_up_to(cluster, number).await {
        Err(Error::FutureRevision) => {
            let newest = cluster.newest().await.map_err(commit_error)?;
            compact_up_to(cluster, newest).await.map_err(commit_error)
        }
        result => result.map_err(commit_error),
    }
}

async fn compact_up_to(cluster: &Cluster, number: u64) -> Result<(), Error> {
    let request = cluster.client.compact(number, Compaction::Agreed);
    match cluster.ask(request).await {
        // Somebody has compacted further already.
        Ok(_) | Err(Error::Compacted { .. }) => {
            cluster.compacted(number);
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Nobody notices otherwise before the database is full.
fn tell_denied(error: &Error) {
    tracing::warn!(
        %error,
        "etcd does not let its past be forgotten by this user, and grows; give it etcd's role \
         `root`, or let etcd compact itself"
    );
}

async fn take_turn(cluster: &Cluster, mark: Mark) -> Result<Mark, Error> {
    let newest = cluster.newest().await?;
    let key = cluster.mount.own(own_keys::COMPACTOR);
    let claim = Transaction {
        when: vec![Condition::unchanged(key.clone(), mark.written)],
        then: vec![Operation::Put(Put::new(key.clone(), newest.to_string()))],
        otherwise: vec![Operation::Range(Range::new(KeyRange::one(key)))],
    };
    let answer = cluster.ask(cluster.client.transact(claim)).await?;
    if answer.outcome == Outcome::Failed {
        return Ok(read_mark(&answer.answers));
    }
    if mark.newest > 0 {
        compact_up_to(cluster, mark.newest).await?;
        tracing::debug!(before = mark.newest, "the past is forgotten");
    }
    Ok(Mark {
        written: answer.header.revision,
        newest,
    })
}

fn read_mark(answers: &[OperationAnswer]) -> Mark {
    let Some(OperationAnswer::Range(range)) = answers.first() else {
        return Mark::default();
    };
    let mark = range.key_values.first().map(|found| Mark {
        written: found.mod_revision,
        // What cannot be read lets nothing be forgotten in the next turn.
        newest: std::str::from_utf8(&found.value)
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(0),
    });
    mark.unwrap_or_default()
}
