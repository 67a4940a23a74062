//! The metadata alone, for clients that need no more.

use http::Method;

use super::{CONFIG_MAPS, create, two_config_maps};
use crate::client::names;

const ONE: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

#[tokio::test]
async fn an_object_is_shown_without_its_content() {
    let server = two_config_maps().await;
    let path = format!("{CONFIG_MAPS}/a");
    let partial = server.get_as(&path, ONE).await.ok();
    let whole = server.get(&path).await.ok();
    assert_eq!(partial["kind"], "PartialObjectMetadata");
    assert_eq!(partial["apiVersion"], "meta.k8s.io/v1");
    assert_eq!(partial["metadata"], whole["metadata"]);
    assert!(partial.get("data").is_none());
}

#[tokio::test]
async fn a_list_is_shown_without_contents() {
    let server = two_config_maps().await;
    let list = server.get_as(CONFIG_MAPS, LIST).await.ok();
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    assert_eq!(names(&list), ["a", "b"]);
    assert_eq!(list["items"][0]["kind"], "PartialObjectMetadata");
    assert!(list["items"][0].get("data").is_none());
}

#[tokio::test]
async fn a_watch_tells_metadata() {
    let server = two_config_maps().await;
    let path = format!("{CONFIG_MAPS}?watch=1&allowWatchBookmarks=true");
    let call = server.call(Method::GET, &path).header("accept", ONE);
    let mut events = call.events().await;
    let state = events.shows(&["ADDED a", "ADDED b", "BOOKMARK"]).await;
    create(&server, "c").await;
    let told = events.shows(&["ADDED c"]).await;
    for event in state.iter().chain(&told) {
        assert_eq!(event.object["kind"], "PartialObjectMetadata");
        assert!(event.object.get("data").is_none());
    }
}
