//! Whatever is recorded is replayed.

use bytes::Bytes;
use proptest::{collection::vec, option, prelude::*};

use super::*;
use crate::{
    RawObject, Uid, Version,
    lister_watcher::{Bookmark, Unreadable},
};

fn version() -> impl Strategy<Value = Version> {
    prop_oneof![
        any::<u64>().prop_map(Version::Number),
        any::<String>().prop_map(|text| Version::Text(text.into())),
    ]
}

/// JSON of all kinds, with and without space around it, and bytes of all kinds.
fn body() -> impl Strategy<Value = Bytes> {
    let json = prop_oneof![
        Just(r#"{"a":1.50,"b":{"c":[]},"a":2}"#.to_owned()),
        Just(" {\"a\": 1}".to_owned()),
        Just("{\n}".to_owned()),
        Just("1e999".to_owned()),
        Just("null".to_owned()),
        Just("[".repeat(200) + &"]".repeat(200)),
        any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
    ];
    prop_oneof![
        json.prop_map(Bytes::from),
        vec(any::<u8>(), 0..40).prop_map(Bytes::from),
    ]
}

fn object() -> impl Strategy<Value = RawObject> {
    let labels = proptest::collection::btree_map(any::<String>(), any::<String>(), 0..3);
    let uid = prop_oneof![
        Just("01234567-89ab-cdef-0123-456789abcdef".to_owned()),
        any::<String>(),
    ];
    let parts = (any::<String>(), version(), option::of(uid), labels, body());
    parts.prop_map(|(key, version, uid, labels, body)| RawObject {
        key: key.into(),
        version,
        uid: uid.as_deref().and_then(Uid::parse),
        labels: labels.into_iter().collect(),
        body,
    })
}

fn unreadable() -> impl Strategy<Value = Unreadable> {
    (body(), any::<String>()).prop_map(|(raw, reason)| Unreadable { raw, reason })
}

fn event() -> impl Strategy<Value = RawEvent> {
    prop_oneof![
        object().prop_map(RawEvent::Added),
        object().prop_map(RawEvent::Modified),
        object().prop_map(RawEvent::Deleted),
        version().prop_map(|version| RawEvent::Bookmark(Bookmark::Progress(version))),
        version().prop_map(|version| RawEvent::Bookmark(Bookmark::InitialEventsEnd(version))),
        unreadable().prop_map(RawEvent::Unreadable),
    ]
}

fn error() -> impl Strategy<Value = SourceError> {
    let pause = option::of(any::<u32>().prop_map(|number| Duration::from_micros(number.into())));
    (0..9, any::<String>(), any::<u16>(), pause).prop_map(|(kind, message, code, retry_after)| {
        let reason = message.clone();
        match kind {
            0 => SourceError::Expired { message },
            1 => SourceError::TooLarge {
                message,
                retry_after,
            },
            2 => SourceError::TooManyRequests {
                message,
                retry_after,
            },
            3 => SourceError::ConnectionRefused { reason },
            4 => SourceError::Disconnected { reason },
            5 => SourceError::Denied { code, message },
            6 => SourceError::Internal { code, message },
            7 => SourceError::Refused { code, message },
            _ => SourceError::Unreadable { reason },
        }
    })
}

/// One list of these items and one watch of these events, which ends with this error.
async fn ask(
    source: &ScriptedSource,
    asked: &dyn ListerWatcher,
    events: &[Vec<RawEvent>],
    error: &SourceError,
) -> Vec<String> {
    let mut answers = whole_list(asked, &any_list()).await;
    let options = watch_after(1);
    let told = async {
        for together in events {
            source.watched().await;
            together.iter().for_each(|event| source.send(event));
            sleep(Duration::from_millis(10)).await;
        }
        source.watched().await;
        source.break_watches(error.clone());
    };
    let (watched, ()) = tokio::join!(whole_watch(asked, &options), told);
    answers.extend(watched);
    answers
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_recorded_is_replayed(
        items in vec(unreadable(), 0..3),
        bodies in vec(body(), 0..3),
        events in vec(vec(event(), 1..4), 0..6),
        error in error(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let (source, written) = (ScriptedSource::new(), Written::default());
            items.into_iter().for_each(|item| source.list_unreadable(item));
            for (number, body) in bodies.into_iter().enumerate() {
                source.put(&number.to_string(), body);
            }
            let recorder = Recorder::new(Arc::new(source.clone()), written.clone(), BYTES_MAX);
            let live = ask(&source, &recorder, &events, &error).await;
            drop(recorder);
            let replay = written.replay();
            let mut replayed = whole_list(&replay, &any_list()).await;
            replayed.extend(whole_watch(&replay, &watch_after(1)).await);
            assert_eq!(replayed, live);
        });
    }
}
