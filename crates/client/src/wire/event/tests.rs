use std::time::Duration;

use super::*;
use crate::RawObject;

fn read(frame: &str) -> WatchFrame {
    let frame = Bytes::copy_from_slice(frame.as_bytes());
    read_frame(frame, &mut LabelPool::default())
}

fn event(frame: &str) -> RawEvent {
    match read(frame) {
        WatchFrame::Event(event) => event,
        WatchFrame::Failed(error) => panic!("{error}"),
    }
}

const OBJECT: &str = r#"{"kind":"Pod","metadata":{"name":"a","resourceVersion":"7"},"spec":{}}"#;

fn is_the_object(object: &RawObject) -> bool {
    object.key.as_str() == "a" && object.version == Version::Number(7) && object.body == OBJECT
}

#[test]
fn an_event_is_read_whatever_the_order_of_its_members() {
    let frame = |first: &str, second: &str| format!("{{{first} , {second}}}\n");
    let object = format!(r#""object": {OBJECT}"#);
    let added = event(&frame(r#""type":"ADDED""#, &object));
    assert!(matches!(added, RawEvent::Added(object) if is_the_object(&object)));
    let modified = event(&frame(&object, r#""type":"MODIFIED""#));
    assert!(matches!(modified, RawEvent::Modified(object) if is_the_object(&object)));
    let deleted = event(&frame(&object, r#""more":[{}],"type":"DEL\u0045TED""#));
    assert!(matches!(deleted, RawEvent::Deleted(object) if is_the_object(&object)));
}

#[test]
fn only_the_exact_annotation_ends_the_initial_events() {
    let bookmark = |annotations: &str| {
        let metadata = format!(r#""metadata":{{"resourceVersion":"9"{annotations}}}"#);
        match event(&format!(r#"{{"type":"BOOKMARK","object":{{{metadata}}}}}"#)) {
            RawEvent::Bookmark(bookmark) => bookmark,
            other => panic!("{other:?}"),
        }
    };
    let end = Bookmark::InitialEventsEnd(9.into());
    let progress = Bookmark::Progress(9.into());
    assert_eq!(
        bookmark(r#","annotations":{"k8s.io/initial-events-end":"true"}"#),
        end
    );
    assert_eq!(
        bookmark(r#","annotations":{"k8s.io/initial-events-end":"True"}"#),
        progress
    );
    assert_eq!(
        bookmark(r#","annotations":{"k8s.io/initial-events":"true"}"#),
        progress
    );
    assert_eq!(bookmark(r#","annotations":null"#), progress);
    assert_eq!(bookmark(""), progress);
}

#[test]
fn an_error_ends_the_watch_with_what_to_do_next() {
    let failed = |status: &str| match read(&format!(r#"{{"type":"ERROR","object":{status}}}"#)) {
        WatchFrame::Failed(error) => error,
        WatchFrame::Event(event) => panic!("{event:?}"),
    };
    assert_eq!(
        failed(r#"{"code":410,"reason":"Expired","message":"too old resource version: 1 (163)"}"#),
        SourceError::Expired {
            message: "too old resource version: 1 (163)".to_owned()
        }
    );
    assert_eq!(
        failed(r#"{"code":429,"message":"m","details":{"retryAfterSeconds":3}}"#),
        SourceError::TooManyRequests {
            message: "m".to_owned(),
            retry_after: Some(Duration::from_secs(3))
        }
    );
    assert!(matches!(
        failed(r#"{"code":"x"}"#),
        SourceError::Unreadable { .. }
    ));
}

#[test]
fn what_is_not_understood_is_passed_on_as_it_came() {
    let cases = [
        (
            r#"{"type":"PATCHED","object":{}}"#,
            "the type of the event is unknown",
        ),
        (r#"{"object":{}}"#, "the event has no type"),
        (r#"{"type":"ADDED"}"#, "the event has no object"),
        (
            r#"{"type":"ADDED","object":{"metadata":{}}}"#,
            "it has no name",
        ),
        (
            r#"{"type":"ADDED","object":null}"#,
            "another token was expected",
        ),
        (
            r#"{"type":"BOOKMARK","object":{}}"#,
            "the bookmark has no version",
        ),
        (
            r#"{"type":"ADDED","object":{}} {}"#,
            "something follows the event",
        ),
        (r#"{"type":"ADDED","object":{"#, "it ends too early"),
        ("<html>", "another token was expected"),
    ];
    for (frame, reason) in cases {
        match event(frame) {
            RawEvent::Unreadable(unreadable) => {
                assert_eq!(
                    (&*unreadable.raw, &*unreadable.reason),
                    (frame.as_bytes(), reason)
                );
            }
            other => panic!("{other:?}"),
        }
    }
}
