//! Watches of a real server.

use std::sync::Arc;

use listwatch::source::kubernetes::Transport;
use listwatch_server::Settings;
use listwatch_store::{MemoryStore, Revision, Store};

use super::*;
use crate::real_server::RealServer;

const TRANSPORTS: [Transport; 2] = [Transport::HttpStream, Transport::WebSocket];

#[tokio::test]
async fn a_watch_goes_on_from_where_a_list_ended() {
    let server = RealServer::start().await;
    let client = server.client();
    create(&client, "default", "a", "front").await;
    let source = KubernetesSource::namespaced::<ConfigMap>(client.clone(), "default");
    for transport in TRANSPORTS {
        let source = source.clone().transport(transport);
        let (_, end) = list(&source, &most_recent()).await.unwrap();
        let options = starting(WatchStart::After(end.version.unwrap()));
        let mut stream = within(source.watch(&options)).await.unwrap();
        create(&client, "default", "b", "front").await;
        delete(&client, "b").await;
        let lines = lines(&mut *stream, 2).await;
        assert_eq!(
            lines,
            ["ADDED default/b", "DELETED default/b"],
            "{transport:?}"
        );
    }
}

#[tokio::test]
async fn a_watch_begins_with_the_state_if_asked() {
    let server = RealServer::start().await;
    let client = server.client();
    for (name, tier) in [("a", "front"), ("b", "back"), ("c", "front")] {
        create(&client, "default", name, tier).await;
    }
    let source = KubernetesSource::all::<ConfigMap>(client).labels("tier=front");
    for transport in TRANSPORTS {
        let source = source.clone().transport(transport);
        let options = starting(WatchStart::InitialEvents(Freshness::MostRecent));
        let mut stream = within(source.watch(&options)).await.unwrap();
        let lines = lines(&mut *stream, 3).await;
        let expected = ["ADDED default/a", "ADDED default/c", "END OF STATE"];
        assert_eq!(lines, expected, "{transport:?}");
    }
}

#[tokio::test]
async fn events_of_metadata_have_only_metadata() {
    let server = RealServer::start().await;
    let client = server.client();
    create(&client, "default", "a", "front").await;
    let source = KubernetesSource::namespaced::<ConfigMap>(client, "default").metadata_only();
    for transport in TRANSPORTS {
        let source = source.clone().transport(transport);
        let options = starting(WatchStart::InitialEvents(Freshness::Any));
        let mut stream = within(source.watch(&options)).await.unwrap();
        let events = within(stream.next()).await.unwrap().unwrap();
        let RawEvent::Added(object) = &events[0] else {
            panic!("{events:?}")
        };
        let body: serde_json::Value = serde_json::from_slice(&object.body).unwrap();
        assert_eq!(body["kind"], "PartialObjectMetadata");
        assert_eq!(body.get("data"), None);
    }
}

#[tokio::test]
async fn a_version_too_old_is_told() {
    let mut settings = Settings::default();
    settings.cache.history_events_max = 1;
    let store = Arc::new(MemoryStore::new());
    let server = RealServer::start_on(Arc::clone(&store) as Arc<dyn Store>, settings).await;
    let client = server.client();
    let old = create(&client, "default", "a", "front").await;
    for name in ["b", "c", "d"] {
        create(&client, "default", name, "front").await;
    }
    let source = KubernetesSource::all::<ConfigMap>(client);
    list(&source, &most_recent()).await.unwrap();
    store.compact(Revision::new(u64::MAX)).await.unwrap();
    for transport in TRANSPORTS {
        let source = source.clone().transport(transport);
        let options = starting(WatchStart::After(old.clone()));
        let error = match within(source.watch(&options)).await {
            Ok(mut stream) => within(stream.next()).await.unwrap().unwrap_err(),
            Err(error) => error,
        };
        assert!(
            matches!(error, SourceError::Expired { .. }),
            "{transport:?}: {error}"
        );
    }
}

#[tokio::test]
async fn a_watch_whose_time_is_over_ends_in_good_order() {
    let server = RealServer::start().await;
    for transport in TRANSPORTS {
        let source = KubernetesSource::all::<ConfigMap>(server.client()).transport(transport);
        let options = WatchOptions {
            timeout: Duration::from_secs(1),
            ..starting(WatchStart::InitialEvents(Freshness::MostRecent))
        };
        let mut stream = within(source.watch(&options)).await.unwrap();
        while let Some(events) = within(stream.next()).await {
            events.unwrap();
        }
    }
}
