use prost::Message;

use super::*;
use crate::{
    Credentials, Put, WatchRequest,
    testing::{Cluster, Program},
};

/// The requests that name a user or a role, alone or together with something else.
#[derive(Clone, PartialEq, Message)]
struct NameRequest {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    other: String,
}

async fn administer(client: &Client, path: &'static str, name: &str, other: &str) {
    let request = NameRequest {
        name: name.to_owned(),
        other: other.to_owned(),
    };
    let answer: Result<wire::HeaderResponse, Error> =
        client.call(path, request, Repeat::OnlyIfUnsent).await;
    answer.unwrap();
}

async fn add_user(client: &Client, name: &str) {
    administer(client, "/etcdserverpb.Auth/UserAdd", name, "password").await;
}

fn client_of(etcd: &Cluster, user: &str, password: &str) -> Client {
    let credentials = Some(Credentials {
        user: user.to_owned(),
        password: password.to_owned(),
    });
    Client::new(Settings {
        credentials,
        ..etcd.settings()
    })
    .unwrap()
}

/// A server with the users `root`, who may everything, and `ann`, who may nothing.
async fn with_users(program: &Program) -> Cluster {
    let etcd = Cluster::single(program).await.unwrap();
    let client = etcd.client();
    add_user(&client, "root").await;
    add_user(&client, "ann").await;
    administer(&client, "/etcdserverpb.Auth/RoleAdd", "root", "").await;
    administer(&client, "/etcdserverpb.Auth/UserGrantRole", "root", "root").await;
    administer(&client, "/etcdserverpb.Auth/AuthEnable", "", "").await;
    etcd
}

#[tokio::test]
async fn only_those_with_the_right_password_and_role_get_in() {
    for program in Program::all_or_skip() {
        let etcd = with_users(&program).await;
        client_of(&etcd, "root", "password")
            .put(Put::new("a", "1"))
            .await
            .unwrap();
        for denied in [
            etcd.client(),
            client_of(&etcd, "root", "wrong"),
            client_of(&etcd, "ann", "password"),
        ] {
            let answer = denied.get("a").await;
            assert!(matches!(answer, Err(Error::Denied { .. })), "{answer:?}");
            let request = WatchRequest::from_revision(KeyRange::one("a"), 1);
            let watch = denied.watch(request).await;
            assert!(matches!(watch, Err(Error::Denied { .. })), "{watch:?}");
        }
    }
}

#[tokio::test]
async fn a_token_that_went_stale_is_replaced_unnoticed() {
    for program in Program::all_or_skip() {
        let etcd = with_users(&program).await;
        let client = client_of(&etcd, "root", "password");
        let other = client_of(&etcd, "root", "password");
        client.put(Put::new("a", "1")).await.unwrap();
        add_user(&other, "ben").await;
        client.put(Put::new("a", "2")).await.unwrap();
        add_user(&other, "cleo").await;
        let request = WatchRequest::from_revision(KeyRange::one("a"), 1);
        client.watch(request).await.unwrap().next().await.unwrap();
    }
}

#[tokio::test]
async fn tls_needs_the_right_authority_and_our_certificate() {
    for program in Program::all_or_skip() {
        let etcd = Cluster::single_with_tls(&program).await.unwrap();
        let settings = etcd.settings();
        let client = etcd.client();
        client.put(Put::new("a", "1")).await.unwrap();
        let request = WatchRequest::from_revision(KeyRange::one("a"), 1);
        client.watch(request).await.unwrap().next().await.unwrap();
        let tls = settings.tls.clone().unwrap();
        let unknown = crate::Tls {
            identity: None,
            ..tls.clone()
        };
        let misled = crate::Tls {
            server_name: Some("another.example".to_owned()),
            ..tls
        };
        for tls in [unknown, misled] {
            let tls = Some(tls);
            let client = Client::new(Settings {
                tls,
                ..settings.clone()
            })
            .unwrap();
            let answer = client.get("a").await;
            let refused = matches!(
                answer,
                Err(Error::Unreachable { .. } | Error::Interrupted { .. })
            );
            assert!(refused, "{answer:?}");
        }
    }
}
