use std::time::Duration;

use super::*;
use crate::{
    ListerWatcher,
    lister_watcher::{EventStream, Freshness, ListOptions, ListPart, WatchOptions, WatchStart},
};

const TIMEOUT: Duration = Duration::from_secs(60);

async fn list(source: &ScriptedSource, freshness: Freshness) -> Result<Vec<String>, SourceError> {
    let options = ListOptions {
        freshness,
        limit: None,
        continue_token: None,
    };
    let mut stream = source.list(&options).await?;
    match stream.next().await? {
        ListPart::Items(items) => Ok(items.into_iter().flatten().map(words).collect()),
        ListPart::End(_) => Ok(Vec::new()),
    }
}

fn words(raw: crate::RawObject) -> String {
    format!("{}@{}", raw.key, raw.version)
}

async fn watch(source: &ScriptedSource, start: WatchStart) -> Box<dyn EventStream> {
    let options = WatchOptions {
        start,
        timeout: TIMEOUT,
    };
    source.watch(&options).await.unwrap()
}

async fn next(stream: &mut Box<dyn EventStream>) -> Vec<String> {
    let events = stream.next().await.unwrap().unwrap();
    let events = events.into_iter().map(|event| match event {
        RawEvent::Added(raw) => format!("+{}", words(raw)),
        RawEvent::Modified(raw) => format!("~{}", words(raw)),
        RawEvent::Deleted(raw) => format!("-{}", words(raw)),
        RawEvent::Bookmark(Bookmark::Progress(version)) => format!("@{version}"),
        RawEvent::Bookmark(Bookmark::InitialEventsEnd(version)) => format!("end@{version}"),
        RawEvent::Unreadable(_) => "unreadable".to_owned(),
    });
    events.collect()
}

#[tokio::test]
async fn a_list_shows_the_state_of_any_version_in_its_history() {
    let source = ScriptedSource::new();
    source.put("a", "1");
    source.put("b", "1");
    source.put("a", "2");
    source.delete("b");
    let at = |version: u64| list(&source, Freshness::Exactly(version.into()));
    assert_eq!(at(1).await.unwrap(), Vec::<String>::new());
    assert_eq!(at(3).await.unwrap(), ["a@2", "b@3"]);
    assert_eq!(at(5).await.unwrap(), ["a@4"]);
    assert!(matches!(at(6).await, Err(SourceError::TooLarge { .. })));
    source.expire_history();
    assert!(matches!(at(3).await, Err(SourceError::Expired { .. })));
}

#[tokio::test]
async fn a_watch_begins_after_a_version_or_with_the_state() {
    let source = ScriptedSource::new();
    source.put("a", "1");
    source.put("b", "1");
    source.delete("a");
    let mut after = watch(&source, WatchStart::After(2.into())).await;
    assert_eq!(next(&mut after).await, ["+b@3", "-a@4"]);
    let start = WatchStart::InitialEvents(Freshness::MostRecent);
    let mut initial = watch(&source, start).await;
    assert_eq!(next(&mut initial).await, ["+b@3", "end@4"]);
    source.put("b", "2");
    source.bookmark();
    assert_eq!(next(&mut after).await, ["~b@5", "@5"]);
    assert_eq!(next(&mut initial).await, ["~b@5", "@5"]);
}

#[tokio::test]
async fn what_is_unseen_is_told_only_to_later_watches() {
    let source = ScriptedSource::new();
    let mut open = watch(&source, WatchStart::After(1.into())).await;
    source.put_unseen("a", "1");
    source.put("b", "1");
    source.delete_unseen("b");
    source.put("c", "1");
    assert_eq!(next(&mut open).await, ["+b@3", "+c@5"]);
    let mut later = watch(&source, WatchStart::After(1.into())).await;
    assert_eq!(next(&mut later).await, ["+a@2", "+b@3", "-b@4", "+c@5"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_in_time_and_is_gone_when_dropped() {
    let source = ScriptedSource::new();
    let mut stream = watch(&source, WatchStart::After(1.into())).await;
    assert_eq!(source.open_watches(), 1);
    let begun = tokio::time::Instant::now();
    assert!(stream.next().await.is_none());
    assert_eq!(begun.elapsed(), TIMEOUT);
    drop(stream);
    assert_eq!(source.open_watches(), 0);
}

#[tokio::test]
async fn a_name_has_one_uid_as_long_as_its_object_lives() {
    let source = ScriptedSource::new();
    let labels: Labels = [("app", "web")].into_iter().collect();
    let uid = || source.look(|state| state.objects["a"].uid.clone());
    source.put_labelled("a", labels.clone(), "1");
    let first = uid();
    source.put("a", "2");
    assert_eq!(uid(), first);
    assert_eq!(
        source.look(|state| state.objects["a"].labels.clone()),
        labels
    );
    source.delete("a");
    source.put("a", "3");
    assert_ne!(uid(), first);
}

#[tokio::test]
async fn requests_are_remembered_in_words() {
    let source = ScriptedSource::new();
    list(&source, Freshness::Any).await.unwrap();
    let start = WatchStart::InitialEvents(Freshness::NotOlderThan(1.into()));
    watch(&source, start).await;
    let requests = source.requests();
    let words: Vec<_> = requests.iter().map(ToString::to_string).collect();
    assert_eq!(words, ["list any", "stream not older than 1"]);
}
