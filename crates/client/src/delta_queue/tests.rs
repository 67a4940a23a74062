//! What goes in, what comes out, and what the cache makes of it.

use std::sync::Arc;

use futures_util::FutureExt;

use super::*;
use crate::{CacheWriter, Change, Deletion, Difference, FinalState, Object, Replacement, Snapshot};

/// `+a1` adds `a` at version 1, `~a2` updates it, `-a3` deletes it with its state, `!a3` without;
/// `=4:a1,b2` is a list at version 4, `?` a resync, `.5` a bookmark.
fn delta(text: &str) -> Delta<()> {
    let (sign, rest) = text.split_at(1);
    match sign {
        "+" => Delta::Added(object(rest)),
        "~" => Delta::Updated(object(rest)),
        "-" => deletion(object(rest), Some(object(rest))),
        "!" => deletion(object(rest), None),
        "=" => {
            let (version, objects) = rest.split_once(':').unwrap();
            let objects = objects.split(',').filter(|text| !text.is_empty());
            Delta::Replaced(Replacement {
                objects: objects.map(object).collect(),
                set_aside: Vec::new(),
                version: Some(version.parse::<u64>().unwrap().into()),
            })
        }
        "?" => Delta::Resync,
        "." => Delta::Bookmark(rest.parse::<u64>().unwrap().into()),
        other => panic!("{other} is no delta"),
    }
}

fn object(text: &str) -> Arc<Object<()>> {
    let (key, version) = text.split_at(1);
    Arc::new(Object {
        key: key.into(),
        version: version.parse::<u64>().unwrap().into(),
        uid: None,
        labels: std::iter::empty::<(&str, &str)>().collect(),
        body: (),
    })
}

fn deletion(object: Arc<Object<()>>, last: Option<Arc<Object<()>>>) -> Delta<()> {
    Delta::Deleted(Deletion {
        key: object.key.clone(),
        version: object.version.clone(),
        last,
    })
}

fn deltas(text: &str) -> Vec<Delta<()>> {
    text.split_whitespace().map(delta).collect()
}

fn text(delta: &Delta<()>) -> String {
    let object = |object: &Object<()>| format!("{}{}", object.key, object.version);
    match delta {
        Delta::Added(new) => format!("+{}", object(new)),
        Delta::Updated(new) => format!("~{}", object(new)),
        Delta::Deleted(deletion) => {
            let sign = deletion.last.as_ref().map_or('!', |_| '-');
            format!("{sign}{}{}", deletion.key, deletion.version)
        }
        Delta::Replaced(_) => "list".to_owned(),
        Delta::Resync => "?".to_owned(),
        Delta::Bookmark(version) => format!(".{version}"),
    }
}

fn batch_text(batch: &[Delta<()>]) -> String {
    let texts: Vec<_> = batch.iter().map(text).collect();
    texts.join(" ")
}

/// The batches that come out, each in brackets.
async fn batches(queue: DeltaQueue<()>, input: &str) -> String {
    queue.push(deltas(input)).await.unwrap();
    queue.close();
    let mut output = Vec::new();
    while let Some(batch) = queue.pop_batch().await {
        output.push(format!("[{}]", batch_text(&batch)));
    }
    output.join(" ")
}

/// What the cache tells when all comes through the queue, one word for each notification.
async fn told(queue: DeltaQueue<()>, before: &str, input: &str) -> String {
    let (mut writer, cache) = CacheWriter::new();
    queue.feeds(cache);
    writer.apply(deltas(before));
    queue.push(deltas(input)).await.unwrap();
    queue.close();
    let mut words = Vec::new();
    while let Some(batch) = queue.pop_batch().await {
        for change in writer.apply(batch) {
            words.extend(words_of(change));
        }
    }
    words.join(" ")
}

fn words_of(change: Change<()>) -> Vec<String> {
    let at = |object: &Object<()>| format!("{}{}", object.key, object.version);
    match change {
        Change::Added(new) => vec![format!("+{}", at(&new))],
        Change::Updated { old, new } => vec![format!("~{}>{}", at(&old), new.version)],
        Change::Deleted(deleted) => {
            let sign = match deleted.final_state {
                FinalState::Known => '-',
                FinalState::Unknown => '!',
            };
            let last = deleted.last.map(|object| object.version.to_string());
            vec![format!("{sign}{}{}", deleted.key, last.unwrap_or_default())]
        }
        Change::Replaced { before, after } => {
            let differences = Snapshot::diff(&before, &after);
            let words = differences.map(|difference| match difference {
                Difference::Deleted(old) => format!("!{}", at(&old)),
                Difference::Updated { old, new } => format!("~{}>{}", at(&old), new.version),
                Difference::Added(new) => format!("+{}", at(&new)),
            });
            words.collect()
        }
        Change::Resync(snapshot) => snapshot
            .iter()
            .map(|object| format!("?{}", at(object)))
            .collect(),
        Change::Bookmark(version) => vec![format!(".{version}")],
    }
}

fn both() -> [DeltaQueue<()>; 2] {
    [DeltaQueue::in_order(), DeltaQueue::compressing()]
}

#[tokio::test]
async fn a_batch_in_order_is_cut_where_an_object_repeats_and_around_what_is_about_all() {
    for (input, expected) in [
        ("+a1", "[+a1]"),
        ("+a1 +b2 +c3", "[+a1 +b2 +c3]"),
        ("+a1 ~a2 ~a3", "[+a1] [~a2] [~a3]"),
        ("+a1 +b2 ~a3 ~b4", "[+a1 +b2] [~a3 ~b4]"),
        ("+a1 -a2 +a3", "[+a1] [-a2] [+a3]"),
        ("=1:a1 +b2 +c3", "[list] [+b2 +c3]"),
        ("+a1 =2: =3: +b4", "[+a1] [list] [list] [+b4]"),
        ("+a1 ? +b2", "[+a1] [?] [+b2]"),
        ("+a1 .1 .2 +b3", "[+a1] [.1] [.2] [+b3]"),
        ("-a1 -b2 !c3", "[-a1 -b2 !c3]"),
    ] {
        assert_eq!(batches(DeltaQueue::in_order(), input).await, expected);
    }
}

#[tokio::test]
async fn a_batch_in_order_has_a_most() {
    let queue = DeltaQueue::in_order();
    let objects = (0..BATCH_DELTAS_MAX + 1).map(|number| {
        let mut object = Arc::into_inner(object("a1")).unwrap();
        object.key = format!("{number}").into();
        Delta::Added(Arc::new(object))
    });
    queue.push(objects.collect()).await.unwrap();
    assert_eq!(queue.pop_batch().await.unwrap().len(), BATCH_DELTAS_MAX);
    assert_eq!(queue.pop_batch().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_compressing_queue_gathers_by_object_and_is_cut_by_lists_only() {
    for (input, expected) in [
        ("+a1 +b2 ~a3", "[+a1 ~a3 +b2]"),
        ("+a1 ~a2 ~a3", "[+a1 ~a2 ~a3]"),
        ("+a1 -a2 +a3 +b4", "[+a1 -a2 +a3 +b4]"),
        ("+a1 +b2 .3 ~a4 .5", "[+a1 ~a4 +b2] [.5]"),
        ("+a1 ? ~a2 ? ~b3", "[+a1 ~a2 ~b3] [?]"),
        ("+a1 =2:a1 ~a3", "[+a1] [list] [~a3]"),
        ("? =2: ?", "[?] [list] [?]"),
        ("=2: =3:", "[list] [list]"),
    ] {
        assert_eq!(batches(DeltaQueue::compressing(), input).await, expected);
    }
}

#[tokio::test]
async fn no_object_jumps_the_line() {
    let queue = DeltaQueue::compressing();
    let input = "+f1 +b2 +c3 ~f4 +d5 ~f6 ~b7";
    assert_eq!(batches(queue, input).await, "[+f1 ~f4 ~f6 +b2 ~b7 +c3 +d5]");
}

#[tokio::test]
async fn deletions_in_a_row_become_one_with_the_state_that_is_known() {
    for (input, expected) in [
        ("+a1 -a2 -a3", "[+a1 -a3]"),
        ("+a1 !a2 -a3", "[+a1 -a3]"),
        ("+a1 -a2 !a3", "[+a1 -a3]"),
        ("+a1 !a2 !a3", "[+a1 !a3]"),
        ("+a1 -a2 +a3 -a4", "[+a1 -a2 +a3 -a4]"),
    ] {
        assert_eq!(batches(DeltaQueue::compressing(), input).await, expected);
    }
    let kept = batches(DeltaQueue::in_order(), "+a1 -a2 -a3").await;
    assert_eq!(kept, "[+a1] [-a2] [-a3]");
}

#[tokio::test]
async fn the_deletion_of_what_nobody_knows_is_dropped_when_compressing() {
    for (before, input, expected) in [
        ("", "-a1", ""),
        ("+b1", "-a2 ~b3", "~b1>3"),
        ("+a1", "-a2", "-a2"),
        ("", "+a1 -a2", "+a1 -a2"),
        ("", "=1:a1 -a2 -b3", "+a1 -a2 -b3"),
    ] {
        assert_eq!(
            told(DeltaQueue::compressing(), before, input).await,
            expected
        );
    }
    assert_eq!(told(DeltaQueue::in_order(), "", "-a1").await, "-a1");
}

#[tokio::test]
async fn what_is_being_applied_counts_as_known() {
    for first in ["+a1", "=1:a1"] {
        let (_writer, cache) = CacheWriter::new();
        let queue = DeltaQueue::compressing();
        queue.feeds(cache);
        queue.push(deltas(first)).await.unwrap();
        let _being_applied = queue.pop_batch().await.unwrap();
        queue.push(deltas("-a2")).await.unwrap();
        assert_eq!(batch_text(&queue.pop_batch().await.unwrap()), "-a2");
        // It was never applied, and now it is not in flight either.
        queue.push(deltas("+b3")).await.unwrap();
        queue.pop_batch().await.unwrap();
        queue.push(deltas("-a4 ~b5")).await.unwrap();
        assert_eq!(batch_text(&queue.pop_batch().await.unwrap()), "~b5");
    }
}

#[tokio::test]
async fn a_list_finds_deletions_among_what_was_queued_and_what_was_known() {
    for (before, input, expected) in [
        // Queued only.
        ("", "+a1 =2:", "+a1 !a1"),
        ("", "+a1 ~a2 =3:", "+a1 ~a1>2 !a2"),
        ("", "+a1 -a2 =3:", "+a1 -a2"),
        ("", "+a1 -a2 =3:a3", "+a1 -a2 +a3"),
        ("", "+a1 =2:b2", "+a1 !a1 +b2"),
        // Known only.
        ("+a1", "=2:", "!a1"),
        ("+a1 +b2", "=3:b2", "!a1"),
        ("+a1 +b2 +c3", "-b4 =5:a1,d5", "-b4 !c3 +d5"),
        // Known, and something newer queued.
        ("+a1", "~a2 =3:", "~a1>2 !a2"),
        ("+a1", "-a2 =3:", "-a2"),
        ("+a1", "~a2 =3:a3", "~a1>2 ~a2>3"),
        // Unchanged.
        ("+a1 +b2", "=3:a1,b2", ""),
    ] {
        for queue in both() {
            assert_eq!(
                told(queue, before, input).await,
                expected,
                "{before}; {input}"
            );
        }
    }
}

#[tokio::test]
async fn a_resync_tells_what_the_cache_holds_when_it_comes_to_that() {
    for queue in both() {
        assert_eq!(told(queue, "+a1 +b2", "?").await, "?a1 ?b2");
    }
    for queue in both() {
        assert_eq!(told(queue, "", "?").await, "");
    }
    for queue in both() {
        assert_eq!(told(queue, "+a1 +b2", "~a3 -b4 ?").await, "~a1>3 -b4 ?a3");
    }
}

#[tokio::test]
async fn an_update_that_comes_after_a_resync_is_never_undone_by_it() {
    assert_eq!(
        told(DeltaQueue::in_order(), "+a1", "? ~a2").await,
        "?a1 ~a1>2"
    );
    assert_eq!(
        told(DeltaQueue::compressing(), "+a1", "? ~a2").await,
        "~a1>2 ?a2"
    );
}

#[tokio::test]
async fn presence_decides_what_an_addition_or_an_update_is() {
    for queue in both() {
        assert_eq!(told(queue, "+a1", "+a2 ~b3").await, "~a1>2 +b3");
    }
}

#[tokio::test]
async fn a_queue_at_its_bound_makes_who_pushes_wait_until_something_is_popped() {
    for queue in both() {
        let full = (0..QUEUE_DELTAS_MAX as u64).map(|version| delta(&format!("~a{version}")));
        queue.push(full.collect()).await.unwrap();
        let mut push = Box::pin(queue.push(deltas("+b1")));
        assert_eq!(push.as_mut().now_or_never(), None);
        queue.pop_batch().await.unwrap();
        assert_eq!(push.as_mut().now_or_never(), Some(Ok(())));
    }
}

#[tokio::test]
async fn closing_wakes_everybody_and_loses_nothing() {
    for queue in both() {
        let mut pop = Box::pin(queue.pop_batch());
        assert!(pop.as_mut().now_or_never().is_none());
        queue.close();
        assert!(matches!(pop.as_mut().now_or_never(), Some(None)));
        assert_eq!(queue.push(deltas("+a1")).await, Err(QueueClosed));
    }
    for queue in both() {
        let full = (0..QUEUE_DELTAS_MAX as u64).map(|version| delta(&format!("~a{version}")));
        queue.push(full.collect()).await.unwrap();
        let mut push = Box::pin(queue.push(deltas("+b1")));
        assert_eq!(push.as_mut().now_or_never(), None);
        queue.close();
        assert_eq!(push.as_mut().now_or_never(), Some(Err(QueueClosed)));
        let mut left = 0;
        while let Some(batch) = queue.pop_batch().await {
            left += batch.len();
        }
        assert_eq!(left, QUEUE_DELTAS_MAX);
    }
}

#[tokio::test]
async fn deltas_of_two_sources_keep_their_order_each() {
    let queue = DeltaQueue::in_order();
    let source = |sign: char, queue: DeltaQueue<()>| async move {
        for version in 0..5000 {
            let pushed = queue.push(vec![delta(&format!("~{sign}{version}"))]).await;
            pushed.unwrap();
        }
    };
    let sources = [
        tokio::spawn(source('a', queue.clone())),
        tokio::spawn(source('b', queue.clone())),
    ];
    let mut next = [0_u64; 2];
    while next != [5000; 2] {
        for delta in queue.pop_batch().await.unwrap() {
            let Delta::Updated(object) = delta else {
                panic!("only updates were pushed");
            };
            let next = &mut next[usize::from(object.key.as_str() == "b")];
            assert_eq!(object.version, (*next).into());
            *next += 1;
        }
    }
    for source in sources {
        source.await.unwrap();
    }
}
