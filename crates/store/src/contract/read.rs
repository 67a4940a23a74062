//! Promises of [`Store::read`].

use super::script::{delete, newest, put, put_together, read_at, read_newest, shown};
use crate::{KeyRange, Read, ReadError, Revision, Store};

/// A new store has no entries, and its newest revision can be read.
pub async fn an_empty_store_holds_nothing(store: &impl Store) {
    let page = read_newest(store).await;
    assert!(page.entries.is_empty());
    assert_eq!(page.remaining, 0);
    assert_eq!(page.revision, newest(store).await);
}

/// What was put is found under its key, with the revision of the commit.
pub async fn a_value_is_read_back_with_its_revision(store: &impl Store) {
    put(store, "a", "old").await;
    let revision = put(store, "a", "new").await;
    put(store, "b", "other").await;
    let page = store.read(Read::newest(KeyRange::single("a"))).await;
    let page = page.expect("the key can be read");
    assert_eq!(shown(&page), [format!("a=new@{revision}")]);
    assert_eq!(page.revision, newest(store).await);
}

/// A range holds each of its keys and no other, in the order of their bytes.
pub async fn a_range_gives_its_keys_in_byte_order(store: &impl Store) {
    let keys = ["/b/2", "/a", "/b/10", "/c", "/b", "/b0", "/b/1"];
    let together: Vec<_> = keys.iter().map(|key| (*key, "x")).collect();
    put_together(store, &together).await;
    let found = keys_in(store, KeyRange::prefix("/b/")).await;
    assert_eq!(found, ["/b/1", "/b/10", "/b/2"]);
    let found = keys_in(store, KeyRange::prefix("/b/").starting_at("/b/10")).await;
    assert_eq!(found, ["/b/10", "/b/2"]);
    let found = keys_in(store, KeyRange::all()).await;
    assert_eq!(found, ["/a", "/b", "/b/1", "/b/10", "/b/2", "/b0", "/c"]);
}

/// Such a range is no mistake of the caller: it has no keys.
pub async fn a_range_that_ends_before_it_begins_is_empty(store: &impl Store) {
    put_together(store, &[("a", "x"), ("b", "x"), ("c", "x")]).await;
    let range = KeyRange::prefix("a").starting_at("c");
    assert!(keys_in(store, range).await.is_empty());
}

/// A page has no more entries than asked for, and says how many of the range follow.
pub async fn a_limit_cuts_the_page_and_counts_the_rest(store: &impl Store) {
    for number in 0..7 {
        put(store, &format!("/a/{number}"), "x").await;
    }
    put(store, "/b", "outside").await;
    for (limit, entries, remaining) in [(3, 3, 4), (6, 6, 1), (7, 7, 0), (8, 7, 0)] {
        let read = Read::newest(KeyRange::prefix("/a/")).limit(limit);
        let page = store.read(read).await.expect("the range can be read");
        assert_eq!((page.entries.len(), page.remaining), (entries, remaining));
    }
}

/// A read of no entries tells the newest revision.
pub async fn a_limit_of_zero_tells_the_revision(store: &impl Store) {
    let revision = put_together(store, &[("a", "x"), ("b", "x")]).await;
    let page = store.read(Read::newest(KeyRange::all()).limit(0)).await;
    let page = page.expect("nothing can be read");
    assert_eq!((page.entries.len(), page.remaining), (0, 2));
    assert_eq!(page.revision, revision);
    assert_eq!(newest(store).await, revision);
}

/// A state that is kept never changes, whatever is written later.
pub async fn an_old_revision_is_read_as_it_was(store: &impl Store) {
    let mut states = vec![(newest(store).await, Vec::new())];
    let mut record = async |revision: Revision| {
        let page = read_newest(store).await;
        assert_eq!(page.revision, revision);
        states.push((revision, shown(&page)));
    };
    record(put(store, "b", "1").await).await;
    record(put_together(store, &[("a", "1"), ("b", "2"), ("c", "1")]).await).await;
    record(delete(store, "a").await).await;
    record(put(store, "b", "3").await).await;
    record(put(store, "a", "2").await).await;
    record(delete(store, "b").await).await;
    for (revision, state) in states {
        let page = read_at(store, revision).await.expect("it is kept");
        assert_eq!(page.revision, revision);
        assert_eq!(shown(&page), state);
    }
}

/// Pages read one after the other at one revision make up the state at that revision.
pub async fn pages_at_one_revision_make_one_list(store: &impl Store) {
    for number in 10..30 {
        put(store, &format!("{number}"), "x").await;
    }
    let whole = read_newest(store).await;
    let mut entries = Vec::new();
    let mut range = KeyRange::all();
    loop {
        let read = Read::newest(range.clone()).at(whole.revision).limit(6);
        let page = store.read(read).await.expect("it is kept");
        let last = page.entries.last().expect("no page is empty");
        range = range.starting_at([last.key.as_bytes(), &[0]].concat());
        delete(store, &String::from_utf8_lossy(last.key.as_bytes())).await;
        put(store, "11x", "new").await;
        entries.extend(page.entries);
        assert_eq!(page.remaining, whole.entries.len() - entries.len());
        if page.remaining == 0 {
            break;
        }
    }
    assert_eq!(entries, whole.entries);
}

/// A revision that no commit has reached is refused, with the newest that there is.
pub async fn a_future_revision_is_refused(store: &impl Store) {
    let newest = put(store, "a", "x").await;
    let requested = newest.next();
    let refused = read_at(store, requested).await;
    assert_eq!(refused, Err(ReadError::Future { requested, newest }));
}

async fn keys_in(store: &impl Store, range: KeyRange) -> Vec<String> {
    let page = store.read(Read::newest(range)).await;
    let page = page.expect("the range can be read");
    let keys = page.entries.iter().map(|entry| entry.key.as_bytes());
    keys.map(|key| String::from_utf8_lossy(key).into_owned())
        .collect()
}
