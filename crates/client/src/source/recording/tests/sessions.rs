use super::*;
use crate::{
    InitialEvents, Pager, PagerSettings, lister_watcher::Unreadable, source::scripted::RequestKind,
};

/// The longest pause of the reflector, and more.
const RECOVERY: Duration = Duration::from_secs(90);

fn internal() -> SourceError {
    SourceError::Internal {
        code: 500,
        message: "out of order".to_owned(),
    }
}

/// Everything that can happen to a watch, with pauses.
async fn eventful_session(source: &ScriptedSource) {
    source.watched().await;
    source.put("default/a", r#"{"n": 2}"#);
    sleep(Duration::from_millis(1_234)).await;
    source.put("default/b", "not JSON");
    source.delete("default/a");
    source.pass_versions(5);
    source.bookmark();
    source.send(&RawEvent::Unreadable(Unreadable {
        raw: "\u{1}".into(),
        reason: "no object".to_owned(),
    }));
    source.watched().await;
    sleep(Duration::from_secs(2)).await;

    let busy = SourceError::TooManyRequests {
        message: "later".to_owned(),
        retry_after: Some(Duration::from_secs(3)),
    };
    source.refuse(RequestKind::Watch, busy, 2);
    source.end_watches();
    sleep(RECOVERY).await;
    source.put("default/c", r#"{"n": 1}"#);
    source.watched().await;

    source.put_unseen("default/c", r#"{"n": 2}"#);
    source.delete_unseen("default/b");
    source.expire_history();
    source.refuse(RequestKind::List, internal(), 2);
    source.refuse(RequestKind::StreamingList, internal(), 1);
    source.break_watches(SourceError::Disconnected {
        reason: "cut".to_owned(),
    });
    sleep(RECOVERY * 3).await;
    source.watched().await;
    source.put("default/d", "4");
    sleep(RECOVERY).await;
}

async fn recorded(fill: Fill) -> (Written, Vec<String>) {
    let (source, written) = (ScriptedSource::new(), Written::default());
    source.put("default/a", r#"{"n": 1}"#);
    let labels = [("app", "web")].into_iter().collect();
    source.put_labelled("default/b", labels, "\"b\"");
    let recorder = Recorder::new(Arc::new(source.clone()), written.clone(), BYTES_MAX);
    let live = Listening::to(Arc::new(recorder), fill);
    eventful_session(&source).await;
    (written, live.end().await)
}

#[tokio::test(start_paused = true)]
async fn a_replay_leads_to_the_same_notifications_at_the_same_times() {
    for fill in [Fill::List, Fill::Stream] {
        let (written, live) = recorded(fill).await;
        assert!(live.len() >= 8, "{live:#?}");
        for happened in ["failed", "expired", "bookmark", "too_many_requests"] {
            assert!(written.text().contains(happened), "{}", written.text());
        }
        let replay = Arc::new(written.replay());
        let source: Arc<dyn ListerWatcher> = Arc::clone(&replay) as _;
        let replayed = Listening::to(source, fill);
        sleep(RECOVERY * 6).await;
        assert_eq!(replayed.end().await, live);
        assert_eq!(replay.first_difference(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_bytes_are_written_when_the_same_happens() {
    let (first, _) = recorded(Fill::List).await;
    let (second, _) = recorded(Fill::List).await;
    assert_eq!(first.text(), second.text());
    assert_eq!(first.lines().last().unwrap(), r#"{"finished":"complete"}"#);
}

#[tokio::test(start_paused = true)]
async fn a_recording_of_a_replay_is_the_same_recording() {
    let (first, _) = recorded(Fill::List).await;
    let second = Written::default();
    let recorder = Recorder::new(Arc::new(first.replay()), second.clone(), BYTES_MAX);
    let replayed = Listening::to(Arc::new(recorder), Fill::List);
    sleep(RECOVERY * 6).await;
    replayed.end().await;
    // The last watch is closed later, since this session was longer.
    let but_the_end = |written: &Written| {
        let lines = written.lines();
        lines[..lines.len() - 2].join("\n")
    };
    assert_eq!(but_the_end(&second), but_the_end(&first));
}

#[tokio::test(start_paused = true)]
async fn a_recording_reads_well() {
    let (source, written) = (ScriptedSource::new(), Written::default());
    source.put("default/a", r#"{"n": 1}"#);
    let recorder = Recorder::new(Arc::new(source.clone()), written.clone(), BYTES_MAX);
    whole_list(&recorder, &any_list()).await;
    let mut watch = recorder.watch(&watch_after(2)).await.unwrap();
    sleep(Duration::from_millis(5)).await;
    source.put("default/b", "binary");
    watch.next().await.unwrap().unwrap();
    drop((watch, recorder));
    let first = r#"{"key":"default/a","version":2,"uid":"uid-2","body":{"json":{"n": 1}}}"#;
    let second = r#"{"key":"default/b","version":3,"uid":"uid-3","body":{"base64":"YmluYXJ5"}}"#;
    let expected = [
        r#"{"listwatch_recording":1,"initial_events":"offered"}"#,
        r#"{"at_us":0,"request":1,"what":{"list":"list any"}}"#,
        r#"{"at_us":0,"request":1,"what":"answered"}"#,
        &format!(r#"{{"at_us":0,"request":1,"what":{{"items":[{{"object":{first}}}]}}}}"#),
        r#"{"at_us":0,"request":1,"what":{"end":{"version":2}}}"#,
        r#"{"at_us":0,"request":2,"what":{"watch":"watch after 2"}}"#,
        r#"{"at_us":0,"request":2,"what":"answered"}"#,
        &format!(r#"{{"at_us":5000,"request":2,"what":{{"events":[{{"added":{second}}}]}}}}"#),
        r#"{"at_us":5000,"request":2,"what":"dropped"}"#,
        r#"{"finished":"complete"}"#,
    ];
    assert_eq!(written.lines(), expected);
}

/// A watch with one event after ten seconds, which ends ten seconds later.
async fn twenty_seconds() -> Written {
    let (source, written) = (ScriptedSource::new(), Written::default());
    let recorder = Recorder::new(Arc::new(source.clone()), written.clone(), BYTES_MAX);
    let session = async {
        sleep(Duration::from_secs(10)).await;
        source.put("a", "1");
        sleep(Duration::from_secs(10)).await;
        source.end_watches();
    };
    let watch = watch_after(1);
    tokio::join!(whole_watch(&recorder, &watch), session);
    written
}

#[tokio::test(start_paused = true)]
async fn a_recording_is_replayed_at_any_speed() {
    let written = twenty_seconds().await;
    let speeds = [
        (Speed::AsRecorded, 20_000),
        (Speed::Times(4.0), 5_000),
        (Speed::Times(0.5), 40_000),
        (Speed::Times(f64::INFINITY), 0),
        (Speed::AtOnce, 0),
    ];
    for (speed, milliseconds) in speeds {
        let begun = Instant::now();
        let answers = whole_watch(&written.replay().speed(speed), &watch_after(1)).await;
        assert_eq!(answers.len(), 2, "{answers:?}");
        assert_eq!(begun.elapsed().as_millis(), milliseconds, "{speed:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn at_no_speed_no_answer_comes() {
    let written = twenty_seconds().await;
    for factor in [0.0, -1.0, f64::NAN, f64::MIN_POSITIVE] {
        let replay = written.replay().speed(Speed::Times(factor));
        let options = watch_after(1);
        let watching = whole_watch(&replay, &options);
        let year = Duration::from_secs(365 * 24 * 3_600);
        assert!(tokio::time::timeout(year, watching).await.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn after_the_end_there_is_silence_until_the_timeout() {
    let replay = twenty_seconds().await.replay();
    whole_watch(&replay, &watch_after(1)).await;
    let begun = Instant::now();
    assert_eq!(whole_watch(&replay, &watch_after(2)).await, ["None"]);
    assert_eq!(begun.elapsed(), Duration::from_secs(300));
    assert_eq!(
        replay.first_difference().unwrap(),
        r#"watch 2 was "not recorded" and is "watch after 2""#
    );
    let options = any_list();
    let list = whole_list(&replay, &options);
    let list = tokio::time::timeout(Duration::from_secs(9_999), list).await;
    assert!(list.is_err(), "{list:?}");
}

#[tokio::test(start_paused = true)]
async fn after_the_end_there_is_an_error_by_choice() {
    let (source, written) = (ScriptedSource::new(), Written::default());
    source.put("a", "1");
    let recorder = Recorder::new(Arc::new(source), written.clone(), BYTES_MAX);
    let mut watch = recorder.watch(&watch_after(1)).await.unwrap();
    watch.next().await.unwrap().unwrap();
    drop((watch, recorder));
    let replay = written.replay().after_end(AfterEnd::Error);
    let first = whole_watch(&replay, &watch_after(1)).await;
    assert!(
        first[1].contains("the recording ends within watch 1"),
        "{first:?}"
    );
    let error = "cannot connect: the recording ends before";
    let second = whole_watch(&replay, &watch_after(1)).await;
    assert_eq!(second, [format!("{error} watch 2")]);
    let list = whole_list(&replay, &any_list()).await;
    assert_eq!(list, [format!("{error} list 1")]);
}

#[tokio::test(start_paused = true)]
async fn a_full_recording_ends_and_the_source_goes_on() {
    const BOUND: u64 = 2_000;
    let (source, written) = (ScriptedSource::new(), Written::default());
    let recorder = Recorder::new(Arc::new(source.clone()), written.clone(), BOUND);
    let mut watch = recorder.watch(&watch_after(1)).await.unwrap();
    for number in 0..100 {
        source.put("a", number.to_string());
        assert_eq!(watch.next().await.unwrap().unwrap().len(), 1);
    }
    let last = r#"{"finished":{"full":{"bytes_max":2000}}}"#;
    assert_eq!(written.lines().last().unwrap(), last);
    let bytes = written.text().len() as u64;
    assert!((BOUND - 200..=BOUND).contains(&bytes), "{bytes}");
    assert_eq!(recorder.state(), RecordingState::Full { bytes });
    assert_eq!(recorder.finish(), RecordingState::Full { bytes });
    drop((watch, recorder));
    assert_eq!(written.text().len() as u64, bytes);

    let replay = written.replay().after_end(AfterEnd::Error);
    let answers = whole_watch(&replay, &watch_after(1)).await;
    assert!((5..100).contains(&answers.len()), "{answers:#?}");
}

#[test]
fn the_smallest_recording_can_be_read() {
    let written = Written::default();
    let recorder = Recorder::new(Arc::new(ScriptedSource::new()), written.clone(), 0);
    drop(recorder);
    written.replay();
    assert!(written.text().len() as u64 <= RECORDING_BYTES_MIN);
}

/// A disk with room for so many bytes.
struct SmallDisk(usize);

impl Write for SmallDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.0.checked_sub(bytes.len());
        self.0 = left.ok_or_else(|| io::Error::other("no room"))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_fails_costs_only_the_recording() {
    let source = ScriptedSource::new();
    source.put("a", "1");
    let recorder = Recorder::new(Arc::new(source), SmallDisk(150), BYTES_MAX);
    assert_eq!(whole_list(&recorder, &any_list()).await.len(), 2);
    let reason = "no room".to_owned();
    assert_eq!(recorder.finish(), RecordingState::Failed { reason });
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_given_up_has_no_answer_in_the_replay_either() {
    let (source, written) = (ScriptedSource::new(), Written::default());
    source.hold(RequestKind::List);
    let recorder = Recorder::new(Arc::new(source), written.clone(), BYTES_MAX);
    let options = any_list();
    let patience = Duration::from_secs(5);
    let given_up = tokio::time::timeout(patience, recorder.list(&options)).await;
    assert!(given_up.is_err());
    drop((given_up, recorder));
    let dropped = r#"{"at_us":5000000,"request":1,"what":"dropped"}"#;
    assert_eq!(written.lines()[2], dropped);
    let silent = tokio::time::timeout(patience, written.replay().list(&options))
        .await
        .is_err();
    assert!(silent);
    let replay = written.replay().after_end(AfterEnd::Error);
    let error = "cannot connect: the recording ends within list 1";
    assert_eq!(whole_list(&replay, &options).await, [error]);
}

#[tokio::test(start_paused = true)]
async fn pages_are_replayed_with_their_tokens() {
    let (source, written) = (ScriptedSource::new(), Written::default());
    source.set_initial_events(InitialEvents::Unsupported);
    source.force_pages_of(1);
    for key in ["a", "b", "c"] {
        source.put(key, "1");
    }
    let recorder = Arc::new(Recorder::new(Arc::new(source), written.clone(), BYTES_MAX));
    let keys = async |source: Arc<dyn ListerWatcher>| {
        let listed = Pager::new(source, PagerSettings::default()).collect().await;
        let items = listed.unwrap().items.into_iter();
        items
            .map(|item| item.unwrap().key.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(Arc::clone(&recorder) as _).await, ["a", "b", "c"]);
    recorder.finish();
    let replay = Arc::new(written.replay());
    assert_eq!(keys(Arc::clone(&replay) as _).await, ["a", "b", "c"]);
    assert_eq!(replay.first_difference(), None);
    assert_eq!(replay.initial_events(), InitialEvents::Unsupported);
}
