//! Numbers, flags and selectors that are none.

use serde_json::json;

use super::{CONFIG_MAPS, encoded, soon};
use crate::{
    client::names,
    running::{TestServer, start_server},
};

const LARGEST: &str = "18446744073709551615";

async fn with_objects() -> TestServer {
    let server = start_server().await;
    for name in ["a", "b", "c"] {
        let object = json!({"metadata": {"name": name}});
        server.post(CONFIG_MAPS, &object).await.created();
    }
    server.has_settled().await;
    server
}

#[tokio::test]
async fn a_version_that_is_no_number_is_refused_everywhere() {
    let server = with_objects().await;
    for (version, why) in [
        ("-1", "invalid syntax"),
        ("+1", "invalid syntax"),
        ("abc", "invalid syntax"),
        ("1.5", "invalid syntax"),
        (" 1", "invalid syntax"),
        ("1 ", "invalid syntax"),
        ("0x1", "invalid syntax"),
        ("1e3", "invalid syntax"),
        ("18446744073709551616", "value out of range"),
        ("99999999999999999999999999", "value out of range"),
    ] {
        let parameter = encoded(version);
        let reason = format!(
            "resourceVersion: Invalid value: \"{version}\": strconv.ParseUint: parsing \
             \"{version}\": {why}"
        );
        let list = server
            .get(&format!("{CONFIG_MAPS}?resourceVersion={parameter}"))
            .await;
        list.says(400, &format!("invalid resource version: {reason}"));
        let watch = format!("{CONFIG_MAPS}?watch=1&resourceVersion={parameter}");
        server.get(&watch).await.says(400, &reason);
        let get = format!("{CONFIG_MAPS}/a?resourceVersion={parameter}");
        server.get(&get).await.refused(400);
    }
    server.assert_well().await;
}

#[tokio::test]
async fn zeros_before_a_version_do_not_matter() {
    let server = with_objects().await;
    for version in ["0001", "00000"] {
        let path = format!("{CONFIG_MAPS}?resourceVersion={version}");
        assert_eq!(server.get(&path).await.item_names(), ["a", "b", "c"]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_largest_versions_are_in_the_future_and_nothing_else() {
    let server = with_objects().await;
    for version in [LARGEST, "9223372036854775808", "9223372036854775807"] {
        for query in ["", "&resourceVersionMatch=Exact", "&limit=1"] {
            let path = format!("{CONFIG_MAPS}?resourceVersion={version}{query}");
            server.get(&path).await.refused(504);
        }
        let get = format!("{CONFIG_MAPS}/a?resourceVersion={version}");
        server.get(&get).await.refused(504);
        let watch = format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=2&resourceVersion={version}");
        let bookmarked = format!("{watch}&allowWatchBookmarks=true");
        assert!(server.watch(&watch).await.rest().await.is_empty());
        assert!(server.watch(&bookmarked).await.rest().await.is_empty());
        let initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
        let told = server
            .watch(&format!("{watch}&{initial}"))
            .await
            .rest()
            .await;
        assert_eq!(told[0].object["code"], 504);
    }
    server.assert_well().await;
}

#[tokio::test]
async fn limits_are_whole_numbers_and_what_is_not_positive_is_none() {
    let server = with_objects().await;
    for limit in ["0", "-1", "-9223372036854775808", "9223372036854775807"] {
        let path = format!("{CONFIG_MAPS}?limit={limit}");
        assert_eq!(server.get(&path).await.item_names().len(), 3, "{limit}");
    }
    for (limit, why) in [
        ("", "invalid syntax"),
        ("abc", "invalid syntax"),
        ("1.0", "invalid syntax"),
        ("1 ", "invalid syntax"),
        ("9223372036854775808", "value out of range"),
        ("-9223372036854775809", "value out of range"),
    ] {
        let path = format!("{CONFIG_MAPS}?limit={}", encoded(limit));
        let message = format!("strconv.ParseInt: parsing \"{limit}\": {why}");
        server.get(&path).await.says(400, &message);
    }
}

#[tokio::test]
async fn a_watch_may_ask_for_any_length() {
    let server = with_objects().await;
    for seconds in ["9223372036854775807", "4611686018427387904", "31536000000"] {
        let path = format!("{CONFIG_MAPS}?watch=1&timeoutSeconds={seconds}");
        let mut events = server.watch(&path).await;
        events.shows(&["ADDED a", "ADDED b", "ADDED c"]).await;
        let list = format!("{CONFIG_MAPS}?timeoutSeconds={seconds}");
        assert_eq!(server.get(&list).await.item_names().len(), 3);
    }
    for seconds in ["-1", "-9223372036854775808"] {
        let path = format!("{CONFIG_MAPS}?watch=1&timeoutSeconds={seconds}");
        soon(server.watch(&path).await.rest()).await;
    }
    for seconds in ["abc", "1s", "9223372036854775808"] {
        let path = format!("{CONFIG_MAPS}?watch=1&timeoutSeconds={seconds}");
        server.get(&path).await.refused(400);
    }
    server.assert_well().await;
}

#[tokio::test]
async fn a_duration_of_a_request_may_be_odd_but_must_be_one() {
    let server = with_objects().await;
    for timeout in ["1h", "99999h", "2562047h47m16s", "1.5m", "1h1m1s1ms"] {
        let path = format!("{CONFIG_MAPS}?timeout={timeout}");
        server.get(&path).await.ok();
    }
    for timeout in ["abc", "1", "-", "99999999999999999999h", "1x"] {
        let path = format!("{CONFIG_MAPS}?timeout={timeout}");
        server.get(&path).await.refused(400);
    }
}

#[tokio::test]
async fn a_flag_is_on_unless_it_says_no_and_the_first_counts() {
    let server = with_objects().await;
    for on in [
        "watch",
        "watch=",
        "watch=maybe",
        "watch=1&watch=0",
        "watch=TRUE",
    ] {
        let path = format!("{CONFIG_MAPS}?{on}");
        server.watch(&path).await.shows(&["ADDED a"]).await;
    }
    for off in [
        "watch=0",
        "watch=false",
        "watch=FALSE",
        "watch=0&watch=1",
        "Watch=1",
    ] {
        let path = format!("{CONFIG_MAPS}?{off}");
        assert_eq!(
            server.get(&path).await.ok()["kind"],
            "ConfigMapList",
            "{off}"
        );
    }
    let path = format!("{CONFIG_MAPS}?limit=1&limit=2");
    assert_eq!(names(&server.get(&path).await.ok()), ["a"]);
}

#[tokio::test]
async fn a_watch_takes_no_options_of_a_list() {
    let server = with_objects().await;
    for query in [
        "watch=1&resourceVersion=1&resourceVersionMatch=Exact",
        "watch=1&sendInitialEvents=true&resourceVersion=1&resourceVersionMatch=Exact",
        "watch=1&sendInitialEvents=true",
        "watch=1&sendInitialEvents=false",
        "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=1",
        "resourceVersionMatch=Exact&resourceVersion=0",
        "resourceVersionMatch=NotOlderThan",
        "resourceVersionMatch=Sometimes&resourceVersion=1",
    ] {
        let status = server
            .get(&format!("{CONFIG_MAPS}?{query}"))
            .await
            .refused(422);
        assert_eq!(status["details"]["kind"], "ListOptions", "{query}");
        assert_eq!(status["details"]["group"], "meta.k8s.io", "{query}");
    }
}

#[tokio::test]
async fn selectors_that_cannot_be_read_are_refused() {
    let server = with_objects().await;
    for selector in [
        "a b c",
        "a in",
        "a in (b",
        "a in b)",
        "a notin",
        "=",
        "=b",
        "!",
        "a=b=c",
        ",",
        "a,,b",
        "a>b",
        "ä=b",
        "a=ä",
        "a=.*",
        "a/b/c=d",
        "(((",
        "a in ((b))",
        "a=b;c=d",
        "a\n=b c",
    ] {
        for watch in ["", "&watch=1"] {
            let path = format!("{CONFIG_MAPS}?labelSelector={}{watch}", encoded(selector));
            let answer = soon(server.get(&path)).await;
            assert_eq!(answer.code, 400, "{selector:?}: {}", answer.text());
        }
    }
    for selector in [
        "metadata.name",
        "a=b=c",
        "metadata.name>a",
        "metadata.name in (a)",
        "x",
    ] {
        let path = format!("{CONFIG_MAPS}?fieldSelector={}", encoded(selector));
        let answer = soon(server.get(&path)).await;
        assert_eq!(answer.code, 400, "{selector:?}: {}", answer.text());
    }
    server.assert_well().await;
}

#[tokio::test]
async fn odd_selectors_that_can_be_read_select() {
    let server = with_objects().await;
    for (selector, expected) in [
        ("a in ()", 0),
        ("a notin ()", 3),
        ("!a", 3),
        (" a  !=  b ", 3),
        ("a!=b,a!=b", 3),
        ("kubernetes.io/a.b-c_d notin (x)", 3),
    ] {
        let path = format!("{CONFIG_MAPS}?labelSelector={}", encoded(selector));
        assert_eq!(
            server.get(&path).await.item_names().len(),
            expected,
            "{selector}"
        );
    }
}

#[tokio::test]
async fn a_selector_of_very_many_terms_is_judged_soon() {
    let server = with_objects().await;
    let terms = ["a!=b"; 13_000].join(",");
    for selector in [terms, format!("a notin ({})", ["b"; 30_000].join(","))] {
        let selector = selector.replace(' ', "+");
        let path = format!("{CONFIG_MAPS}?labelSelector={selector}");
        let list = soon(server.get(&path)).await;
        assert_eq!(list.item_names().len(), 3);
        let mut events = soon(server.watch(&format!("{path}&watch=1"))).await;
        events.shows(&["ADDED a", "ADDED b", "ADDED c"]).await;
    }
    server.assert_well().await;
}

#[tokio::test]
async fn a_query_beyond_all_measure_is_refused() {
    let server = with_objects().await;
    for length in [100_000, 1_000_000] {
        let mut connection = server.raw().await;
        let terms = "a,".repeat(length / 2);
        let head = format!("GET {CONFIG_MAPS}?labelSelector={terms} HTTP/1.1\r\nHost: x\r\n\r\n");
        connection.send(head).await;
        let answer = soon(connection.read_to_end()).await;
        let code = answer.get(9..12).unwrap_or_default().to_owned();
        assert!(["414", "431"].contains(&code.as_str()), "{answer}");
    }
    server.assert_well().await;
}
