use super::*;

const HEADER: &str = r#"{"listwatch_recording":1,"initial_events":"offered"}"#;
const LAST: &str = r#"{"finished":"complete"}"#;

fn list(at_us: u64) -> String {
    format!(r#"{{"at_us":{at_us},"request":1,"what":{{"list":"list any"}}}}"#)
}

fn about(request: u64, what: &str) -> String {
    format!(r#"{{"at_us":5,"request":{request},"what":{what}}}"#)
}

/// What is wrong with a recording of these lines between the first and the last.
fn complaint(lines: &[String]) -> String {
    let text = format!("{HEADER}\n{}\n{LAST}\n", lines.join("\n"));
    Replay::read(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn what_is_not_a_recording_is_refused() {
    for text in ["\n", "{}\n", "hello\n", "{\"listwatch_recording\":1}\n"] {
        let error = Replay::read(text.as_bytes()).unwrap_err();
        assert!(
            matches!(error, RecordingError::NotARecording { .. }),
            "{error}"
        );
    }
    let later = HEADER.replace('1', "2");
    let error = Replay::read(format!("{later}\n").as_bytes()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 1: not a recording that can be read here: it has format 2, known is 1"
    );
}

#[test]
fn a_damaged_line_is_named() {
    let garbled = complaint(&[list(0), about(1, "\"answ")]);
    assert!(
        garbled.starts_with("line 3: EOF while parsing"),
        "{garbled}"
    );
    let unknown = complaint(&[list(0), about(1, "\"dreamt\"")]);
    assert!(
        unknown.starts_with("line 3: unknown variant `dreamt`"),
        "{unknown}"
    );
    let body = r#"{"events":[{"unreadable":{"reason":"","raw":{"base64":"?"}}}]}"#;
    let watch = list(0).replace("list", "watch");
    let base64 = complaint(&[watch, about(1, "\"answered\""), about(1, body)]);
    assert!(base64.starts_with("line 4: Invalid"), "{base64}");
}

#[test]
fn a_line_where_it_cannot_stand_is_named() {
    let answered = about(1, "\"answered\"");
    let end = about(1, r#"{"end":{}}"#);
    let cases = [
        (vec![answered.clone()], "line 2: request 1 has not begun"),
        (
            vec![about(0, "\"answered\"")],
            "line 2: request 0 has not begun",
        ),
        (
            vec![list(0), list(0)],
            "line 3: request 2 should begin here",
        ),
        (
            vec![list(9), answered.clone()],
            "line 3: time goes backwards",
        ),
        (
            vec![list(0), end.clone()],
            "line 3: the request has not been answered",
        ),
        (
            vec![list(0), answered.clone(), answered.clone()],
            "line 4: the request has been answered before",
        ),
        (
            vec![list(0), answered.clone(), end, about(1, "\"dropped\"")],
            "line 5: the request is over",
        ),
        (
            vec![list(0), answered, about(1, r#"{"events":[]}"#)],
            "line 4: only a watch can say this",
        ),
        (
            vec![LAST.to_owned()],
            "line 3: the last line stands before this one",
        ),
    ];
    for (lines, expected) in cases {
        assert_eq!(complaint(&lines), expected);
    }
}

/// A list of two objects, and a watch.
async fn whole() -> String {
    let (source, written) = (ScriptedSource::new(), Written::default());
    source.put("a", "1");
    source.put("b", "\"\\u00e4\"");
    let recorder = Recorder::new(Arc::new(source), written.clone(), BYTES_MAX);
    whole_list(&recorder, &any_list()).await;
    drop(recorder.watch(&watch_after(1)).await.unwrap());
    recorder.finish();
    written.text()
}

#[tokio::test(start_paused = true)]
async fn a_recording_that_is_cut_anywhere_is_known_to_be_cut() {
    let whole = whole().await;
    Replay::read(whole.as_bytes()).unwrap();
    for length in 0..whole.len() {
        let cut = &whole[..length];
        let expected = cut.matches('\n').count() as u64 + 1;
        match Replay::read(cut.as_bytes()) {
            Err(RecordingError::Truncated { line }) => assert_eq!(line, expected),
            other => panic!("{other:?} of {cut}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_lies_before_the_damage_can_be_salvaged() {
    let whole = whole().await;
    let cut = &whole[..whole.find(r#"{"end""#).unwrap()];
    let (replay, error) = Replay::salvage(cut.as_bytes()).unwrap();
    assert!(
        matches!(error, Some(RecordingError::Truncated { line: 5 })),
        "{error:?}"
    );
    let parts = whole_list(&replay.after_end(AfterEnd::Error), &any_list()).await;
    assert!(parts[0].contains("key: \"a\""), "{parts:?}");
    assert!(
        parts[1].contains("the recording ends within list 1"),
        "{parts:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_example_of_the_description_can_be_replayed() {
    let description = include_str!("../../../../../../docs/recording-format.md");
    let (_, example) = description.split_once("```json\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let replay = Replay::read(example.as_bytes()).unwrap();
    let list = whole_list(&replay, &any_list()).await;
    assert_eq!(list.len(), 2, "{list:?}");
    let watch = whole_watch(&replay, &watch_after(2)).await;
    assert!(watch[1].contains("Expired"), "{watch:?}");
    assert_eq!(replay.first_difference(), None);
}
