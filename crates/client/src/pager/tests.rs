use std::collections::VecDeque;

use parking_lot::Mutex;

use super::*;
use crate::{
    Labels,
    lister_watcher::{BoxFuture, EventStream, WatchOptions},
};

type Answer = Result<(Vec<&'static str>, ListEnd), SourceError>;

/// Answers lists from a script and keeps what was asked.
#[derive(Default)]
struct Pages {
    answers: Mutex<VecDeque<Answer>>,
    asked: Mutex<Vec<ListOptions>>,
}

struct OnePage(VecDeque<ListPart>);

impl ListStream for OnePage {
    fn next(&mut self) -> BoxFuture<'_, Result<ListPart, SourceError>> {
        let part = self.0.pop_front().expect("not read after its end");
        Box::pin(async move { Ok(part) })
    }
}

impl ListerWatcher for Pages {
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
    ) -> BoxFuture<'a, Result<Box<dyn ListStream>, SourceError>> {
        self.asked.lock().push(options.clone());
        let answer = self
            .answers
            .lock()
            .pop_front()
            .expect("asked once too often");
        Box::pin(async move {
            let (names, end) = answer?;
            let items = names.into_iter().map(|name| Ok(object(name))).collect();
            let parts = [ListPart::Items(items), ListPart::End(end)];
            Ok(Box::new(OnePage(parts.into())) as Box<dyn ListStream>)
        })
    }

    fn watch<'a>(
        &'a self,
        _: &'a WatchOptions,
    ) -> BoxFuture<'a, Result<Box<dyn EventStream>, SourceError>> {
        Box::pin(async {
            Err(SourceError::Refused {
                code: 405,
                message: "lists only".into(),
            })
        })
    }
}

fn object(name: &str) -> RawObject {
    RawObject {
        key: name.into(),
        version: Version::from(1),
        uid: None,
        labels: Labels::default(),
        body: Vec::new().into(),
    }
}

fn page(names: &[&'static str], version: u64, token: Option<&str>) -> Answer {
    let end = ListEnd {
        version: Some(version.into()),
        continue_token: token.map(str::to_owned),
    };
    Ok((names.to_vec(), end))
}

fn expired() -> Answer {
    Err(SourceError::Expired {
        message: "too old".into(),
    })
}

fn pages<const COUNT: usize>(answers: [Answer; COUNT]) -> Arc<Pages> {
    Arc::new(Pages {
        answers: Mutex::new(answers.into()),
        asked: Mutex::default(),
    })
}

fn names(listed: &Listed) -> Vec<&str> {
    let items = listed.items.iter();
    items
        .map(|item| item.as_ref().unwrap().key.as_str())
        .collect()
}

fn at_least(version: u64) -> PagerSettings {
    PagerSettings {
        freshness: Freshness::NotOlderThan(version.into()),
        ..PagerSettings::default()
    }
}

fn asked(source: &Pages) -> Vec<(Freshness, Option<u32>, Option<String>)> {
    let asked = source.asked.lock();
    let parts = |options: &ListOptions| {
        let ListOptions {
            freshness,
            limit,
            continue_token,
        } = options.clone();
        (freshness, limit, continue_token)
    };
    asked.iter().map(parts).collect()
}

#[tokio::test]
async fn all_pages_are_one_list_at_the_version_of_the_first() {
    let source = pages([
        page(&["a", "b"], 10, Some("t1")),
        page(&["c"], 12, Some("t2")),
        page(&["d"], 14, None),
    ]);
    let listed = Pager::new(source.clone(), at_least(7))
        .collect()
        .await
        .unwrap();
    assert_eq!(names(&listed), ["a", "b", "c", "d"]);
    assert_eq!(listed.version, Some(10.into()));
}

#[tokio::test]
async fn only_the_first_page_says_how_new_the_list_has_to_be() {
    let source = pages([page(&["a"], 10, Some("t1")), page(&["b"], 10, None)]);
    Pager::new(source.clone(), at_least(7))
        .collect()
        .await
        .unwrap();
    let first = (Freshness::NotOlderThan(7.into()), Some(500), None);
    let second = (Freshness::MostRecent, Some(500), Some("t1".to_owned()));
    assert_eq!(asked(&source), [first, second]);
}

#[tokio::test]
async fn a_list_that_expires_between_pages_is_read_again_in_one_piece() {
    let source = pages([
        page(&["a"], 10, Some("t1")),
        expired(),
        page(&["a", "b"], 20, None),
    ]);
    let listed = Pager::new(source.clone(), at_least(7))
        .collect()
        .await
        .unwrap();
    assert_eq!(names(&listed), ["a", "b"]);
    assert_eq!(listed.version, Some(20.into()));
    let whole = (Freshness::NotOlderThan(7.into()), None, None);
    assert_eq!(asked(&source)[2], whole);
}

#[tokio::test]
async fn a_list_is_read_again_once_and_no_more() {
    let source = pages([
        page(&["a"], 10, Some("t1")),
        expired(),
        page(&["a"], 20, Some("t2")),
        expired(),
    ]);
    let failed = Pager::new(source, at_least(7)).collect().await;
    assert!(
        matches!(failed, Err(SourceError::Expired { .. })),
        "{failed:?}"
    );
}

#[tokio::test]
async fn an_expired_first_page_is_an_error() {
    let source = pages([expired()]);
    let failed = Pager::new(source, at_least(7)).collect().await;
    assert!(
        matches!(failed, Err(SourceError::Expired { .. })),
        "{failed:?}"
    );
}

#[tokio::test]
async fn a_reader_that_cannot_forget_gets_the_error_instead() {
    let source = pages([page(&["a"], 10, Some("t1")), expired()]);
    let settings = PagerSettings {
        on_expired: OnExpired::Fail,
        ..PagerSettings::default()
    };
    let mut pager = Pager::new(source, settings);
    assert!(matches!(pager.next().await, Some(Ok(PagedPart::Items(_)))));
    assert!(matches!(
        pager.next().await,
        Some(Err(SourceError::Expired { .. }))
    ));
    assert!(pager.next().await.is_none());
}

#[tokio::test]
async fn any_other_error_ends_the_list() {
    let broken = SourceError::Disconnected {
        reason: "reset".into(),
    };
    let source = pages([page(&["a"], 10, Some("t1")), Err(broken.clone())]);
    let failed = Pager::new(source, at_least(7)).collect().await;
    assert_eq!(failed.unwrap_err(), broken);
}

#[tokio::test]
async fn reading_ahead_stops_at_its_bound() {
    const TOKENS: [&str; 30] = ["more"; 30];
    let answers = TOKENS.map(|token| page(&["a"], 10, Some(token)));
    let source = pages(answers);
    source.answers.lock().push_back(page(&["z"], 10, None));
    let mut prefetched = Pager::new(source.clone(), PagerSettings::default()).prefetch();
    assert!(prefetched.next().await.is_some());
    // On one thread the reader runs until it has to wait.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    // One is with us, one is in the reader's hand.
    assert_eq!(source.asked.lock().len(), PREFETCHED_PARTS_MAX + 2);

    let mut parts = 1;
    while let Some(part) = prefetched.next().await {
        part.unwrap();
        parts += 1;
    }
    assert_eq!((parts, prefetched.version()), (31, Some(&10.into())));
}
