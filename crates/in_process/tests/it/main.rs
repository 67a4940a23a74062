//! Both sources beside what they stand for: a server's HTTP API, and a store.

#![cfg(test)]

mod server_source;
mod store_source;

use std::time::Duration;

use listwatch::{
    RawEvent, RawObject, Version,
    lister_watcher::{
        Bookmark, EventStream, Freshness, ListOptions, ListPart, ListerWatcher, WatchOptions,
        WatchStart,
    },
};

/// All pages of a list, and the version of the last.
async fn list_all(source: &impl ListerWatcher, limit: Option<u32>) -> (Vec<RawObject>, Version) {
    let mut options = ListOptions {
        freshness: Freshness::MostRecent,
        limit,
        continue_token: None,
    };
    let mut objects = Vec::new();
    loop {
        let mut stream = source.list(&options).await.unwrap();
        let end = loop {
            match stream.next().await.unwrap() {
                ListPart::Items(items) => objects.extend(items.into_iter().map(Result::unwrap)),
                ListPart::End(end) => break end,
            }
        };
        match end.continue_token {
            Some(token) => options.continue_token = Some(token),
            None => return (objects, end.version.unwrap()),
        }
    }
}

async fn watch(source: &impl ListerWatcher, start: WatchStart) -> Box<dyn EventStream> {
    let timeout = Duration::from_secs(300);
    let options = WatchOptions { start, timeout };
    source.watch(&options).await.unwrap()
}

/// As many events as asked for, without mere progress, as text.
async fn read(stream: &mut dyn EventStream, count: usize) -> Vec<String> {
    let mut told = Vec::new();
    while told.len() < count {
        let events = stream.next().await.unwrap().unwrap();
        told.extend(events.iter().filter_map(tell));
    }
    told
}

fn tell(event: &RawEvent) -> Option<String> {
    let line = |word, object: &RawObject| Some(format!("{word} {}", object.key));
    match event {
        RawEvent::Added(object) => line("added", object),
        RawEvent::Modified(object) => line("modified", object),
        RawEvent::Deleted(object) => line("deleted", object),
        RawEvent::Bookmark(Bookmark::Progress(_)) => None,
        RawEvent::Bookmark(Bookmark::InitialEventsEnd(_)) => Some("end of the state".to_owned()),
        RawEvent::Unreadable(unreadable) => Some(format!("unreadable: {}", unreadable.reason)),
    }
}
