//! Keys that go away by themselves.

use std::time::Duration;

use listwatch_etcd::{Error, Event, KeyRange, PreviousValues, Put, WatchRequest, WatchUpdate};

use crate::on_every_release;

#[tokio::test]
async fn a_key_goes_away_with_its_lease() {
    on_every_release(async |client| {
        let lease = client.grant_lease(Duration::from_secs(1)).await.unwrap();
        let put = Put {
            lease: Some(lease.id),
            ..Put::new("a", "1")
        };
        let written = client.put(put).await.unwrap().header.revision;
        assert_eq!(
            client.get("a").await.unwrap().unwrap().lease,
            lease.id.get()
        );
        let request = WatchRequest {
            previous: PreviousValues::Included,
            ..WatchRequest::from_revision(KeyRange::one("a"), written + 1)
        };
        let mut watch = client.watch(request).await.unwrap();
        let WatchUpdate::Events(events) = watch.next().await.unwrap() else {
            panic!("nothing but the end of the key can come");
        };
        let [Event::Delete { key, previous, .. }] = &events[..] else {
            panic!("{events:?}");
        };
        assert_eq!(
            (&key[..], &previous.as_ref().unwrap().value[..]),
            (&b"a"[..], &b"1"[..])
        );
        assert_eq!(
            client.keep_lease_alive(lease.id).await,
            Err(Error::LeaseNotFound)
        );
    })
    .await;
}

#[tokio::test]
async fn a_lease_is_kept_alive_and_revoked() {
    on_every_release(async |client| {
        let lease = client.grant_lease(Duration::from_secs(60)).await.unwrap();
        assert_eq!(lease.time_to_live, Duration::from_secs(60));
        let put = Put {
            lease: Some(lease.id),
            ..Put::new("a", "1")
        };
        client.put(put.clone()).await.unwrap();
        let left = client.keep_lease_alive(lease.id).await.unwrap();
        assert_eq!(left, Duration::from_secs(60));
        client.revoke_lease(lease.id).await.unwrap();
        assert_eq!(client.get("a").await.unwrap(), None);
        assert_eq!(
            client.revoke_lease(lease.id).await,
            Err(Error::LeaseNotFound)
        );
        assert_eq!(client.put(put).await, Err(Error::LeaseNotFound));
    })
    .await;
}
