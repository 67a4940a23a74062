use std::time::Duration;

use super::*;
use crate::{RawObject, SourceError, recorded_metrics::RecordedMetrics, source::ScriptedSource};

fn reflector(source: &ScriptedSource, settings: ReflectorSettings) -> Reflector<crate::Raw> {
    let decoder = Decoder::new(|raw| match &*raw.body {
        b"bad" => Err(crate::DecodeError {
            reason: "bad".to_owned(),
        }),
        _ => Decoder::raw().decode(raw).map(|object| object.body),
    });
    let source = Arc::new(source.clone());
    Reflector::new(source, decoder, DeltaQueue::in_order(), settings)
}

#[test]
fn everything_is_counted_under_the_name_of_the_reflector() {
    let metrics = RecordedMetrics::default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    metrics::with_local_recorder(&metrics, || runtime.block_on(list_and_list_again()));

    let value = |metric: &str| metrics.value(&format!("listwatch_reflector_{metric}"));
    assert_eq!(value("lists_total{pods}"), 2.0);
    assert_eq!(value("watches_total{pods}"), 2.0);
    assert_eq!(value("events_total{pods}"), 2.0);
    assert_eq!(value("set_aside_total{pods}"), 2.0);
    assert_eq!(value("relists_total{pods,expired}"), 1.0);
    // Three and two bytes were listed, three and one came as events, and nine were listed again.
    assert_eq!(value("bytes_total{pods}"), 18.0);
    let durations = metrics.all("listwatch_reflector_list_duration_seconds{pods}");
    assert_eq!(durations, [0.0, 0.0]);
}

async fn list_and_list_again() {
    let source = ScriptedSource::new();
    source.put("a", "one");
    source.put("b", "tw");
    let settings = ReflectorSettings {
        name: "pods".to_owned(),
        fill: Fill::List,
        ..ReflectorSettings::default()
    };
    let reflector = reflector(&source, settings);
    let test = async {
        source.watched().await;
        source.put("c", "bad");
        source.put("d", "4");
        source.watched().await;
        source.break_watches(SourceError::Expired {
            message: "scripted".to_owned(),
        });
        source.watched().await;
    };
    reflector.run(test).await;
}

#[tokio::test(start_paused = true)]
async fn an_error_is_told_with_what_to_know_about_it() {
    let source = ScriptedSource::new();
    let denied = SourceError::Denied {
        code: 401,
        message: "who are you?".to_owned(),
    };
    source.refuse(crate::source::scripted::RequestKind::List, denied, 1);
    source.set_initial_events(crate::InitialEvents::Unsupported);
    let (sender, mut errors) = tokio::sync::mpsc::channel(1);
    let reflector = reflector(&source, ReflectorSettings::default());
    let reflector = reflector.on_error(move |error| sender.try_send(error.clone()).unwrap());
    reflector
        .run(tokio::time::sleep(Duration::from_secs(10)))
        .await;
    let error = errors.recv().await.unwrap();
    assert_eq!(
        error.to_string(),
        "cannot list: not allowed (401): who are you?"
    );
    assert_eq!(errors.recv().await, None);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_told_again_does_not_take_the_watch_back() {
    for rest in [0, 2] {
        let source = ScriptedSource::new();
        let first = source.put("a", "1");
        let again = RawEvent::Modified(RawObject {
            key: "a".into(),
            version: first,
            uid: None,
            labels: crate::Labels::default(),
            body: "1".into(),
        });
        let script = async {
            source.watched().await;
            for _ in 0..rest {
                source.put("b", "2");
            }
            source.send(&again);
            source.watched().await;
            source.put("c", "3");
            source.send(&again);
            source.watched().await;
            tokio::time::sleep(Duration::from_secs(5)).await;
            source.end_watches();
            tokio::time::sleep(Duration::from_secs(5)).await;
        };
        let reflector = reflector(&source, ReflectorSettings::default());
        reflector.run(script).await;
        let asked = source.requests().pop().unwrap().to_string();
        assert_eq!(asked, format!("watch after {}", source.version()));
    }
}
