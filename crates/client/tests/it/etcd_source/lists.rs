//! Lists: pages of one revision, and how new they are.

use listwatch::{
    SourceError, Version,
    etcd::{Client, Compaction, Operation, Put, Transaction},
    lister_watcher::{Freshness, ListOptions},
};

use super::{PREFIX, everything, list, on_every_release, put, told};

async fn put_many(client: &Client, count: usize, value: &str) {
    let names: Vec<usize> = (0..count).collect();
    for chunk in names.chunks(100) {
        let puts = chunk.iter().map(|number| {
            let key = format!("{PREFIX}{number:05}");
            Operation::Put(Put::new(key, value.to_owned()))
        });
        let transaction = Transaction {
            then: puts.collect(),
            ..Transaction::default()
        };
        client.transact(transaction).await.unwrap();
    }
}

#[tokio::test]
async fn all_pages_are_of_one_revision_while_writes_go_on() {
    on_every_release(async |client, source| {
        put_many(&client, 25, "old").await;
        let listed_at = client.revision().await.unwrap();
        let mut names = Vec::new();
        let mut options = ListOptions {
            limit: Some(4),
            ..everything(Freshness::MostRecent)
        };
        loop {
            let (items, end) = list(&source, &options).await.unwrap();
            assert!(items.len() <= 4);
            assert_eq!(end.version, Some(Version::Number(listed_at)));
            for item in items {
                let (name, version, value) = told(&item.unwrap());
                assert!(
                    value == "old" && version <= listed_at,
                    "{name} {version} {value}"
                );
                names.push(name);
            }
            put_many(&client, 30, "new").await;
            options.continue_token = end.continue_token;
            if options.continue_token.is_none() {
                break;
            }
        }
        let expected: Vec<String> = (0..25).map(|number| format!("{number:05}")).collect();
        assert_eq!(names, expected);
    })
    .await;
}

#[tokio::test]
async fn a_list_without_a_limit_is_whole_however_many_ranges_it_takes() {
    on_every_release(async |client, source| {
        put_many(&client, 2300, "value").await;
        let (items, end) = list(&source, &everything(Freshness::Any)).await.unwrap();
        assert_eq!(items.len(), 2300);
        assert_eq!(end.continue_token, None);
        let last = told(items.last().unwrap().as_ref().unwrap());
        assert_eq!(last.0, "02299");
        let (page, _) = list(
            &source,
            &ListOptions {
                limit: Some(1500),
                ..everything(Freshness::MostRecent)
            },
        )
        .await
        .unwrap();
        assert_eq!(page.len(), 1500);
    })
    .await;
}

#[tokio::test]
async fn an_empty_prefix_is_listed_with_its_version() {
    on_every_release(async |client, source| {
        let (items, end) = list(&source, &everything(Freshness::MostRecent))
            .await
            .unwrap();
        assert!(items.is_empty());
        let present = client.revision().await.unwrap();
        assert_eq!(end.version, Some(Version::Number(present)));
        assert_eq!(end.continue_token, None);
    })
    .await;
}

#[tokio::test]
async fn a_list_is_as_new_as_was_asked() {
    on_every_release(async |client, source| {
        let first = put(&client, "a", "1").await;
        let second = put(&client, "a", "2").await;
        let at = async |freshness| list(&source, &everything(freshness)).await;
        let version = Version::Number;
        let (old, end) = at(Freshness::Exactly(version(first))).await.unwrap();
        assert_eq!(
            told(old[0].as_ref().unwrap()),
            ("a".into(), first, "1".into())
        );
        assert_eq!(end.version, Some(version(first)));
        let (new, _) = at(Freshness::NotOlderThan(version(second))).await.unwrap();
        assert_eq!(
            told(new[0].as_ref().unwrap()),
            ("a".into(), second, "2".into())
        );
        for freshness in [
            Freshness::NotOlderThan(version(second + 1)),
            Freshness::Exactly(version(second + 1)),
            Freshness::Exactly(version(u64::MAX)),
        ] {
            let answer = at(freshness.clone()).await;
            assert!(
                matches!(answer, Err(SourceError::TooLarge { .. })),
                "{freshness:?}"
            );
        }
        let text = Freshness::Exactly(Version::Text("x".into()));
        assert!(matches!(at(text).await, Err(SourceError::Refused { .. })));
    })
    .await;
}

#[tokio::test]
async fn a_compacted_version_is_expired_for_lists_and_their_further_pages() {
    on_every_release(async |client, source| {
        put_many(&client, 3, "old").await;
        let old = client.revision().await.unwrap();
        let mut page = ListOptions {
            limit: Some(1),
            ..everything(Freshness::MostRecent)
        };
        page.continue_token = list(&source, &page).await.unwrap().1.continue_token;
        put_many(&client, 3, "new").await;
        let present = client.revision().await.unwrap();
        client.compact(present, Compaction::Done).await.unwrap();
        let answer = list(&source, &page).await;
        assert!(
            matches!(answer, Err(SourceError::Expired { .. })),
            "{answer:?}"
        );
        let exactly = everything(Freshness::Exactly(Version::Number(old)));
        let answer = list(&source, &exactly).await;
        assert!(
            matches!(answer, Err(SourceError::Expired { .. })),
            "{answer:?}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_key_that_is_no_text_hides_no_other() {
    on_every_release(async |client, source| {
        put(&client, "a", "1").await;
        let mut key = PREFIX.as_bytes().to_vec();
        key.push(0xff);
        client.put(Put::new(key.clone(), "2")).await.unwrap();
        let (items, _) = list(&source, &everything(Freshness::MostRecent))
            .await
            .unwrap();
        assert_eq!(items.len(), 2);
        assert!(items[0].is_ok());
        assert_eq!(items[1].as_ref().unwrap_err().raw, key);
    })
    .await;
}
