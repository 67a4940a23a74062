//! Lists of a real server.

use k8s_openapi::api::core::v1::Namespace;
use kube::{api::PartialObjectMeta, core::GroupVersionKind, discovery::ApiResource};
use listwatch::Uid;

use super::*;
use crate::real_server::RealServer;

async fn three_config_maps() -> (RealServer, Client) {
    let server = RealServer::start().await;
    let client = server.client();
    create(&client, "default", "a", "front").await;
    create(&client, "default", "b", "back").await;
    create(&client, "kube-system", "c", "front").await;
    (server, client)
}

#[tokio::test]
async fn all_objects_come_with_their_headers_and_bodies() {
    let (_server, client) = three_config_maps().await;
    let source = KubernetesSource::all::<ConfigMap>(client);
    let (objects, end) = list(&source, &most_recent()).await.unwrap();
    assert_eq!(keys(&objects), ["default/a", "default/b", "kube-system/c"]);
    assert_eq!(end.continue_token, None);
    for object in &objects {
        let body: ConfigMap = serde_json::from_slice(&object.body).unwrap();
        let metadata = body.metadata;
        assert_eq!(metadata.name.as_deref(), Some(object.key.name()));
        assert_eq!(metadata.namespace.as_deref(), object.key.namespace());
        let version = metadata.resource_version.unwrap();
        assert_eq!(version, object.version.to_string());
        assert_eq!(Uid::parse(&metadata.uid.unwrap()), object.uid);
        let labels = metadata.labels.unwrap_or_default();
        let labels: Vec<_> = labels.iter().map(|(a, b)| (&**a, &**b)).collect();
        assert_eq!(object.labels.iter().collect::<Vec<_>>(), labels);
        assert!(end.version.as_ref().unwrap().reaches(&object.version));
    }
}

#[tokio::test]
async fn namespaces_and_selectors_narrow_the_list() {
    let (_server, client) = three_config_maps().await;
    let all = KubernetesSource::all::<ConfigMap>(client.clone());
    let default = KubernetesSource::namespaced::<ConfigMap>(client, "default");
    let cases = [
        (default.clone(), vec!["default/a", "default/b"]),
        (
            all.clone().labels("tier in (front)"),
            vec!["default/a", "kube-system/c"],
        ),
        (all.fields("metadata.name=b"), vec!["default/b"]),
        (
            default.labels("tier=front").fields("metadata.name=b"),
            vec![],
        ),
    ];
    for (source, expected) in cases {
        let (objects, _) = list(&source, &most_recent()).await.unwrap();
        assert_eq!(keys(&objects), expected, "{source}");
    }
}

#[tokio::test]
async fn pages_follow_each_other_at_one_version() {
    let (_server, client) = three_config_maps().await;
    let source = KubernetesSource::all::<ConfigMap>(client.clone());
    let mut options = ListOptions {
        limit: Some(2),
        ..most_recent()
    };
    let (first, end) = list(&source, &options).await.unwrap();
    assert_eq!(keys(&first), ["default/a", "default/b"]);
    create(&client, "kube-system", "d", "back").await;
    options.continue_token = end.continue_token;
    let (second, last) = list(&source, &options).await.unwrap();
    assert_eq!(keys(&second), ["kube-system/c"]);
    assert_eq!((last.version, last.continue_token), (end.version, None));
}

#[tokio::test]
async fn a_list_is_as_fresh_as_it_is_asked_to_be() {
    let (_server, client) = three_config_maps().await;
    let source = KubernetesSource::namespaced::<ConfigMap>(client.clone(), "default");
    let (_, end) = list(&source, &most_recent()).await.unwrap();
    let before = end.version.unwrap();
    let after = create(&client, "default", "d", "front").await;
    let at = |freshness| ListOptions {
        freshness,
        ..most_recent()
    };
    let (exact, end) = list(&source, &at(Freshness::Exactly(before.clone())))
        .await
        .unwrap();
    assert_eq!((exact.len(), end.version), (2, Some(before)));
    let (newer, end) = list(&source, &at(Freshness::NotOlderThan(after.clone())))
        .await
        .unwrap();
    assert_eq!(newer.len(), 3);
    assert!(end.version.unwrap().reaches(&after));
    let (any, _) = list(&source, &at(Freshness::Any)).await.unwrap();
    assert!(any.len() >= 2);
}

#[tokio::test]
async fn kinds_known_only_now_and_kinds_without_namespace_are_listed() {
    let (_server, client) = three_config_maps().await;
    let kind = GroupVersionKind::gvk("", "v1", "ConfigMap");
    let resource = ApiResource::from_gvk_with_plural(&kind, "configmaps");
    let dynamic = KubernetesSource::dynamic(client.clone(), &resource);
    let (objects, _) = list(&dynamic, &most_recent()).await.unwrap();
    assert_eq!(objects.len(), 3);
    let one = KubernetesSource::dynamic_namespaced(client.clone(), "kube-system", &resource);
    let (objects, _) = list(&one, &most_recent()).await.unwrap();
    assert_eq!(keys(&objects), ["kube-system/c"]);
    let namespaces = KubernetesSource::all::<Namespace>(client);
    let (objects, _) = list(&namespaces, &most_recent()).await.unwrap();
    assert!(keys(&objects).contains(&"default"));
}

#[tokio::test]
async fn metadata_comes_without_the_rest() {
    let (_server, client) = three_config_maps().await;
    let by_choice = KubernetesSource::all::<ConfigMap>(client.clone()).metadata_only();
    let by_type = KubernetesSource::from(Api::<PartialObjectMeta<ConfigMap>>::all(client));
    for source in [by_choice, by_type] {
        assert_eq!(source.to_string(), "/api/v1/configmaps (metadata only)");
        let (objects, _) = list(&source, &most_recent()).await.unwrap();
        assert_eq!(objects.len(), 3);
        for object in objects {
            let body: serde_json::Value = serde_json::from_slice(&object.body).unwrap();
            assert_eq!(body["metadata"]["name"], object.key.name());
            assert_eq!(body.get("data"), None);
        }
    }
}

#[tokio::test]
async fn a_version_from_the_future_is_told() {
    let server = RealServer::start().await;
    let source = KubernetesSource::all::<ConfigMap>(server.client());
    let options = ListOptions {
        freshness: Freshness::NotOlderThan(9_999_999.into()),
        ..most_recent()
    };
    let error = list(&source, &options).await.unwrap_err();
    assert!(matches!(error, SourceError::TooLarge { .. }), "{error}");
}

#[tokio::test]
async fn many_objects_arrive_in_parts() {
    let server = RealServer::start().await;
    let client = server.client();
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    for number in 0..200 {
        let name = format!("c{number:03}");
        let object = json!({"metadata": {"name": name}, "data": {"x": "y\\\"".repeat(5_000)}});
        let object = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
    }
    let source = KubernetesSource::namespaced::<ConfigMap>(client, "default");
    let mut stream = source.list(&most_recent()).await.unwrap();
    let (mut parts, mut names) = (0, Vec::new());
    while let ListPart::Items(items) = within(stream.next()).await.unwrap() {
        parts += 1;
        names.extend(
            items
                .into_iter()
                .map(|item| item.unwrap().key.name().to_owned()),
        );
    }
    let expected: Vec<_> = (0..200).map(|number| format!("c{number:03}")).collect();
    assert_eq!(names, expected);
    assert!(parts > 2, "{parts} parts");
}
