//! The same work on many numbered pieces, by a bounded number of workers.

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::task::JoinSet;

/// Calls `work` once for each of the numbers below `pieces`, at most `workers` at a time.
///
/// When `stop` completes, no further piece is begun; those begun are finished. Pieces are handed
/// out one by one, which costs an addition, so nothing is won by larger chunks. A panic of `work`
/// goes on in the caller; a caller that goes away ends the work at its next await.
pub async fn parallelize_until<W, F>(
    stop: impl Future<Output = ()>,
    workers: usize,
    pieces: usize,
    work: W,
) where
    W: Fn(usize) -> F + Send + Sync + 'static,
    F: Future<Output = ()> + Send,
{
    let work = Arc::new(work);
    let next = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..workers.max(1).min(pieces) {
        let (work, next) = (Arc::clone(&work), Arc::clone(&next));
        tasks.spawn(async move {
            loop {
                let piece = next.fetch_add(1, Ordering::Relaxed);
                if piece >= pieces {
                    return;
                }
                work(piece).await;
            }
        });
    }
    let mut stop = pin!(stop);
    let mut stopped = false;
    loop {
        tokio::select! {
            biased;
            () = &mut stop, if !stopped => {
                stopped = true;
                next.store(pieces, Ordering::Relaxed);
            }
            ended = tasks.join_next() => match ended {
                None => return,
                Some(Ok(())) => {}
                Some(Err(error)) => std::panic::resume_unwind(error.into_panic()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, time::Duration};

    use parking_lot::Mutex;
    use tokio::{sync::oneshot, time::sleep};

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn every_piece_is_visited_once() {
        for (workers, pieces) in [(10, 1000), (7, 999), (50, 3), (1, 20), (4, 0)] {
            let visits: Arc<Vec<AtomicUsize>> =
                Arc::new((0..pieces).map(|_| AtomicUsize::new(0)).collect());
            let counted = Arc::clone(&visits);
            let visit = move |piece: usize| {
                counted[piece].fetch_add(1, Ordering::Relaxed);
                async {}
            };
            parallelize_until(pending(), workers, pieces, visit).await;
            let visits = visits.iter().map(|visits| visits.load(Ordering::Relaxed));
            assert!(visits.eq(std::iter::repeat_n(1, pieces)));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_workers_run_than_were_asked_for() {
        let running = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let observed = Arc::clone(&running);
        let work = move |_| {
            let running = Arc::clone(&running);
            async move {
                let now = running.0.fetch_add(1, Ordering::Relaxed) + 1;
                running.1.fetch_max(now, Ordering::Relaxed);
                sleep(Duration::from_secs(1)).await;
                running.0.fetch_sub(1, Ordering::Relaxed);
            }
        };
        parallelize_until(pending(), 3, 10, work).await;
        assert_eq!(observed.1.load(Ordering::Relaxed), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn after_the_stop_nothing_is_begun_and_what_was_begun_is_finished() {
        let finished = Arc::new(Mutex::new(Vec::new()));
        let (stop, stopped) = oneshot::channel::<()>();
        let stop = Arc::new(Mutex::new(Some(stop)));
        let seen = Arc::clone(&finished);
        let work = move |piece| {
            let (stop, finished) = (Arc::clone(&stop), Arc::clone(&finished));
            async move {
                if piece == 2 {
                    drop(stop.lock().take());
                }
                sleep(Duration::from_secs(1)).await;
                finished.lock().push(piece);
            }
        };
        let stopped = async {
            let _ = stopped.await;
        };
        parallelize_until(stopped, 2, 100, work).await;
        assert_eq!(*seen.lock(), [0, 1, 2, 3]);
    }
}
