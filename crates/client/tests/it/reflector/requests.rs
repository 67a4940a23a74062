//! What a scenario cannot say: times by chance, and memory.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use listwatch::{
    Decoder, Delta, DeltaQueue, Reflector, ReflectorSettings,
    reflector::Phase,
    source::{ScriptedSource, scripted::Request},
};

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn a_watch_is_asked_to_last_between_five_and_ten_minutes_by_chance() {
    let source = ScriptedSource::new();
    let queue: DeltaQueue<_> = DeltaQueue::in_order();
    let settings = ReflectorSettings {
        random: fastrand::Rng::with_seed(3),
        ..ReflectorSettings::default()
    };
    let reflector = Reflector::new(Arc::new(source.clone()), Decoder::raw(), queue, settings);
    reflector.run(tokio::time::sleep(120 * MINUTE)).await;
    let requests = source.requests();
    let timeouts = requests.iter().filter_map(|request| match request {
        Request::Watch(options) => Some(options.timeout),
        Request::List(_) => None,
    });
    let timeouts: Vec<_> = timeouts.collect();
    assert!(timeouts.len() > 10, "{timeouts:?}");
    assert!(
        timeouts
            .iter()
            .all(|timeout| (5 * MINUTE..10 * MINUTE).contains(timeout))
    );
    assert!(timeouts.iter().any(|timeout| *timeout < 7 * MINUTE));
    assert!(timeouts.iter().any(|timeout| *timeout > 8 * MINUTE));
}

/// A page of a list that tells when it is gone.
struct Page {
    bytes: &'static [u8],
    gone: Arc<AtomicBool>,
}

impl AsRef<[u8]> for Page {
    fn as_ref(&self) -> &[u8] {
        self.bytes
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.gone.store(true, Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn a_decoded_object_does_not_keep_the_page_it_came_in() {
    let gone = Arc::new(AtomicBool::new(false));
    let page = Bytes::from_owner(Page {
        bytes: b"onetwo",
        gone: Arc::clone(&gone),
    });
    let source = ScriptedSource::new();
    source.put("a", page.slice(..3));
    source.put("b", page.slice(3..));
    drop(page);

    let queue = DeltaQueue::in_order();
    let settings = ReflectorSettings::default();
    let reflector = Reflector::new(
        Arc::new(source.clone()),
        Decoder::raw(),
        queue.clone(),
        settings,
    );
    let running = tokio::spawn(reflector.run(std::future::pending()));
    let deltas = queue.pop_batch().await.unwrap();
    assert!(!gone.load(Ordering::SeqCst));
    source.delete_unseen("a");
    source.delete_unseen("b");
    source.expire_history();
    assert!(gone.load(Ordering::SeqCst));
    let [Delta::Replaced(replacement)] = deltas.as_slice() else {
        panic!("{deltas:?}");
    };
    assert_eq!(replacement.objects[0].as_bytes(), b"one");
    assert_eq!(replacement.objects[1].as_bytes(), b"two");
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn the_status_tells_each_phase_as_it_begins() {
    let source = ScriptedSource::new();
    source.put("a", "ok");
    let queue = DeltaQueue::in_order();
    let settings = ReflectorSettings::default();
    let reflector = Reflector::new(
        Arc::new(source.clone()),
        Decoder::raw(),
        queue.clone(),
        settings,
    );
    let mut status = reflector.status();
    assert_eq!(status.borrow().phase, Phase::Starting);
    let running = tokio::spawn(reflector.run(std::future::pending()));
    let watching = status.wait_for(|status| status.is_watching()).await;
    assert_eq!(watching.unwrap().version, Some(2.into()));
    source.put("b", "ok");
    let told = status
        .wait_for(|status| status.version == Some(3.into()))
        .await;
    assert!(told.unwrap().last_heard.is_some());
    running.abort();
    let stopped = status
        .wait_for(|status| status.phase == Phase::Stopped)
        .await;
    assert!(!stopped.unwrap().is_watching());
}
