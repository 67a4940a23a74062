//! A prefix of a real etcd as a source, on every release that is here.

mod informers;
mod lists;
mod outages;
mod watches;

use std::time::Duration;

use listwatch::{
    ListerWatcher, RawEvent, RawObject, SourceError, Version,
    etcd::{
        Client, Delete, KeyRange, Put,
        testing::{Cluster, Program, Release},
    },
    lister_watcher::{
        EventStream, Freshness, ListEnd, ListOptions, ListPart, Unreadable, WatchOptions,
        WatchStart,
    },
    source::EtcdSource,
};

const PREFIX: &str = "/objects/";

/// Runs a test on a server of its own for every etcd that is here.
async fn on_every_release(test: impl AsyncFn(Client, EtcdSource)) {
    for program in Program::all_or_skip() {
        let etcd = Cluster::single(&program).await.unwrap();
        test(etcd.client(), EtcdSource::new(etcd.client(), PREFIX)).await;
    }
}

/// A current etcd, if one is here.
async fn current() -> Option<Cluster> {
    let program = Program::find_or_skip(Release::Current)?;
    Some(Cluster::single(&program).await.unwrap())
}

async fn put(client: &Client, name: &str, value: &str) -> u64 {
    let put = Put::new(format!("{PREFIX}{name}"), value.to_owned());
    client.put(put).await.unwrap().header.revision
}

async fn delete(client: &Client, name: &str) -> u64 {
    let delete = Delete::new(KeyRange::one(format!("{PREFIX}{name}")));
    client.delete(delete).await.unwrap().header.revision
}

type Items = Vec<Result<RawObject, Unreadable>>;

async fn list(source: &EtcdSource, options: &ListOptions) -> Result<(Items, ListEnd), SourceError> {
    let mut stream = source.list(options).await?;
    let mut items = Vec::new();
    loop {
        match stream.next().await? {
            ListPart::Items(more) => items.extend(more),
            ListPart::End(end) => return Ok((items, end)),
        }
    }
}

fn everything(freshness: Freshness) -> ListOptions {
    ListOptions {
        freshness,
        limit: None,
        continue_token: None,
    }
}

/// Name, version and value.
fn told(object: &RawObject) -> (String, u64, String) {
    let Version::Number(version) = object.version else {
        panic!("{object:?}");
    };
    let value = String::from_utf8(object.body.to_vec()).unwrap();
    (object.key.to_string(), version, value)
}

async fn watch_after(
    source: &EtcdSource,
    version: u64,
) -> Result<Box<dyn EventStream>, SourceError> {
    let options = WatchOptions {
        start: WatchStart::After(Version::Number(version)),
        timeout: Duration::from_secs(3600),
    };
    source.watch(&options).await
}

/// The next events, at least this many, whatever bookmarks come between.
async fn events(stream: &mut dyn EventStream, count: usize) -> Vec<RawEvent> {
    let mut seen = Vec::new();
    while seen.len() < count {
        let events = stream.next().await.unwrap().unwrap().into_iter();
        seen.extend(events.filter(|event| !matches!(event, RawEvent::Bookmark(_))));
    }
    seen
}

/// What ended a watch, after whatever it told before.
async fn end(stream: &mut dyn EventStream) -> Option<SourceError> {
    loop {
        match stream.next().await {
            Some(Ok(_)) => {}
            Some(Err(error)) => return Some(error),
            None => return None,
        }
    }
}
