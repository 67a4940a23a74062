//! What is asked elsewhere, and what is not, after each way in which a server can fail.

use super::{
    made_up::{BEHIND, BUSY, FOUND, MISSING, Manner, SLOW, Server, UNAVAILABLE},
    *,
};

use Manner::{Cut, Silent};

/// A client that begins with the first of these.
fn beginning_with(first: SocketAddr, second: SocketAddr) -> Client {
    let servers = in_order([first, second]).answer_within(Duration::from_millis(200));
    servers.client().unwrap()
}

/// An address where nobody listens.
async fn nobody() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

async fn read(client: &Client) -> Result<ConfigMap, kube::Error> {
    within(config_maps(client).get("here")).await
}

#[tokio::test]
async fn a_read_that_one_server_cannot_answer_goes_to_the_next() {
    for manner in [Cut, Silent, UNAVAILABLE, BEHIND] {
        let (bad, good) = (Server::start(manner).await, Server::start(FOUND).await);
        let client = beginning_with(bad.address, good.address);
        read(&client)
            .await
            .unwrap_or_else(|error| panic!("{manner:?}: {error}"));
        read(&client).await.unwrap();
        assert_eq!((bad.requests(), good.requests()), (1, 2), "{manner:?}");
    }
}

#[tokio::test]
async fn an_answer_that_would_be_the_same_elsewhere_is_handed_over() {
    for (manner, code) in [(BUSY, 429), (SLOW, 504), (MISSING, 404)] {
        let (one, other) = (Server::start(manner).await, Server::start(FOUND).await);
        let client = beginning_with(one.address, other.address);
        match read(&client).await.unwrap_err() {
            kube::Error::Api(status) => assert_eq!(status.code, code),
            error => panic!("{manner:?}: {error}"),
        }
        assert_eq!((one.requests(), other.requests()), (1, 0), "{manner:?}");
    }
}

#[tokio::test]
async fn a_write_that_reached_a_server_is_never_repeated_but_the_next_request_goes_elsewhere() {
    for manner in [Cut, UNAVAILABLE] {
        let (bad, good) = (Server::start(manner).await, Server::start(FOUND).await);
        let client = beginning_with(bad.address, good.address);
        create(&client, "once").await.unwrap_err();
        assert_eq!((bad.requests(), good.requests()), (1, 0), "{manner:?}");
        create(&client, "again").await.unwrap();
        assert_eq!((bad.requests(), good.requests()), (1, 1), "{manner:?}");
    }
}

#[tokio::test]
async fn a_write_that_reached_nobody_goes_to_the_next_server() {
    let good = Server::start(FOUND).await;
    let client = beginning_with(nobody().await, good.address);
    create(&client, "once").await.unwrap();
    assert_eq!(good.requests(), 1);
}

#[tokio::test]
async fn a_write_that_was_given_up_makes_the_next_one_go_elsewhere() {
    let (bad, good) = (Server::start(Silent).await, Server::start(FOUND).await);
    let client = beginning_with(bad.address, good.address);
    let limit = Duration::from_millis(300);
    let given_up = tokio::time::timeout(limit, create(&client, "once")).await;
    assert!(given_up.is_err());
    create(&client, "again").await.unwrap();
    assert_eq!((bad.requests(), good.requests()), (1, 1));
}

#[tokio::test]
async fn when_all_fail_each_was_asked_once_and_the_last_one_s_words_are_told() {
    let all = [
        Server::start(UNAVAILABLE).await,
        Server::start(UNAVAILABLE).await,
        Server::start(UNAVAILABLE).await,
    ];
    let addresses = all.each_ref().map(|server| server.address);
    let client = servers(&addresses).client().unwrap();
    match read(&client).await.unwrap_err() {
        kube::Error::Api(status) => assert_eq!(status.code, 503),
        error => panic!("{error}"),
    }
    assert_eq!(all.each_ref().map(Server::requests), [1, 1, 1]);
    let client = servers(&[nobody().await, nobody().await]).client().unwrap();
    let error = read(&client).await.unwrap_err();
    assert!(matches!(error, kube::Error::Service(_)), "{error:?}");
}

#[tokio::test]
async fn many_clients_do_not_all_begin_with_the_same_server() {
    let all = [
        Server::start(FOUND).await,
        Server::start(FOUND).await,
        Server::start(FOUND).await,
    ];
    let addresses = all.each_ref().map(|server| server.address);
    for seed in 0..30 {
        let random = fastrand::Rng::with_seed(seed);
        let client = servers(&addresses).random(random).client().unwrap();
        read(&client).await.unwrap();
    }
    let requests = all.each_ref().map(Server::requests);
    assert!(requests.iter().all(|count| *count >= 5), "{requests:?}");
}
