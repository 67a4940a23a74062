//! Takes keys one by one and works on each, until told to stop.

use std::{fmt, hash::Hash, panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt;
use listwatch::{Next, WorkQueue};
use tokio::{task::JoinSet, time::timeout};

use crate::{controllers::Stop, objects::is_conflict};

/// How long the work under way may take to end. Then it is dropped where it waits.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait after another writer was faster.
const CONFLICT_PAUSE: Duration = Duration::from_millis(20);

/// Who lost a race against another writer tries again soon, and has not failed.
pub(crate) fn again_on_conflict(attempted: kube::Result<Next>) -> kube::Result<Next> {
    match attempted {
        Err(error) if is_conflict(&error) => Ok(Next::After(CONFLICT_PAUSE)),
        other => other,
    }
}

/// Works on what is queued, on so many keys at a time. Ends when told to stop, after the keys that
/// are being worked on.
pub(crate) async fn work<K, F, E>(
    (name, count): (&'static str, usize),
    queue: &WorkQueue<K>,
    mut stop: Stop,
    attempt: impl Fn(K) -> F + Clone + Send + 'static,
) where
    K: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static,
    F: Future<Output = Result<Next, E>> + Send + 'static,
    E: fmt::Display + 'static,
{
    let mut workers = JoinSet::new();
    for _ in 0..count {
        workers.spawn(run(name, queue.clone(), attempt.clone()));
    }
    stop.requested().await;
    queue.shut_down();
    let all_ended = async { while workers.join_next().await.is_some() {} };
    if timeout(STOP_PATIENCE, all_ended).await.is_err() {
        tracing::warn!(controller = name, "stopped in the middle of its work");
    }
}

async fn run<K, F, E>(name: &'static str, queue: WorkQueue<K>, attempt: impl Fn(K) -> F)
where
    K: Clone + Eq + Hash + fmt::Debug,
    F: Future<Output = Result<Next, E>>,
    E: fmt::Display,
{
    while let Some(permit) = queue.get().await {
        if queue.is_shutting_down() {
            continue;
        }
        let key = permit.key().clone();
        let attempted = AssertUnwindSafe(attempt(key.clone())).catch_unwind().await;
        match attempted {
            Ok(Ok(next)) => {
                queue.forget(&key);
                if let Next::After(delay) = next {
                    queue.add_after(key, delay);
                }
            }
            Ok(Err(error)) => {
                tracing::debug!(controller = name, ?key, "will try again: {error}");
                queue.add_rate_limited(key);
            }
            Err(_) => {
                tracing::error!(controller = name, ?key, "panicked; will try again");
                queue.add_rate_limited(key);
            }
        }
    }
}
