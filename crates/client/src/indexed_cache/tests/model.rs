//! Random deltas against a model that is nothing but a map.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

type Model = BTreeMap<String, Arc<Object<Body>>>;

/// One step of a trial. Keys and labels are small numbers, so that they meet often.
#[derive(Clone, Debug)]
enum Step {
    Put {
        key: u16,
        groups: Vec<u8>,
        labels: Vec<(u8, u8)>,
    },
    Delete {
        key: u16,
    },
    Replace {
        drop_every: u16,
        touch_every: u16,
        set_aside: Vec<u16>,
    },
    Bookmark,
    Publish,
    Keep,
    AddIndex,
}

fn steps(keys: u16) -> impl Strategy<Value = Step> {
    let groups = prop::collection::vec(0..6_u8, 0..4);
    let labels = prop::collection::vec((0..3_u8, 0..3_u8), 0..3);
    let put = (0..keys, groups, labels).prop_map(|(key, groups, labels)| Step::Put {
        key,
        groups,
        labels,
    });
    let set_aside = prop::collection::vec(0..keys, 0..4);
    let replace =
        (2..6_u16, 2..6_u16, set_aside).prop_map(|(drop_every, touch_every, set_aside)| {
            Step::Replace {
                drop_every,
                touch_every,
                set_aside,
            }
        });
    prop_oneof![
        12 => put,
        5 => (0..keys).prop_map(|key| Step::Delete { key }),
        1 => replace,
        1 => Just(Step::Bookmark),
        4 => Just(Step::Publish),
        1 => Just(Step::Keep),
        1 => Just(Step::AddIndex),
    ]
}

struct Trial {
    writer: CacheWriter<Body>,
    cache: Cache<Body>,
    waiting: Vec<Delta<Body>>,
    model: Model,
    version: u64,
    indexes: Vec<Index<Body, u8>>,
    kept: Vec<(Snapshot<Body>, Model)>,
}

impl Trial {
    fn new() -> Self {
        let (writer, cache) = CacheWriter::new();
        Self {
            writer,
            cache,
            waiting: Vec::new(),
            model: Model::new(),
            version: 0,
            indexes: Vec::new(),
            kept: Vec::new(),
        }
    }

    fn take(&mut self, step: Step) {
        self.version += 1;
        match step {
            Step::Put {
                key,
                groups,
                labels,
            } => {
                let object = self.object(key, &groups, &labels);
                self.model.insert(name(key), Arc::clone(&object));
                self.waiting.push(Delta::Updated(object));
            }
            Step::Delete { key } => {
                self.model.remove(&name(key));
                self.waiting.push(deletion(&name(key), self.version));
            }
            Step::Replace {
                drop_every,
                touch_every,
                set_aside,
            } => {
                self.replace(drop_every, touch_every, &set_aside);
            }
            Step::Bookmark => self.waiting.push(Delta::Bookmark(self.version.into())),
            Step::Publish => self.publish(),
            Step::Keep => {
                self.publish();
                self.kept.push((self.cache.snapshot(), self.model.clone()));
            }
            Step::AddIndex => {
                let name = self.indexes.len().to_string();
                self.indexes
                    .push(self.cache.add_index(&name, groups).unwrap());
            }
        }
    }

    fn object(&self, key: u16, groups: &[u8], labels: &[(u8, u8)]) -> Arc<Object<Body>> {
        let distinct: BTreeMap<u8, u8> = labels.iter().copied().collect();
        let texts: Vec<_> = distinct
            .iter()
            .map(|(name, value)| (format!("l{name}"), format!("v{value}")))
            .collect();
        let labels: Vec<_> = texts
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .collect();
        labelled(&name(key), self.version, groups, &labels)
    }

    /// A list that lacks some objects, holds others changed, and a few new ones.
    fn replace(&mut self, drop_every: u16, touch_every: u16, set_aside: &[u16]) {
        let aside: BTreeSet<String> = set_aside.iter().map(|key| name(*key)).collect();
        let mut kept = Model::new();
        let mut list = Vec::new();
        for (place, (key, object)) in (0_u16..).zip(&self.model) {
            if aside.contains(key) {
                kept.insert(key.clone(), Arc::clone(object));
            } else if place % touch_every == 1 {
                list.push(labelled(key, self.version, &[5], &[("l0", "v0")]));
            } else if place % drop_every != 0 {
                let again = Object {
                    key: object.key.clone(),
                    version: object.version.clone(),
                    uid: object.uid.clone(),
                    labels: object.labels.clone(),
                    body: object.body.clone(),
                };
                list.push(Arc::new(again));
            }
        }
        let listed = list.iter().map(|object| {
            let known = self.model.get(object.key.as_str());
            let known = known.filter(|known| known.version == object.version);
            (object.key.to_string(), Arc::clone(known.unwrap_or(object)))
        });
        kept.extend(listed);
        self.model = kept;
        let aside: Vec<&str> = aside.iter().map(String::as_str).collect();
        self.waiting.push(replaced(&list, &aside, self.version));
    }

    fn publish(&mut self) {
        let before = self.cache.snapshot();
        self.writer.apply(std::mem::take(&mut self.waiting));
        let after = self.cache.snapshot();
        check(&after, &self.model, &self.indexes);
        check_difference(&before, &after);
    }

    fn finish(mut self) {
        self.publish();
        for (snapshot, model) in &self.kept {
            check(snapshot, model, &self.indexes);
            check_difference(snapshot, &self.cache.snapshot());
            check_difference(&self.cache.snapshot(), snapshot);
        }
    }
}

fn name(key: u16) -> String {
    match key % 4 {
        0 => format!("node-{key}"),
        namespace => format!("space-{namespace}/pod-{key}"),
    }
}

/// Everything that the snapshot answers, computed anew from the model.
fn check(snapshot: &Snapshot<Body>, model: &Model, indexes: &[Index<Body, u8>]) {
    assert_eq!(snapshot.len(), model.len());
    assert!(
        snapshot
            .iter()
            .zip(model.values())
            .all(|(ours, theirs)| Arc::ptr_eq(ours, theirs))
    );
    for key in (0..40).map(name) {
        let (found, expected) = (snapshot.get(&key), model.get(&key));
        assert_eq!(found.map(Arc::as_ptr), expected.map(Arc::as_ptr), "{key}");
    }
    for namespace in ["space-1", "space-3"] {
        let prefix = format!("{namespace}/");
        let expected = model.keys().filter(|key| key.starts_with(&prefix));
        let found = snapshot
            .namespace(namespace)
            .map(|object| object.key.as_str());
        assert!(found.eq(expected.map(String::as_str)));
    }
    for (index, value) in indexes
        .iter()
        .flat_map(|index| (0..6).map(move |value| (index, value)))
    {
        let expected = matching(model, |object| object.groups.contains(&value));
        let found = snapshot.by_index(index, &value);
        assert_eq!((found.len(), keys(found)), (expected.len(), expected));
    }
    for selector in ["l0=v0", "l0 in (v0,v2),l1=v1", "l1,l2!=v0", "!l0"] {
        let selector = LabelSelector::parse(selector).unwrap();
        let expected = matching(model, |object| {
            selector.matches(|name| object.labels.get(name))
        });
        assert_eq!(keys(snapshot.select(&selector)), expected, "{selector}");
    }
    for index in indexes {
        let values = model.values().flat_map(|object| object.groups.iter());
        let values: BTreeSet<u8> = values.copied().collect();
        let found = snapshot.index_values(index);
        assert!(found.iter().map(|value| **value).eq(values));
    }
}

fn matching(model: &Model, fits: impl Fn(&Object<Body>) -> bool) -> Vec<&str> {
    keys(model.values().filter(|object| fits(object)))
}

/// The difference, applied to the one, gives the other, and it is in its promised order.
fn check_difference(before: &Snapshot<Body>, after: &Snapshot<Body>) {
    let own = |object: &Arc<Object<Body>>| (object.key.clone(), Arc::clone(object));
    let mut folded: BTreeMap<_, _> = before.iter().map(own).collect();
    let mut told = Vec::new();
    for difference in Snapshot::diff(before, after) {
        let (place, key) = match difference {
            Difference::Deleted(old) => {
                assert!(Arc::ptr_eq(&folded.remove(&old.key).unwrap(), &old));
                (0, old.key.clone())
            }
            Difference::Updated { old, new } => {
                assert!(!Arc::ptr_eq(&old, &new));
                let known = folded.insert(new.key.clone(), Arc::clone(&new));
                assert!(Arc::ptr_eq(&known.unwrap(), &old));
                (1, new.key.clone())
            }
            Difference::Added(new) => {
                assert!(folded.insert(new.key.clone(), Arc::clone(&new)).is_none());
                (1, new.key.clone())
            }
        };
        told.push((place, key));
    }
    assert!(told.is_sorted_by(|left, right| left < right));
    assert_eq!(folded.len(), after.len());
    assert!(
        folded
            .values()
            .zip(after.iter())
            .all(|(ours, theirs)| Arc::ptr_eq(ours, theirs))
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_small_cache_equals_its_model(steps in prop::collection::vec(steps(40), 0..160)) {
        let mut trial = Trial::new();
        steps.into_iter().for_each(|step| trial.take(step));
        trial.finish();
    }
}

#[test]
fn a_large_cache_equals_its_model() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut trial = Trial::new();
    for step in 0..9_000_u32 {
        let key = random.u16(..5000);
        let step = match (step, random.u32(..1000)) {
            (100 | 7500, _) => Step::AddIndex,
            (6_000.., 0..3) => Step::Replace {
                drop_every: 3,
                touch_every: 5,
                set_aside: vec![key],
            },
            (_, 3..6) => Step::Keep,
            (_, 6..14) => Step::Publish,
            (6_000.., 14..300) => Step::Delete { key },
            (_, _) => Step::Put {
                key,
                groups: (0..random.u8(..3)).map(|_| random.u8(..6)).collect(),
                labels: vec![(random.u8(..3), random.u8(..3)), (random.u8(..3), 1)],
            },
        };
        trial.take(step);
    }
    trial.finish();
}
