//! The bounds of the server: at each the right code, and everything goes on.

use listwatch_server::Settings;
use serde_json::json;

use crate::{
    client::RawConnection,
    running::{CONFIG_MAPS, TestServer, start_server, start_with, within},
};

const BODY_BYTES_MAX: usize = 3 * 1024 * 1024;

#[tokio::test]
async fn a_body_beyond_its_bound_is_refused() {
    let server = start_server().await;
    let message = "Request entity too large: limit is 3145728";
    let announced = format!(
        "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n",
        BODY_BYTES_MAX + 1
    );
    let mut connection = server.raw().await;
    connection.send(announced).await;
    connection.send(vec![b' '; BODY_BYTES_MAX + 1]).await;
    let answer = connection.read_until("\"code\":413}").await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains(message), "{answer}");

    let mut connection = server.raw().await;
    connection
        .send(format!(
            "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
             Transfer-Encoding: chunked\r\n\r\n"
        ))
        .await;
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    for _ in 0..=BODY_BYTES_MAX / 0x10000 {
        connection.send(&chunk).await;
    }
    connection.read_until("\"code\":413}").await;
    server.assert_well().await;
}

#[tokio::test]
async fn a_body_within_its_bound_is_read() {
    let server = start_server().await;
    let object = json!({"metadata": {"name": "big"}}).to_string();
    let padded = object.clone() + &" ".repeat(BODY_BYTES_MAX - object.len());
    let call = server.call(http::Method::POST, CONFIG_MAPS);
    call.body("application/json", padded)
        .answer()
        .await
        .created();
}

/// A write that has its place and does not say what it wants to write, and what it would be.
async fn held_write(server: &TestServer) -> (RawConnection, String) {
    let mut holding = server.raw().await;
    let body = json!({"metadata": {"name": "held"}}).to_string();
    let head = format!(
        "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Expect: 100-continue\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    holding.send(head).await;
    holding.read_until("100 Continue\r\n").await;
    (holding, body)
}

#[tokio::test]
async fn writes_beyond_their_number_wait_for_their_turn() {
    let settings = Settings {
        writes_in_flight_max: 1,
        ..Settings::default()
    };
    let server = start_with(settings).await;
    let (mut holding, body) = held_write(&server).await;
    let client = (*server).clone();
    let object = json!({"metadata": {"name": "next"}});
    let waiting = tokio::spawn(async move { client.post(CONFIG_MAPS, &object).await.code });
    let waits = "apiserver_current_inqueue_requests{request_kind=\"mutating\"} 1";
    within(async { while !server.get("/metrics").await.text().contains(waits) {} }).await;
    server.get(CONFIG_MAPS).await.ok();
    assert!(!waiting.is_finished());

    holding.send(body).await;
    holding.read_until("201 Created\r\n").await;
    assert_eq!(within(waiting).await.unwrap(), 201);
    server.assert_well().await;
}

#[tokio::test(start_paused = true)]
async fn a_write_that_has_waited_for_too_long_is_asked_to_come_again() {
    let settings = Settings {
        writes_in_flight_max: 1,
        ..Settings::default()
    };
    let server = start_with(settings).await;
    let (mut holding, body) = held_write(&server).await;
    for (path, seconds) in [("", 15), ("?timeout=8s", 2)] {
        let begun = tokio::time::Instant::now();
        let path = format!("{CONFIG_MAPS}{path}");
        let refused = server.post(&path, &json!({})).await;
        assert_eq!(refused.code, 429);
        assert_eq!(refused.header("retry-after"), "1");
        assert_eq!(begun.elapsed().as_secs(), seconds);
    }
    let metrics = server.get("/metrics").await.text();
    let refused = "apiserver_flowcontrol_rejected_requests_total\
                   {request_kind=\"mutating\",reason=\"time-out\"} 2";
    assert!(metrics.contains(refused), "{metrics}");
    holding.send(body).await;
    holding.read_until("201 Created\r\n").await;
    server.assert_well().await;
}

#[tokio::test]
async fn writes_beyond_those_that_may_wait_are_asked_to_come_again() {
    let settings = Settings {
        writes_in_flight_max: 1,
        requests_waiting_max: 0,
        ..Settings::default()
    };
    let server = start_with(settings).await;
    let (mut holding, body) = held_write(&server).await;

    let refused = server.post(CONFIG_MAPS, &json!({})).await;
    assert_eq!(refused.code, 429);
    assert_eq!(refused.header("retry-after"), "1");
    assert_eq!(
        refused.text(),
        "Too many requests, please try again later.\n"
    );
    server.get(CONFIG_MAPS).await.ok();

    holding.send(body).await;
    holding.read_until("201 Created\r\n").await;
    server.assert_well().await;
}

#[tokio::test(start_paused = true)]
async fn reads_beyond_those_that_may_wait_are_asked_to_come_again() {
    let settings = Settings {
        reads_in_flight_max: 1,
        requests_waiting_max: 0,
        ..Settings::default()
    };
    let server = start_with(settings).await;
    let client = (*server).clone();
    let path = format!("{CONFIG_MAPS}?resourceVersion=99999999");
    let waiting = tokio::spawn(async move { client.get(&path).await.code });
    let mut codes = Vec::new();
    while !waiting.is_finished() && codes.last() != Some(&429) {
        codes.push(server.get(CONFIG_MAPS).await.code);
    }
    assert_eq!(codes.last(), Some(&429));
    assert_eq!(
        server.get("/readyz").await.text(),
        "ok",
        "health is always told"
    );
    server
        .post(CONFIG_MAPS, &json!({"metadata": {"name": "a"}}))
        .await
        .created();
    server
        .watch(&format!("{CONFIG_MAPS}?watch=1"))
        .await
        .shows(&["ADDED a"])
        .await;
    assert_eq!(waiting.await.unwrap(), 504);
    server.assert_well().await;
}

#[tokio::test]
async fn watches_beyond_their_number_are_asked_to_come_again() {
    for settings in [
        Settings {
            watches_max: 2,
            ..Settings::default()
        },
        Settings {
            watches_per_client_max: 2,
            ..Settings::default()
        },
    ] {
        let server = start_with(settings).await;
        let path = format!("{CONFIG_MAPS}?watch=1");
        let first = server.watch(&path).await;
        let second = server.watch(&path).await;
        let refused = server.get(&path).await;
        let status = refused.refused(429);
        assert_eq!(status["reason"], "TooManyRequests");
        assert_eq!(refused.header("retry-after"), "10");
        assert_eq!(status["details"]["retryAfterSeconds"], 10);
        server.get(CONFIG_MAPS).await.ok();
        drop((first, second));
        server.has_open_watches(0).await;
        server.watch(&path).await;
    }
}

#[tokio::test]
async fn a_watch_that_is_refused_takes_no_place() {
    let settings = Settings {
        watches_max: 1,
        ..Settings::default()
    };
    let server = start_with(settings).await;
    for _ in 0..5 {
        let bad = format!("{CONFIG_MAPS}?watch=1&labelSelector=a%20b%20c");
        server.get(&bad).await.refused(400);
        let absent = "/api/v1/nosuch?watch=1";
        server.get(absent).await.refused(404);
    }
    server.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
}

#[tokio::test(start_paused = true)]
async fn a_head_that_does_not_come_is_not_waited_for_for_ever() {
    let server = start_server().await;
    for sent in [
        "",
        "PRI * HT",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n",
        "GET /readyz HT",
        "GET /readyz HTTP/1.1\r\nHost: x\r\nA: b\r\n",
    ] {
        let begun = tokio::time::Instant::now();
        let mut connection = server.raw().await;
        connection.send(sent).await;
        let answer = connection.read_to_end().await;
        assert!(!answer.contains(" 200 "), "{answer}");
        assert!(
            begun.elapsed().as_secs() <= 61,
            "{sent:?}: {:?}",
            begun.elapsed()
        );
    }
    server.assert_well().await;
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_is_not_waited_for_for_ever() {
    let server = start_server().await;
    for framing in ["Content-Length: 100", "Transfer-Encoding: chunked"] {
        let begun = tokio::time::Instant::now();
        let mut connection = server.raw().await;
        connection
            .send(format!(
                "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
                 {framing}\r\n\r\n"
            ))
            .await;
        let answer = connection.read_to_end().await;
        assert!(answer.starts_with("HTTP/1.1 504 "), "{framing}: {answer}");
        assert!(begun.elapsed().as_secs() <= 61, "{:?}", begun.elapsed());
    }
    server.assert_well().await;
}

#[tokio::test]
async fn an_object_beyond_what_a_store_takes_is_refused() {
    let server = start_server().await;
    let annotation = "x".repeat(256 * 1024 + 1);
    let object = json!({"metadata": {"name": "a", "annotations": {"k": annotation}}});
    let status = server.post(CONFIG_MAPS, &object).await.refused(422);
    assert_eq!(
        status["details"]["causes"][0]["field"],
        "metadata.annotations"
    );
    server.assert_well().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_may_ask_for_less_time_than_it_would_get() {
    let server = start_server().await;
    for limit in ["timeout=1s", "timeoutSeconds=1"] {
        let begun = tokio::time::Instant::now();
        let path = format!("{CONFIG_MAPS}?resourceVersion=99999999&{limit}");
        server.get(&path).await.refused(504);
        assert_eq!(begun.elapsed().as_secs(), 1, "{limit}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_names_no_time_gets_one() {
    let settings = Settings {
        watch_lifetime_min: std::time::Duration::from_secs(100),
        ..Settings::default()
    };
    let server = start_with(settings).await;
    let mut lives = Vec::new();
    for _ in 0..5 {
        let mut events = server.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
        let begun = tokio::time::Instant::now();
        assert!(events.next_or_end().await.is_none());
        lives.push(begun.elapsed().as_millis());
    }
    assert!(
        lives.iter().all(|life| (100_000..200_100).contains(life)),
        "{lives:?}"
    );
    lives.dedup();
    assert!(
        lives.len() > 1,
        "so that not all come again together: {lives:?}"
    );
}

#[tokio::test]
async fn a_client_that_leaves_gives_up_its_place() {
    let settings = Settings {
        writes_in_flight_max: 1,
        requests_waiting_max: 0,
        ..Settings::default()
    };
    let server = start_with(settings).await;
    let begun = tokio::time::Instant::now();
    let mut writer = server.raw().await;
    let head = format!(
        "POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
         Content-Length: 100\r\n\r\n"
    );
    writer.send(head).await;
    let object = json!({"metadata": {"generateName": "a-"}});
    within(async { while server.post(CONFIG_MAPS, &object).await.code != 429 {} }).await;
    drop(writer);
    within(async { while server.post(CONFIG_MAPS, &object).await.code != 201 {} }).await;
    assert!(
        begun.elapsed().as_secs() < 40,
        "long before its time was up"
    );
}
