//! Several operations as one.

use listwatch_etcd::{
    Client, Comparison, Condition, Delete, KeyRange, Operation, OperationAnswer, Outcome, Put,
    Range, Transaction,
};

use crate::on_every_release;

fn create(key: &'static str, value: &'static str) -> Transaction {
    Transaction {
        when: vec![Condition::absent(key)],
        then: vec![Operation::Put(Put::new(key, value))],
        otherwise: vec![Operation::Range(Range::new(KeyRange::one(key)))],
    }
}

#[tokio::test]
async fn a_key_is_created_once_and_the_loser_sees_the_winner() {
    on_every_release(async |client| {
        let first = client.transact(create("a", "1")).await.unwrap();
        assert_eq!(first.outcome, Outcome::Held);
        let second = client.transact(create("a", "2")).await.unwrap();
        assert_eq!(second.outcome, Outcome::Failed);
        let [OperationAnswer::Range(found)] = &second.answers[..] else {
            panic!("{second:?}");
        };
        assert_eq!(found.key_values[0].value, "1");
        assert_eq!(found.key_values[0].mod_revision, first.header.revision);
    })
    .await;
}

#[tokio::test]
async fn of_many_updates_against_one_revision_exactly_one_wins() {
    on_every_release(async |client| {
        let stored = client
            .put(Put::new("a", "0"))
            .await
            .unwrap()
            .header
            .revision;
        let update = async |client: Client, value: u8| {
            let transaction = Transaction {
                when: vec![Condition::unchanged("a", stored)],
                then: vec![Operation::Put(Put::new("a", vec![value]))],
                otherwise: Vec::new(),
            };
            client.transact(transaction).await.unwrap().outcome
        };
        let updates = (0..8).map(|value| update(client.clone(), value));
        let outcomes = futures_util::future::join_all(updates).await;
        let won = outcomes.iter().filter(|outcome| **outcome == Outcome::Held);
        assert_eq!(won.count(), 1);
        assert_eq!(client.get("a").await.unwrap().unwrap().version, 2);
    })
    .await;
}

#[tokio::test]
async fn all_writes_of_a_transaction_are_one_revision() {
    on_every_release(async |client| {
        client.put(Put::new("gone", "1")).await.unwrap();
        let transaction = Transaction {
            when: vec![
                Condition::value("gone", Comparison::Equal, "1"),
                Condition::version("gone", Comparison::Less, 2),
                Condition::create_revision("gone", Comparison::Greater, 1),
                Condition::mod_revision("new", Comparison::Equal, 0),
            ],
            then: vec![
                Operation::Put(Put::new("new", "2")),
                Operation::Delete(Delete::new(KeyRange::one("gone"))),
            ],
            otherwise: Vec::new(),
        };
        let answer = client.transact(transaction).await.unwrap();
        assert_eq!(answer.outcome, Outcome::Held);
        let [OperationAnswer::Put(_), OperationAnswer::Delete(deleted)] = &answer.answers[..]
        else {
            panic!("{answer:?}");
        };
        assert_eq!(deleted.deleted, 1);
        let new = client.get("new").await.unwrap().unwrap();
        assert_eq!(new.mod_revision, answer.header.revision);
    })
    .await;
}
