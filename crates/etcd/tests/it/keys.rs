//! Reading, writing, deleting, compacting.

use listwatch_etcd::{
    Compaction, Content, Delete, Error, KeyRange, PreviousValues, Put, Range, ReadAt,
};

use crate::on_every_release;

#[tokio::test]
async fn what_was_written_is_read_with_its_history() {
    on_every_release(async |client| {
        let first = client
            .put(Put::new("a", "1"))
            .await
            .unwrap()
            .header
            .revision;
        let second = client
            .put(Put::new("a", "2"))
            .await
            .unwrap()
            .header
            .revision;
        let found = client.get("a").await.unwrap().unwrap();
        assert_eq!(found.value, "2");
        assert_eq!((found.create_revision, found.mod_revision), (first, second));
        assert_eq!((found.version, found.lease), (2, 0));
        assert_eq!(client.get("b").await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn a_range_is_read_in_pages_at_one_revision() {
    on_every_release(async |client| {
        for key in ["p/a", "p/b", "p/c", "q"] {
            client.put(Put::new(key, "old")).await.unwrap();
        }
        let all = KeyRange::prefix("p/");
        let page = Range {
            limit: Some(2),
            ..Range::new(all.clone())
        };
        let first = client.range(page.clone()).await.unwrap();
        assert_eq!(first.key_values.len(), 2);
        assert!(first.more);
        assert_eq!(first.count, 3);
        client.put(Put::new("p/c", "new")).await.unwrap();
        let second = Range {
            keys: all.after(&first.key_values[1].key),
            at: ReadAt::Revision(first.header.revision),
            ..page
        };
        let second = client.range(second).await.unwrap();
        assert!(!second.more);
        assert_eq!(second.key_values.len(), 1);
        assert_eq!(second.key_values[0].value, "old");
    })
    .await;
}

#[tokio::test]
async fn keys_and_counts_come_without_values() {
    on_every_release(async |client| {
        client.put(Put::new("a", "1")).await.unwrap();
        let keys = Range {
            content: Content::Keys,
            at: ReadAt::AtHand,
            ..Range::new(KeyRange::prefix(""))
        };
        let found = client.range(keys.clone()).await.unwrap();
        assert_eq!(
            (&*found.key_values[0].key, found.key_values[0].value.len()),
            (&b"a"[..], 0)
        );
        let count = Range {
            content: Content::Count,
            ..keys
        };
        let found = client.range(count).await.unwrap();
        assert_eq!((found.count, found.key_values.len()), (1, 0));
    })
    .await;
}

#[tokio::test]
async fn a_delete_tells_what_was_there() {
    on_every_release(async |client| {
        for key in ["p/a", "p/b", "q"] {
            client.put(Put::new(key, "value")).await.unwrap();
        }
        let delete = Delete {
            previous: PreviousValues::Included,
            ..Delete::new(KeyRange::prefix("p/"))
        };
        let answer = client.delete(delete.clone()).await.unwrap();
        assert_eq!(answer.deleted, 2);
        assert_eq!(answer.previous[1].key, "p/b");
        assert_eq!(client.delete(delete).await.unwrap().deleted, 0);
        assert!(client.get("q").await.unwrap().is_some());
    })
    .await;
}

#[tokio::test]
async fn a_write_tells_what_was_there() {
    on_every_release(async |client| {
        let put = Put {
            previous: PreviousValues::Included,
            ..Put::new("a", "1")
        };
        assert_eq!(client.put(put.clone()).await.unwrap().previous, None);
        let previous = client.put(put).await.unwrap().previous.unwrap();
        assert_eq!(previous.value, "1");
    })
    .await;
}

#[tokio::test]
async fn a_compacted_revision_is_told_from_one_to_come() {
    on_every_release(async |client| {
        let first = client
            .put(Put::new("a", "1"))
            .await
            .unwrap()
            .header
            .revision;
        let second = client
            .put(Put::new("a", "2"))
            .await
            .unwrap()
            .header
            .revision;
        client.compact(second, Compaction::Done).await.unwrap();
        let at = |revision| Range {
            at: ReadAt::Revision(revision),
            ..Range::new(KeyRange::one("a"))
        };
        let old = client.range(at(first)).await;
        assert!(matches!(old, Err(Error::Compacted { .. })), "{old:?}");
        let to_come = client.range(at(second + 1)).await;
        assert_eq!(to_come, Err(Error::FutureRevision));
        let again = client.compact(second, Compaction::Agreed).await;
        assert!(matches!(again, Err(Error::Compacted { .. })), "{again:?}");
        assert_eq!(
            client.range(at(second)).await.unwrap().key_values[0].value,
            "2"
        );
    })
    .await;
}

#[tokio::test]
async fn the_revision_is_that_of_the_last_write() {
    on_every_release(async |client| {
        let written = client
            .put(Put::new("a", "1"))
            .await
            .unwrap()
            .header
            .revision;
        assert_eq!(client.revision().await.unwrap(), written);
    })
    .await;
}

#[tokio::test]
async fn answers_may_be_large() {
    on_every_release(async |client| {
        let value = vec![7_u8; 1 << 20];
        for index in 0..8 {
            client
                .put(Put::new(format!("p/{index}"), value.clone()))
                .await
                .unwrap();
        }
        let found = client
            .range(Range::new(KeyRange::prefix("p/")))
            .await
            .unwrap();
        assert!(found.key_values.iter().all(|found| found.value == value));
        assert_eq!(found.key_values.len(), 8);
        let too_large = client.put(Put::new("large", vec![7_u8; 2 << 20])).await;
        assert!(
            matches!(too_large, Err(Error::Refused { .. })),
            "{too_large:?}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_member_says_what_it_is() {
    on_every_release(async |client| {
        let status = client.status().await.unwrap();
        assert_eq!(status.version.major, 3);
        assert_eq!(status.leader, Some(status.header.member_id));
        assert!(status.database_bytes >= status.database_bytes_in_use);
    })
    .await;
}
