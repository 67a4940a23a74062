//! What the cache costs, by hand: `cargo bench -p listwatch --bench cache`.
//!
//! 100,000 pods with two indexes beside that of the labels, as plain loops that print nanoseconds.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark reads the clock and prints"
)]

use std::{
    fs,
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use listwatch::{
    Cache, CacheWriter, Deletion, Delta, Index, LabelSelector, Object, ObjectKey, Replacement,
    Snapshot,
};

const PODS: u64 = 100_000;
const NODES: u64 = 1_000;
const BODY_BYTES: usize = 1_000;

struct Pod {
    node: String,
    owner: u64,
    _body: Box<[u8]>,
}

struct World {
    writer: CacheWriter<Pod>,
    cache: Cache<Pod>,
    by_node: Index<Pod, String>,
    by_owner: Index<Pod, u64>,
    random: fastrand::Rng,
    version: u64,
}

fn main() {
    let objects: Vec<_> = (0..PODS).map(|number| pod(number, number, 1)).collect();
    let mut world = World::new();
    fill(&mut world, objects);
    for batch in [1, 10, 100, 1_000] {
        update(&mut world, "update, same index values", batch, |number| {
            number
        });
        update(&mut world, "update, another node", batch, |number| {
            number * 7 + 3
        });
    }
    add_and_delete(&mut world);
    relist(&mut world);
    add_index(&world);
    println!("reads alone");
    read(&world.cache, &world.by_node, &world.by_owner);
    reads_beside_a_writer(&mut world);
    writer_beside_readers(&mut world);
}

impl World {
    fn new() -> Self {
        let (writer, cache) = CacheWriter::new();
        let by_node = cache.add_index("node", |pod: &Object<Pod>| [pod.node.clone()]);
        let by_owner = cache.add_index("owner", |pod: &Object<Pod>| [pod.owner]);
        Self {
            writer,
            by_node: by_node.expect("the first of its name"),
            by_owner: by_owner.expect("the first of its name"),
            cache,
            random: fastrand::Rng::with_seed(1),
            version: 1,
        }
    }

    /// Random updates, made before the clock runs.
    fn updates(&mut self, count: u64, node_of: impl Fn(u64) -> u64) -> Vec<Delta<Pod>> {
        let updates = (0..count).map(|_| {
            let number = self.random.u64(..PODS);
            self.version += 1;
            Delta::Updated(pod(number, node_of(number), self.version))
        });
        updates.collect()
    }
}

fn key(number: u64) -> ObjectKey {
    format!(
        "namespace-{}/deployment-{}-pod-{number}",
        number % 50,
        number % 3_000
    )
    .into()
}

fn pod(number: u64, node: u64, version: u64) -> Arc<Object<Pod>> {
    let app = format!("app-{}", number % 3_000);
    Arc::new(Object {
        key: key(number),
        version: version.into(),
        uid: None,
        labels: [
            ("app", app.as_str()),
            ("tier", "front"),
            ("track", "stable"),
        ]
        .into_iter()
        .collect(),
        body: Pod {
            node: format!("node-{}", node % NODES),
            owner: number / 3,
            _body: vec![0; BODY_BYTES].into(),
        },
    })
}

fn report(what: &str, count: u64, taken: Duration) {
    let each = taken.as_nanos() as f64 / count as f64;
    println!("{what:<52} {each:>10.0} ns");
}

/// Prints the tenth part that was fastest, and the middle: the first tells of the code, the
/// distance between the two of the machine.
fn report_all(what: &str, count: u64, mut taken: Vec<Duration>) {
    taken.sort_unstable();
    let each = |part: usize| taken[taken.len() * part / 100].as_nanos() as f64 / count as f64;
    println!(
        "{what:<52} {:>10.0} ns {:>10.0} ns in the middle",
        each(10),
        each(50)
    );
}

fn resident_bytes() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0_u64) * 4_096
}

/// What this thread has run, whatever else ran on the machine meanwhile.
fn thread_time() -> Duration {
    let schedstat = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = schedstat
        .split(' ')
        .next()
        .and_then(|text| text.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

fn fill(world: &mut World, objects: Vec<Arc<Object<Pod>>>) {
    let before = resident_bytes();
    let start = thread_time();
    drop(world.writer.apply(vec![Delta::Replaced(Replacement {
        objects,
        set_aside: Vec::new(),
        version: Some(1.into()),
    })]));
    report("fill, each object", PODS, thread_time() - start);
    let grown = resident_bytes().saturating_sub(before);
    println!(
        "{:<52} {:>10} bytes",
        "memory of the cache, each object",
        grown / PODS
    );
}

fn update(world: &mut World, what: &str, batch: u64, node_of: impl Fn(u64) -> u64 + Copy) {
    let rounds = (100_000 / batch).min(2_000);
    let rounds = (0..rounds).map(|_| {
        let updates = world.updates(batch, node_of);
        let start = Instant::now();
        let changes = world.writer.apply(updates);
        let taken = start.elapsed();
        drop(changes);
        taken
    });
    let taken = rounds.collect();
    report_all(&format!("{what}, batches of {batch}"), batch, taken);
}

fn add_and_delete(world: &mut World) {
    let adds = (PODS..PODS + 20_000).map(|number| Delta::Added(pod(number, number, 2)));
    let adds: Vec<_> = adds.collect();
    let deletes = (PODS..PODS + 20_000).map(|number| {
        Delta::Deleted(Deletion {
            key: key(number),
            version: 3.into(),
            last: None,
        })
    });
    let deletes: Vec<_> = deletes.collect();
    for (what, deltas) in [
        ("add, batches of 1000", adds),
        ("delete, batches of 1000", deletes),
    ] {
        let mut taken = Vec::new();
        let mut deltas = deltas.into_iter();
        loop {
            let batch: Vec<_> = deltas.by_ref().take(1_000).collect();
            if batch.is_empty() {
                break;
            }
            let start = Instant::now();
            let changes = world.writer.apply(batch);
            taken.push(start.elapsed());
            drop(changes);
        }
        report_all(what, 1_000, taken);
    }
}

fn relist(world: &mut World) {
    let before = world.cache.snapshot();
    let mut objects: Vec<_> = before.iter().cloned().collect();
    for object in objects.iter_mut().step_by(100) {
        *object = pod(0, 0, 1_000_000_000).with_key_of(object);
    }
    let start = thread_time();
    let changes = world.writer.apply(vec![Delta::Replaced(Replacement {
        objects,
        set_aside: Vec::new(),
        version: Some(1_000_000_000.into()),
    })]);
    report(
        "relist with one in a hundred changed, each object",
        PODS,
        thread_time() - start,
    );
    drop(changes);
    let after = world.cache.snapshot();
    let start = Instant::now();
    let count = Snapshot::diff(&before, &after).count() as u64;
    report(
        "difference of the two, each changed object",
        count,
        start.elapsed(),
    );
    let start = thread_time();
    let empty = CacheWriter::<Pod>::new().1.snapshot();
    let count = Snapshot::diff(&empty, &after).count() as u64;
    report(
        "difference to nothing, each object",
        count,
        thread_time() - start,
    );
}

trait WithKeyOf {
    fn with_key_of(self, other: &Object<Pod>) -> Self;
}

impl WithKeyOf for Arc<Object<Pod>> {
    fn with_key_of(mut self, other: &Object<Pod>) -> Self {
        if let Some(object) = Arc::get_mut(&mut self) {
            object.key = other.key.clone();
        }
        self
    }
}

fn add_index(world: &World) {
    let start = thread_time();
    let index = world
        .cache
        .add_index("name", |pod: &Object<Pod>| [pod.key.name().to_owned()]);
    black_box(index.expect("the first of its name"));
    report(
        "add a unique index, each object",
        PODS,
        thread_time() - start,
    );
}

fn read(cache: &Cache<Pod>, by_node: &Index<Pod, String>, by_owner: &Index<Pod, u64>) {
    let mut random = fastrand::Rng::with_seed(2);
    let count = 200_000;
    let keys: Vec<_> = (0..count).map(|_| key(random.u64(..PODS))).collect();
    let nodes: Vec<_> = (0..count)
        .map(|_| format!("node-{}", random.u64(..NODES)))
        .collect();
    let owners: Vec<_> = (0..count).map(|_| random.u64(..PODS / 3)).collect();
    let snapshot = cache.snapshot();
    let timed = |what: &str, each: &mut dyn FnMut(usize)| {
        let rounds = (0..count as usize / 1_000).map(|round| {
            let start = Instant::now();
            (round * 1_000..(round + 1) * 1_000).for_each(&mut *each);
            start.elapsed()
        });
        report_all(what, 1_000, rounds.collect());
    };
    timed("  take a snapshot", &mut |_| {
        drop(black_box(cache.snapshot()))
    });
    timed("  get", &mut |at| {
        black_box(snapshot.get(keys[at].as_str()));
    });
    timed("  by node, how many (100)", &mut |at| {
        black_box(snapshot.by_index(by_node, nodes[at].as_str()).len());
    });
    timed("  by node, the first", &mut |at| {
        black_box(
            snapshot
                .by_index(by_node, nodes[at].as_str())
                .into_iter()
                .next(),
        );
    });
    timed("  by owner, the first of three", &mut |at| {
        black_box(snapshot.by_index(by_owner, &owners[at]).into_iter().next());
    });
    let selector = LabelSelector::parse("app=app-77,track=stable").expect("a selector");
    timed("  by two labels, how many (33)", &mut |_| {
        black_box(snapshot.select(&selector).len());
    });
    let start = thread_time();
    black_box(snapshot.iter().map(|pod| pod.owner).sum::<u64>());
    report("  walk in order, each object", PODS, thread_time() - start);
}

/// The writer keeps its pace of 50,000 updates a second in batches of 100.
fn reads_beside_a_writer(world: &mut World) {
    println!("reads beside 50,000 updates a second");
    let stop = AtomicBool::new(false);
    let (cache, by_node, by_owner) = (
        world.cache.clone(),
        world.by_node.clone(),
        world.by_owner.clone(),
    );
    let batches: Vec<_> = (0..500)
        .map(|_| world.updates(100, |number| number + 1))
        .collect();
    thread::scope(|scope| {
        scope.spawn(|| {
            let start = Instant::now();
            let mut applied = 0;
            for (number, batch) in (1..).zip(batches) {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                drop(world.writer.apply(batch));
                applied += 100;
                let due = start + Duration::from_millis(2) * number;
                thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            let rate = f64::from(applied) / start.elapsed().as_secs_f64();
            println!("  the writer applied {rate:.0} updates a second");
        });
        read(&cache, &by_node, &by_owner);
        stop.store(true, Ordering::Relaxed);
    });
}

fn writer_beside_readers(world: &mut World) {
    for readers in [0, 80] {
        let stop = AtomicBool::new(false);
        let lists = AtomicU64::new(0);
        let cache = world.cache.clone();
        let batches: Vec<_> = (0..20)
            .map(|_| world.updates(1_000, |number| number))
            .collect();
        thread::scope(|scope| {
            for _ in 0..readers {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let snapshot = cache.snapshot();
                        let list: Vec<_> = snapshot.iter().cloned().collect();
                        black_box(list.len());
                        lists.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            let start = thread_time();
            batches
                .into_iter()
                .for_each(|batch| drop(world.writer.apply(batch)));
            let taken = thread_time() - start;
            stop.store(true, Ordering::Relaxed);
            report(
                &format!("update beside {readers} listing readers"),
                20_000,
                taken,
            );
        });
        println!("  they listed {} times", lists.into_inner());
    }
}
