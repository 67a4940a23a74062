//! Keys to work on: each queued once, worked on by one at a time, tried again at a limited rate.
//!
//! A key that comes again while it is queued is merged; one that comes while it is worked on is
//! handed out again afterwards. So the queue is as large as the set of keys, not as the changes.

mod measures;
mod parallelize;
mod rate_limiter;
mod schedule;
#[cfg(test)]
mod tests;

use std::{fmt, future::Future, hash::Hash, ops::Deref, pin::pin, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::Notify,
    time::{Instant, MissedTickBehavior, interval, sleep_until},
};

use measures::Measures;
use schedule::{Change, Schedule};

pub use parallelize::parallelize_until;
pub use rate_limiter::{
    FastSlow, ItemExponential, MaxOf, RateLimiter, TokenBucket, WithMaxWait, default_limiter,
};

/// The longest delay of a key. One that is given a longer delay comes after this.
const DELAY_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);
/// How often [`WorkQueue::report_unfinished_work`] reports.
const REPORT_INTERVAL: Duration = Duration::from_millis(500);

/// A queue of keys. Clones are the same queue.
///
/// ```
/// # use listwatch::work_queue::WorkQueue;
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let queue = WorkQueue::new("deployments");
/// queue.add("default/web");
/// queue.add("default/web");
/// queue.shut_down();
/// while let Some(permit) = queue.get().await {
///     println!("working on {}", *permit);
/// } // the drop of the permit ends the work on its key
/// # });
/// ```
///
/// Keys of a higher [`Priority`] leave first, and keys of one priority in the order in which they
/// came. A queued key that is added again takes the higher priority and the earlier time of the
/// two; if that raises its priority, it goes to the end of its new class.
pub struct WorkQueue<K> {
    shared: Arc<Shared<K>>,
}

/// What a queue can be told when it is made.
pub struct WorkQueueSettings<K> {
    /// Decides how long [`When::RateLimited`] is.
    pub limiter: Box<dyn RateLimiter<K>>,
    /// How many keys may be queued. At the bound a new key is refused with [`Added::Full`], while
    /// one that is queued already or being worked on is still taken. `None` means that there are
    /// as many as there are different keys.
    pub keys_max: Option<usize>,
}

/// The right to work on a key, which nobody else has at the same time. Its drop ends the work.
pub struct Permit<K: Clone + Eq + Hash> {
    queue: WorkQueue<K>,
    key: K,
    priority: Priority,
}

/// Which keys leave the queue first: the greater ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(pub i32);

impl Priority {
    /// Of keys about which nothing else was said.
    pub const NORMAL: Self = Self(0);
    /// Of keys that can wait until everything that happens now is dealt with, such as those of
    /// objects that were there at the start.
    pub const LOW: Self = Self(-100);
}

/// When a key is to be handed out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// As soon as its turn comes.
    #[default]
    Now,
    /// Not before this time has passed.
    After(Duration),
    /// When the queue's [`RateLimiter`] says, which counts it as a failure of the key.
    RateLimited,
}

/// What became of an added key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It will be handed out.
    Queued,
    /// It was queued already, and will be handed out once.
    Merged,
    /// There was no room for a new key, see [`WorkQueueSettings::keys_max`].
    Full,
    /// The queue takes nothing any more.
    ShutDown,
}

struct Shared<K> {
    name: String,
    state: Mutex<State<K>>,
    /// Something can be taken, or the next time to look has changed.
    changed: Notify,
    /// Everything is done, or waiting for that is over.
    drained: Notify,
    measures: Measures,
}

struct State<K> {
    schedule: Schedule<K>,
    limiter: Box<dyn RateLimiter<K>>,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Takes new keys.
    Open,
    /// Hands out what it has. Somebody waits for the end of it.
    Draining,
    /// Hands out what it has.
    ShutDown,
}

enum Attempt<K: Clone + Eq + Hash> {
    Taken(Permit<K>),
    Pending { next_due: Option<Instant> },
    Ended,
}

impl<K: Clone + Eq + Hash + Send + 'static> WorkQueue<K> {
    /// A queue with the [`default_limiter`]. The name labels its metrics, which go to the recorder
    /// that is installed now.
    pub fn new(name: &str) -> Self {
        Self::with_settings(name, WorkQueueSettings::default())
    }
}

impl<K: Clone + Eq + Hash> WorkQueue<K> {
    /// A queue as the settings say. The name labels its metrics, which go to the recorder that is
    /// installed now.
    pub fn with_settings(name: &str, settings: WorkQueueSettings<K>) -> Self {
        let state = State {
            schedule: Schedule::new(settings.keys_max),
            limiter: settings.limiter,
            phase: Phase::Open,
        };
        let shared = Shared {
            name: name.to_owned(),
            state: Mutex::new(state),
            changed: Notify::new(),
            drained: Notify::new(),
            measures: Measures::new(name),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Queues a key.
    pub fn add(&self, key: K) -> Added {
        self.add_with(key, Priority::NORMAL, When::Now)
    }

    /// Queues a key for later. If it is queued already, the earlier time counts.
    pub fn add_after(&self, key: K, delay: Duration) -> Added {
        self.add_with(key, Priority::NORMAL, When::After(delay))
    }

    /// Queues a key that failed, for when the limiter says.
    pub fn add_rate_limited(&self, key: K) -> Added {
        self.add_with(key, Priority::NORMAL, When::RateLimited)
    }

    /// Queues a key with a priority, for a time.
    pub fn add_with(&self, key: K, priority: Priority, when: When) -> Added {
        let mut state = self.shared.state.lock();
        if state.phase != Phase::Open {
            return Added::ShutDown;
        }
        let now = Instant::now();
        self.advance(&mut state, now);
        let delay = match when {
            When::Now => Duration::ZERO,
            When::After(delay) => delay,
            When::RateLimited => state.limiter.next_delay(&key),
        };
        let due_before = state.schedule.next_due();
        let length_before = state.schedule.len();
        let change = state
            .schedule
            .add(key, priority, now + delay.min(DELAY_MAX), now);
        let measures = &self.shared.measures;
        if change != Change::NoRoom && !delay.is_zero() {
            measures.delayed();
        }
        measures.due(state.schedule.len() - length_before);
        measures.depth(state.schedule.len());
        if state.schedule.has_ready() {
            self.shared.changed.notify_one();
        }
        if state.schedule.next_due() != due_before {
            self.shared.changed.notify_waiters();
        }
        match change {
            Change::Queued => Added::Queued,
            Change::Merged => Added::Merged,
            Change::NoRoom => {
                measures.refused();
                Added::Full
            }
        }
    }

    /// Waits for the next key and takes it. `None` when the queue is shut down and everything that
    /// it had taken in was handed out.
    ///
    /// A caller that goes away while it waits loses nothing.
    pub async fn get(&self) -> Option<Permit<K>> {
        loop {
            let mut changed = pin!(self.shared.changed.notified());
            changed.as_mut().enable();
            let next_due = match self.attempt() {
                Attempt::Taken(permit) => return Some(permit),
                Attempt::Ended => return None,
                Attempt::Pending { next_due } => next_due,
            };
            match next_due {
                Some(due) => tokio::select! {
                    () = changed => {}
                    () = sleep_until(due) => {}
                },
                None => changed.await,
            }
        }
    }

    /// Ends the counting of failures of a key: its next retry comes soon again.
    pub fn forget(&self, key: &K) {
        self.shared.state.lock().limiter.forget(key);
    }

    /// How often a key has failed since it was last forgotten.
    pub fn requeues(&self, key: &K) -> u32 {
        self.shared.state.lock().limiter.requeues(key)
    }

    /// How many keys are due. Those that wait for their time do not count; one that came again
    /// while it is worked on does.
    pub fn len(&self) -> usize {
        let mut state = self.shared.state.lock();
        self.advance(&mut state, Instant::now());
        state.schedule.len()
    }

    /// Whether no key is due.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes no new keys from now on and drops those that wait for their time. What is due is
    /// still handed out. Ends every wait of [`WorkQueue::shut_down_with_drain`].
    pub fn shut_down(&self) {
        self.close(Phase::ShutDown);
        self.shared.drained.notify_waiters();
    }

    /// Takes no new keys from now on, as [`WorkQueue::shut_down`] does. The future waits until
    /// all that was due is handed out and done, or until [`WorkQueue::shut_down`] is called.
    pub fn shut_down_with_drain(&self) -> impl Future<Output = ()> {
        self.close(Phase::Draining);
        async {
            loop {
                let mut drained = pin!(self.shared.drained.notified());
                drained.as_mut().enable();
                if self.shared.state.lock().is_drained() {
                    return;
                }
                drained.await;
            }
        }
    }

    /// Whether the queue takes no new keys any more.
    pub fn is_shutting_down(&self) -> bool {
        self.shared.state.lock().phase != Phase::Open
    }

    /// Publishes twice a second how long the keys in work have been worked on, until the queue is
    /// shut down. Without it these two numbers are not published.
    pub async fn report_unfinished_work(&self) {
        let mut ticks = interval(REPORT_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        while !self.is_shutting_down() {
            ticks.tick().await;
            let unfinished = self.shared.state.lock().schedule.unfinished(Instant::now());
            self.shared.measures.unfinished(unfinished);
        }
    }

    fn attempt(&self) -> Attempt<K> {
        let mut state = self.shared.state.lock();
        let now = Instant::now();
        self.advance(&mut state, now);
        let Some(taken) = state.schedule.take(now) else {
            if state.phase != Phase::Open && state.schedule.len() == 0 {
                return Attempt::Ended;
            }
            let next_due = state.schedule.next_due();
            return Attempt::Pending { next_due };
        };
        self.shared.measures.taken(&taken);
        self.shared.measures.depth(state.schedule.len());
        // One who was woken for the next key may not be polled for long, so wake another.
        if state.schedule.has_ready() {
            self.shared.changed.notify_one();
        } else if state.phase != Phase::Open && state.schedule.len() == 0 {
            self.shared.changed.notify_waiters();
        }
        Attempt::Taken(Permit {
            queue: self.clone(),
            key: taken.key,
            priority: taken.priority,
        })
    }

    fn finish(&self, key: &K) {
        let mut state = self.shared.state.lock();
        let worked = state.schedule.finish(key, Instant::now());
        if let Some(worked) = worked {
            self.shared.measures.finished(worked);
        }
        if state.schedule.has_ready() {
            self.shared.changed.notify_one();
        }
        if state.phase == Phase::Draining && state.is_drained() {
            self.shared.drained.notify_waiters();
        }
    }

    fn advance(&self, state: &mut State<K>, now: Instant) {
        let advanced = state.schedule.advance(now);
        if advanced > 0 {
            self.shared.measures.due(advanced);
            self.shared.measures.depth(state.schedule.len());
        }
    }

    fn close(&self, phase: Phase) {
        let mut state = self.shared.state.lock();
        self.advance(&mut state, Instant::now());
        state.phase = phase;
        state.schedule.drop_waiting();
        self.shared.changed.notify_waiters();
    }
}

impl<K: Clone + Eq + Hash> State<K> {
    fn is_drained(&self) -> bool {
        let done = self.schedule.len() == 0 && !self.schedule.is_working();
        done || self.phase == Phase::ShutDown
    }
}

impl<K: Clone + Eq + Hash> Permit<K> {
    /// The key to work on.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// The priority with which it was handed out.
    pub fn priority(&self) -> Priority {
        self.priority
    }

    /// Ends the work on the key, as the drop does.
    pub fn done(self) {}
}

impl<K: Clone + Eq + Hash> Deref for Permit<K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.key
    }
}

impl<K: Clone + Eq + Hash> Drop for Permit<K> {
    fn drop(&mut self) {
        self.queue.finish(&self.key);
    }
}

impl<K: Clone + Eq + Hash + Send + 'static> Default for WorkQueueSettings<K> {
    fn default() -> Self {
        Self {
            limiter: Box::new(default_limiter()),
            keys_max: None,
        }
    }
}

impl<K> Clone for WorkQueue<K> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<K> fmt::Debug for WorkQueue<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WorkQueue")
            .field("name", &self.shared.name)
            .finish_non_exhaustive()
    }
}

impl<K> fmt::Debug for WorkQueueSettings<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WorkQueueSettings")
            .field("keys_max", &self.keys_max)
            .finish_non_exhaustive()
    }
}

impl<K: Clone + Eq + Hash + fmt::Debug> fmt::Debug for Permit<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Permit")
            .field("key", &self.key)
            .field("priority", &self.priority)
            .finish()
    }
}
