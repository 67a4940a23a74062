use bytes::Bytes;
use parking_lot::Mutex;

use super::*;
use crate::{
    Labels, RawObject,
    lister_watcher::{BoxFuture, ListOptions, ListStream, Unreadable},
};

/// Answers watches from a script and keeps what was asked, and when.
#[derive(Default)]
struct Watches {
    answers: Mutex<VecDeque<Result<Script, SourceError>>>,
    asked: Mutex<Vec<(Instant, WatchStart)>>,
}

/// What one stream says; it stays silent after the last answer unless told to end.
type Script = Vec<Option<Result<Vec<RawEvent>, SourceError>>>;

struct OneWatch(VecDeque<Option<Result<Vec<RawEvent>, SourceError>>>);

impl EventStream for OneWatch {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<RawEvent>, SourceError>>> {
        match self.0.pop_front() {
            Some(answer) => Box::pin(std::future::ready(answer)),
            None => Box::pin(std::future::pending()),
        }
    }
}

impl ListerWatcher for Watches {
    fn list<'a>(
        &'a self,
        _: &'a ListOptions,
    ) -> BoxFuture<'a, Result<Box<dyn ListStream>, SourceError>> {
        Box::pin(async { Err(refused(405)) })
    }

    fn watch<'a>(
        &'a self,
        options: &'a WatchOptions,
    ) -> BoxFuture<'a, Result<Box<dyn EventStream>, SourceError>> {
        let asked = (Instant::now(), options.start.clone());
        self.asked.lock().push(asked);
        let answer = self
            .answers
            .lock()
            .pop_front()
            .expect("asked once too often");
        Box::pin(async move { Ok(Box::new(OneWatch(answer?.into())) as Box<dyn EventStream>) })
    }
}

fn refused(code: u16) -> SourceError {
    SourceError::Refused {
        code,
        message: "no".into(),
    }
}

fn broken() -> SourceError {
    SourceError::Disconnected {
        reason: "reset".into(),
    }
}

fn added(version: u64) -> RawEvent {
    RawEvent::Added(RawObject {
        key: "a".into(),
        version: version.into(),
        uid: None,
        labels: Labels::default(),
        body: Bytes::new(),
    })
}

fn bookmark(version: u64) -> RawEvent {
    RawEvent::Bookmark(Bookmark::Progress(version.into()))
}

fn watches<const COUNT: usize>(
    answers: [Result<Script, SourceError>; COUNT],
) -> (Arc<Watches>, RetryWatcher) {
    let source = Arc::new(Watches {
        answers: Mutex::new(answers.into()),
        asked: Mutex::default(),
    });
    let watcher = RetryWatcher::new(source.clone(), 5.into(), RetryWatcherSettings::default());
    (source, watcher)
}

fn starts(source: &Watches) -> Vec<u64> {
    let asked = source.asked.lock();
    let number = |start: &WatchStart| match start {
        WatchStart::After(Version::Number(number)) => *number,
        other => panic!("began with {other:?}"),
    };
    asked.iter().map(|(_, start)| number(start)).collect()
}

fn pauses(source: &Watches) -> Vec<Duration> {
    let asked = source.asked.lock();
    let pairs = asked.windows(2);
    pairs
        .map(|pair| pair[1].0.duration_since(pair[0].0))
        .collect()
}

async fn next_version(watcher: &mut RetryWatcher) -> String {
    match watcher.next().await {
        Some(Ok(RawEvent::Added(object))) => object.version.to_string(),
        Some(Ok(RawEvent::Bookmark(Bookmark::Progress(version)))) => format!("bookmark {version}"),
        Some(Ok(RawEvent::Unreadable(unreadable))) => unreadable.reason,
        other => format!("{other:?}"),
    }
}

async fn ending(watcher: &mut RetryWatcher) -> SourceError {
    let error = watcher.next().await.unwrap().unwrap_err();
    assert!(watcher.next().await.is_none());
    error
}

#[tokio::test(start_paused = true)]
async fn a_broken_watch_goes_on_after_the_last_event() {
    let (source, mut watcher) = watches([
        Ok(vec![
            Some(Ok(vec![added(6), added(8)])),
            Some(Err(broken())),
        ]),
        Ok(vec![Some(Ok(vec![added(9)])), None]),
        Ok(vec![Some(Ok(vec![added(12)]))]),
    ]);
    for expected in ["6", "8", "9", "12"] {
        assert_eq!(next_version(&mut watcher).await, expected);
    }
    assert_eq!(starts(&source), [5, 8, 9]);
    assert_eq!(*watcher.resume_after(), 12.into());
}

#[tokio::test(start_paused = true)]
async fn a_swallowed_bookmark_still_moves_the_place_to_resume_from() {
    let (source, mut watcher) = watches([
        Ok(vec![Some(Ok(vec![added(6), bookmark(20)])), None]),
        Ok(vec![Some(Ok(vec![added(21)]))]),
    ]);
    assert_eq!(next_version(&mut watcher).await, "6");
    assert_eq!(next_version(&mut watcher).await, "21");
    assert_eq!(starts(&source), [5, 20]);
}

#[tokio::test(start_paused = true)]
async fn bookmarks_are_told_by_choice() {
    let (_, mut watcher) = watches([Ok(vec![Some(Ok(vec![bookmark(20)]))])]);
    watcher.settings.bookmarks = Bookmarks::Deliver;
    assert_eq!(next_version(&mut watcher).await, "bookmark 20");
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_no_longer_kept_ends_the_watch() {
    let expired = SourceError::Expired {
        message: "too old".into(),
    };
    let (_, mut watcher) = watches([Err(expired.clone())]);
    assert_eq!(ending(&mut watcher).await, expired);
    let (_, mut watcher) = watches([Ok(vec![Some(Err(expired.clone()))])]);
    assert_eq!(ending(&mut watcher).await, expired);
}

#[tokio::test(start_paused = true)]
async fn missing_rights_and_refusals_end_the_watch() {
    let denied = |code| SourceError::Denied {
        code,
        message: "no".into(),
    };
    for error in [denied(401), denied(403), refused(400)] {
        let (_, mut watcher) = watches([Err(error.clone())]);
        assert_eq!(ending(&mut watcher).await, error);
    }
}

#[tokio::test(start_paused = true)]
async fn two_watches_begin_at_least_a_second_apart() {
    let (source, mut watcher) = watches([
        Err(broken()),
        Ok(vec![None]),
        Ok(vec![Some(Ok(vec![added(6)]))]),
    ]);
    assert_eq!(next_version(&mut watcher).await, "6");
    assert_eq!(pauses(&source), [Duration::from_secs(1); 2]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_lasted_is_resumed_at_once() {
    let (source, mut watcher) = watches([
        Ok(vec![Some(Ok(vec![added(6)])), None]),
        Ok(vec![Some(Ok(vec![added(7)]))]),
    ]);
    assert_eq!(next_version(&mut watcher).await, "6");
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(next_version(&mut watcher).await, "7");
    assert_eq!(pauses(&source), [Duration::from_secs(60)]);
}

#[tokio::test(start_paused = true)]
async fn the_source_says_how_long_to_wait() {
    let wait = Some(Duration::from_secs(7));
    let (source, mut watcher) = watches([
        Err(SourceError::TooManyRequests {
            message: "busy".into(),
            retry_after: wait,
        }),
        Err(SourceError::TooLarge {
            message: "not yet".into(),
            retry_after: wait,
        }),
        Ok(vec![Some(Ok(vec![added(6)]))]),
    ]);
    assert_eq!(next_version(&mut watcher).await, "6");
    assert_eq!(pauses(&source), [Duration::from_secs(7); 2]);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_nobody_can_read_is_told_and_the_watch_goes_on() {
    let unreadable = RawEvent::Unreadable(Unreadable {
        raw: Bytes::new(),
        reason: "not JSON".into(),
    });
    let (_, mut watcher) = watches([Ok(vec![Some(Ok(vec![unreadable, added(7)]))])]);
    assert_eq!(next_version(&mut watcher).await, "not JSON");
    assert_eq!(next_version(&mut watcher).await, "7");
}

#[tokio::test(start_paused = true)]
async fn a_watcher_with_unread_events_can_be_dropped() {
    let (source, mut watcher) = watches([Ok(vec![Some(Ok(vec![added(6), added(7)]))])]);
    assert_eq!(next_version(&mut watcher).await, "6");
    drop(watcher);
    assert_eq!(Arc::strong_count(&source), 1);
}
