//! Cuts the power at every operation of a history, and compares what is found with the model.

use super::*;
use crate::{Operation, Put, contract::model::Model, contract::script, random::Random};

const STEPS: usize = 24;

/// What was asked of the stores on one disk, in order, and what their users learnt.
struct History {
    random: Random,
    asked: Vec<Commit>,
    /// The newest revision that somebody was told of, by an answer or as a follower.
    seen: Revision,
}

impl History {
    fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            asked: Vec::new(),
            seen: Revision::ZERO,
        }
    }

    /// Commits, alone and together, and compacts, until something fails.
    async fn go_on(&mut self, store: &EmbeddedStore) -> Result<(), CommitError> {
        for _ in 0..STEPS {
            let together = if self.random.once_in(3) {
                self.random.below(6) + 1
            } else {
                1
            };
            let commits: Vec<_> = (0..together).map(|_| self.any_commit()).collect();
            self.asked.extend(commits.iter().cloned());
            for answer in commit_together(store, commits).await {
                self.seen = self.seen.max(answer?);
            }
            self.see(&store.inner.snapshot());
            if self.random.once_in(10) {
                let before = self.random.below(self.seen.get() + 1);
                store.compact(Revision::new(before)).await?;
            }
        }
        Ok(())
    }

    /// A follower or reader sees what is published, whether or not anybody was answered.
    fn see(&mut self, snapshot: &Snapshot) {
        self.seen = self.seen.max(snapshot.revision());
    }

    /// Writes without conditions, so that their order alone determines the outcome.
    fn any_commit(&mut self) -> Commit {
        let count = if self.random.once_in(4) { 3 } else { 1 };
        let first = self.random.below(10);
        let operations = (0..count).map(|number| Operation {
            key: Key::new(format!("{}", first + number)),
            condition: Condition::Any,
            write: self.any_write(),
        });
        Commit::together(operations.collect())
    }

    fn any_write(&mut self) -> Write {
        if self.random.once_in(5) {
            return Write::Delete;
        }
        let length = self.random.below(700) as usize;
        let letter = b'a' + self.random.below(26) as u8;
        Write::Put(Put {
            value: vec![letter; length].into(),
            lifetime: None,
        })
    }

    /// The model of the asked commits up to a revision; forgets those that were lost.
    fn model_at(&mut self, revision: Revision) -> Model {
        let mut model = Model::starting_at(Revision::ZERO);
        let mut kept = 0;
        for commit in &self.asked {
            let mut next = model.clone();
            if next.commit(commit).unwrap() > revision {
                break;
            }
            model = next;
            kept += 1;
        }
        self.asked.truncate(kept);
        assert_eq!(model.newest(), revision, "a commit is there in part");
        model
    }

    /// Compares a store with the model, and with what was seen of the stores before it.
    async fn compare(&mut self, store: &EmbeddedStore) {
        let found = script::newest(store).await;
        assert!(
            found >= self.seen,
            "{found} was found, {} was seen",
            self.seen
        );
        let mut model = self.model_at(found);
        model.compact(floor(store));
        model.compare(store).await;
        self.seen = found;
    }
}

/// Runs a history on a new disk whose power is cut at an operation. False when it was never cut.
async fn run_until(disk: &SimulatedDisk, history: &mut History, cut: u64) -> bool {
    disk.cut_at(cut);
    let Ok(store) = try_open(disk).await else {
        return true;
    };
    let failed = history.go_on(&store).await.is_err();
    history.see(&store.inner.snapshot());
    drop(store);
    failed || disk.operations() >= cut
}

#[tokio::test(start_paused = true)]
async fn every_cut_leaves_all_that_was_seen_and_no_part_of_a_commit() {
    let (mut cuts, seeds) = (0, 6);
    for seed in 0..seeds {
        for cut in 1.. {
            let disk = SimulatedDisk::new(seed * 10_000 + cut);
            let mut history = History::new(seed);
            if !run_until(&disk, &mut history, cut).await {
                break;
            }
            cuts += 1;
            disk.restart();
            let store = open(&disk).await;
            history.compare(&store).await;
            history.go_on(&store).await.unwrap();
            history.compare(&store).await;
            drop(store);
            history.compare(&open(&disk).await).await;
        }
    }
    assert!(
        cuts > seeds * 50,
        "{cuts} cuts are too few to mean anything"
    );
}

#[tokio::test(start_paused = true)]
async fn a_cut_during_recovery_loses_nothing_either() {
    let mut cut_recoveries = 0;
    for seed in 100..220 {
        let disk = SimulatedDisk::new(seed);
        let mut history = History::new(seed);
        let cut = 10 + seed % 90;
        run_until(&disk, &mut history, cut).await;
        for again in 1.. {
            disk.restart();
            disk.cut_at(disk.operations() + again);
            match try_open(&disk).await {
                Ok(store) => {
                    history.see(&store.inner.snapshot());
                    break;
                }
                Err(OpenError::Io { .. }) => cut_recoveries += 1,
                Err(damage) => panic!("seed {seed}: {damage}"),
            }
        }
        disk.restart();
        history.compare(&open(&disk).await).await;
    }
    assert!(cut_recoveries > 200, "{cut_recoveries}");
}

#[tokio::test(start_paused = true)]
async fn what_is_found_after_the_end_of_a_process_is_durable() {
    for cut in 1.. {
        let disk = SimulatedDisk::new(cut);
        let mut history = History::new(3);
        if !run_until(&disk, &mut history, cut).await {
            break;
        }
        disk.end_process();
        let store = open(&disk).await;
        history.compare(&store).await;
        disk.restart();
        drop(store);
        history.compare(&open(&disk).await).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_sync_ends_writing_but_not_reading() {
    let disk = SimulatedDisk::new(1);
    let store = open(&disk).await;
    let revision = script::put(&store, "a", "1").await;
    disk.fail_syncs();
    for _ in 0..2 {
        let refused = script::put_if(&store, "a", Condition::Any, "2").await;
        assert!(matches!(refused, Err(CommitError::Unavailable { .. })));
    }
    assert_eq!(script::newest(&store).await, revision);
    assert_eq!(
        script::follow(&store, Revision::ZERO, revision).await.len(),
        1
    );
    drop(store);
    disk.restart();
    let store = open(&disk).await;
    assert!(script::newest(&store).await >= revision);
    script::put(&store, "a", "3").await;
}
