//! LIST page by page.

use serde_json::Value;

use super::{CONFIG_MAPS, History, change, create, forget_before, forgotten_history, history};
use crate::{
    client::{names, version},
    running::TestServer,
};

async fn page(server: &TestServer, query: &str) -> Value {
    server.get(&format!("{CONFIG_MAPS}?{query}")).await.ok()
}

fn token(page: &Value) -> &str {
    page["metadata"]["continue"].as_str().expect("more to come")
}

async fn first_page(history: &History) -> (String, u64) {
    let first = page(&history.server, "limit=1").await;
    (token(&first).to_owned(), version(&first))
}

#[tokio::test]
async fn all_pages_show_one_moment() {
    let history = history().await;
    let server = &history.server;
    let first = page(server, "limit=1").await;
    assert_eq!(first["metadata"]["remainingItemCount"], 2);
    create(server, "aa").await;
    change(server, "c", "changed").await;
    server.delete(&format!("{CONFIG_MAPS}/b")).await.ok();

    let second = page(server, &format!("limit=1&continue={}", token(&first))).await;
    assert_eq!(names(&second), ["b"]);
    assert_eq!(second["metadata"]["remainingItemCount"], 1);
    let third = page(server, &format!("limit=1&continue={}", token(&second))).await;
    assert_eq!(names(&third), ["c"]);
    assert_eq!(version(&third["items"][0]), history.c, "as it was");
    assert!(third["metadata"].get("continue").is_none());
    assert!(third["metadata"].get("remainingItemCount").is_none());
    let versions = [&first, &second, &third].map(version);
    assert_eq!(versions, [version(&first); 3]);
}

#[tokio::test]
async fn the_rest_comes_without_a_limit() {
    let history = history().await;
    let (token, _) = first_page(&history).await;
    for zero in ["", "&resourceVersion=0", "&resourceVersion=", "&limit=0"] {
        let rest = page(&history.server, &format!("continue={token}{zero}")).await;
        assert_eq!(names(&rest), ["b", "c"], "{zero}");
    }
}

#[tokio::test]
async fn a_page_that_ends_with_the_list_has_no_token() {
    let history = history().await;
    for limit in [3, 4, 1_000_000] {
        let whole = page(&history.server, &format!("limit={limit}")).await;
        assert_eq!(names(&whole).len(), 3);
        assert!(whole["metadata"].get("continue").is_none(), "{limit}");
    }
}

#[tokio::test]
async fn a_selector_leaves_the_rest_uncounted() {
    let history = history().await;
    let selected = page(
        &history.server,
        "limit=1&fieldSelector=metadata.name%21%3Dc",
    )
    .await;
    assert_eq!(names(&selected), ["a"]);
    assert!(selected["metadata"].get("remainingItemCount").is_none());
    let query = format!(
        "limit=1&fieldSelector=metadata.name%21%3Dc&continue={}",
        token(&selected)
    );
    let last = page(&history.server, &query).await;
    assert_eq!(names(&last), ["b"]);
    assert!(last["metadata"].get("continue").is_none());
}

#[tokio::test]
async fn a_watch_goes_on_from_the_version_of_any_page() {
    let history = history().await;
    let (_, at) = first_page(&history).await;
    create(&history.server, "d").await;
    let path = format!("{CONFIG_MAPS}?watch=1&resourceVersion={at}");
    history.server.watch(&path).await.shows(&["ADDED d"]).await;
}

#[tokio::test]
async fn pages_of_all_namespaces_go_on_across_them() {
    let history = history().await;
    let mut seen = Vec::new();
    let mut query = "limit=2".to_owned();
    loop {
        let path = format!("/api/v1/namespaces?{query}");
        let page = history.server.get(&path).await.ok();
        seen.extend(names(&page));
        match page["metadata"]["continue"].as_str() {
            Some(token) => query = format!("limit=2&continue={token}"),
            None => break,
        }
    }
    let all = ["default", "kube-node-lease", "kube-public", "kube-system"];
    assert_eq!(seen, all);
}

#[tokio::test]
async fn a_version_beside_a_token_is_refused() {
    let history = history().await;
    let (token, at) = first_page(&history).await;
    let path = format!("{CONFIG_MAPS}?continue={token}&resourceVersion={at}");
    let message = "specifying resource version is not allowed when using continue";
    history.server.get(&path).await.says(400, message);
    let path = format!("{CONFIG_MAPS}?continue={token}&resourceVersionMatch=NotOlderThan");
    history.server.get(&path).await.refused(422);
}

#[tokio::test]
async fn a_forgotten_moment_offers_to_go_on_with_the_present() {
    let history = forgotten_history().await;
    let server = &history.server;
    let (token, at) = first_page(&history).await;
    for name in ["d", "e"] {
        create(server, name).await;
    }
    let next = change(server, "a", "2").await;
    assert!(next > at);
    server.has_settled().await;
    forget_before(server, next).await;

    let path = format!("{CONFIG_MAPS}?limit=1&continue={token}");
    let status = server.get(&path).await.refused(410);
    assert_eq!(status["reason"], "Expired");
    let offered = status["metadata"]["continue"].as_str().unwrap();
    let rest = page(server, &format!("continue={offered}")).await;
    assert_eq!(names(&rest), ["b", "c", "d", "e"]);
    assert!(version(&rest) >= next);

    let mut query = format!("limit=2&continue={offered}");
    let mut pages = Vec::new();
    loop {
        let page = page(server, &query).await;
        pages.push(names(&page).join(" "));
        match page["metadata"]["continue"].as_str() {
            Some(token) => query = format!("limit=2&continue={token}"),
            None => break,
        }
    }
    assert_eq!(pages, ["b c", "d e"]);
}

#[tokio::test]
async fn pages_of_any_size_together_are_the_list() {
    let server = crate::running::start_server().await;
    for index in 0..60 {
        let name = format!("n{:02}", index * 7 % 60);
        let labels = serde_json::json!({"third": (index % 3).to_string()});
        let object = serde_json::json!({"metadata": {"name": name, "labels": labels}});
        server.post(CONFIG_MAPS, &object).await.created();
    }
    for selector in [
        "",
        "labelSelector=third%3D1",
        "labelSelector=third%21%3D1%2Cthird",
    ] {
        let whole = server.get(&format!("{CONFIG_MAPS}?{selector}")).await;
        for limit in [1, 2, 7, 19, 20, 21, 59, 60, 61] {
            let mut seen = Vec::new();
            let mut token = String::new();
            loop {
                let query = format!("{selector}&limit={limit}{token}");
                let page = page(&server, &query).await;
                assert!(names(&page).len() <= limit, "{query}");
                seen.extend(names(&page));
                match page["metadata"]["continue"].as_str() {
                    Some(next) => token = format!("&continue={next}"),
                    None => break,
                }
                assert_eq!(
                    names(&page).len(),
                    limit,
                    "only the last is shorter: {query}"
                );
            }
            assert_eq!(seen, whole.item_names(), "{selector} by {limit}");
        }
    }
}
