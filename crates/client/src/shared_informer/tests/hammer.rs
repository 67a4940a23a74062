//! Many threads at once: handlers come and go while changes stream.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use super::*;

const CHANGES: u64 = 4000;

/// Folds what it is told, and counts whatever does not follow from what it was told before.
#[derive(Clone, Default)]
struct Fold {
    state: Arc<Mutex<BTreeMap<ObjectKey, u64>>>,
    faults: Arc<AtomicUsize>,
    busy: Arc<AtomicBool>,
}

impl Handler<u64> for Fold {
    fn notify(&mut self, notification: Notification<u64>) {
        let alone = !self.busy.swap(true, Ordering::SeqCst);
        let mut state = self.state.lock();
        let follows = match &notification {
            Notification::Added { object, .. } => {
                state.insert(object.key.clone(), object.body).is_none()
            }
            Notification::Updated { old, new } => {
                state.insert(new.key.clone(), new.body) == Some(old.body) && old.body < new.body
            }
            Notification::Deleted(deleted) => state.remove(&deleted.key).is_some(),
            Notification::Lagged { .. } => true,
        };
        drop(state);
        self.faults
            .fetch_add(usize::from(!follows || !alone), Ordering::SeqCst);
        self.busy.store(false, Ordering::SeqCst);
    }
}

async fn feed(queue: DeltaQueue<u64>) {
    let mut random = fastrand::Rng::with_seed(7);
    let mut known = [None; 20];
    queue.push(vec![delta("=1:")]).await.unwrap();
    for version in 2..CHANGES {
        let index = random.usize(..known.len());
        let delete = known[index].is_some() && random.u8(..4) == 0;
        known[index] = (!delete).then_some(version);
        let verb = if delete { '-' } else { '~' };
        let key = char::from(b'a' + u8::try_from(index).unwrap());
        let fed = delta(&format!("{verb}{key}{version}"));
        queue.push(vec![fed]).await.unwrap();
    }
    queue
        .push(vec![delta(&format!("!{CHANGES}"))])
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn handlers_that_join_while_changes_stream_miss_nothing_and_see_nothing_twice() {
    let World { informer, queue } = World::started();
    let feeding = tokio::spawn(feed(queue));
    let mut handlers = Vec::new();
    for round in 0..60 {
        let bound = match round % 3 {
            0 => Bound::Block(8),
            1 => Bound::Coalesce,
            _ => Bound::Drop(4),
        };
        let options = HandlerOptions {
            bound,
            ..HandlerOptions::default()
        };
        let fold = Fold::default();
        let registration = informer.add_handler_with(fold.clone(), options).unwrap();
        if round % 5 == 4 {
            registration.shut_down().await;
            assert_eq!(fold.faults.load(Ordering::SeqCst), 0);
        } else {
            handlers.push((registration, fold));
        }
        tokio::task::yield_now().await;
    }
    feeding.await.unwrap();
    let patience = Duration::from_secs(30);
    let last = informer.read_at_least(&CHANGES.into(), patience).await;
    let last: BTreeMap<_, _> = last
        .unwrap()
        .iter()
        .map(|object| (object.key.clone(), object.body))
        .collect();
    for (registration, fold) in handlers {
        registration.synced().await.unwrap();
        let caught_up = async {
            while *fold.state.lock() != last {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(patience, caught_up).await.unwrap();
        assert_eq!(fold.faults.load(Ordering::SeqCst), 0);
        assert_eq!(registration.status().panics, 0);
    }
    informer.shut_down().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn shutting_down_in_the_middle_of_everything_ends_everything() {
    for _ in 0..50 {
        let World { informer, queue } = World::started();
        let feeding = tokio::spawn(async move {
            for version in 1.. {
                if queue
                    .push(vec![delta(&format!("~a{version}"))])
                    .await
                    .is_err()
                {
                    return;
                }
            }
        });
        let token = Arc::new(());
        for _ in 0..4 {
            let held = Arc::clone(&token);
            informer
                .add_handler(move |_| drop(Arc::clone(&held)))
                .unwrap();
        }
        informer.shut_down().await;
        assert_eq!(Arc::strong_count(&token), 1);
        feeding.await.unwrap();
    }
}
