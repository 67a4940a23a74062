//! Any sequence of calls against a model that is slow and plain.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tokio::time::{Instant, advance};

use super::{
    super::{Priority, When},
    *,
};

#[derive(Clone, Debug)]
enum Step {
    Add {
        key: u8,
        priority: i32,
        delay: u64,
    },
    Take,
    /// Ends the work on one of the keys in work.
    Finish(usize),
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let add = (0..6_u8, -2..3_i32, prop_oneof![Just(0_u64), 1..20_u64]).prop_map(
        |(key, priority, delay)| Step::Add {
            key,
            priority,
            delay,
        },
    );
    let step = prop_oneof![
        4 => add,
        3 => Just(Step::Take),
        2 => (0..6_usize).prop_map(Step::Finish),
        1 => (1..10_u64).prop_map(Step::Pass),
    ];
    proptest::collection::vec(step, 1..200)
}

/// What the queue must know of a queued key.
#[derive(Clone, Copy, Debug)]
struct Expected {
    priority: i32,
    due: Instant,
}

#[derive(Default)]
struct Model {
    queued: BTreeMap<u8, Expected>,
    working: Vec<Permit<u8>>,
}

impl Model {
    fn add(&mut self, key: u8, priority: i32, due: Instant) {
        let new = Expected { priority, due };
        let queued = self.queued.entry(key).or_insert(new);
        queued.priority = queued.priority.max(priority);
        queued.due = queued.due.min(due);
    }

    fn is_working(&self, key: u8) -> bool {
        self.working.iter().any(|permit| **permit == key)
    }

    fn due(&self) -> impl Iterator<Item = (u8, Expected)> {
        let now = Instant::now();
        let queued = self.queued.iter().map(|(key, expected)| (*key, *expected));
        queued.filter(move |(_, expected)| expected.due <= now)
    }

    /// A taken key was due, not in work, and of the highest priority of those.
    fn check_taken(&mut self, permit: Option<Permit<u8>>) {
        let takeable = self.due().filter(|(key, _)| !self.is_working(*key));
        let highest = takeable.map(|(_, expected)| expected.priority).max();
        assert_eq!(permit.as_ref().map(|permit| permit.priority().0), highest);
        let Some(permit) = permit else { return };
        assert!(!self.is_working(*permit), "handed out twice");
        let expected = self.queued.remove(&*permit).expect("it was queued");
        assert_eq!(permit.priority().0, expected.priority);
        assert!(expected.due <= Instant::now());
        self.working.push(permit);
    }
}

async fn run(steps: Vec<Step>) {
    let queue = WorkQueue::new("test");
    let mut model = Model::default();
    for step in steps {
        match step {
            Step::Add {
                key,
                priority,
                delay,
            } => {
                let delay = milliseconds(delay);
                queue.add_with(key, Priority(priority), When::After(delay));
                model.add(key, priority, Instant::now() + delay);
            }
            Step::Take => model.check_taken(take(&queue)),
            Step::Finish(index) if index < model.working.len() => {
                model.working.remove(index).done();
            }
            Step::Finish(_) => {}
            Step::Pass(time) => advance(milliseconds(time)).await,
        }
        assert_eq!(queue.len(), model.due().count());
    }
    let mut left: Vec<u8> = model.due().map(|(key, _)| key).collect();
    model.working.clear();
    queue.shut_down();
    let mut drained = drain(&queue);
    drained.sort_unstable();
    left.sort_unstable();
    assert_eq!(drained, left);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_called_no_key_is_lost_doubled_or_out_of_turn(steps in steps()) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(run(steps));
    }
}
