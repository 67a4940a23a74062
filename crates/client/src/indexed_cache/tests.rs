//! The cache through its public face; against a model in [`model`].

use std::sync::Arc;

use listwatch_api::selector::LabelSelector;

use super::*;
use crate::{Deletion, FinalState, ObjectKey, Replacement, Uid};

mod model;

/// What an object of these tests is about: the values that it is indexed by.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Body {
    pub(super) groups: Vec<u8>,
}

pub(super) fn object(key: &str, version: u64, groups: &[u8]) -> Arc<Object<Body>> {
    labelled(key, version, groups, &[])
}

pub(super) fn labelled(
    key: &str,
    version: u64,
    groups: &[u8],
    labels: &[(&str, &str)],
) -> Arc<Object<Body>> {
    Arc::new(Object {
        key: key.into(),
        version: version.into(),
        uid: Uid::parse(key),
        labels: labels.iter().copied().collect(),
        body: Body {
            groups: groups.to_vec(),
        },
    })
}

pub(super) fn deletion(key: &str, version: u64) -> Delta<Body> {
    Delta::Deleted(Deletion {
        key: key.into(),
        version: version.into(),
        last: None,
    })
}

fn replaced(objects: &[Arc<Object<Body>>], set_aside: &[&str], version: u64) -> Delta<Body> {
    Delta::Replaced(Replacement {
        objects: objects.to_vec(),
        set_aside: set_aside.iter().map(|key| ObjectKey::from(*key)).collect(),
        version: Some(version.into()),
    })
}

fn filled(objects: &[Arc<Object<Body>>]) -> (CacheWriter<Body>, Cache<Body>) {
    let (mut writer, cache) = CacheWriter::new();
    writer.apply(objects.iter().cloned().map(Delta::Added).collect());
    (writer, cache)
}

fn groups(object: &Object<Body>) -> Vec<u8> {
    object.groups.clone()
}

fn keys<'a>(objects: impl IntoIterator<Item = &'a Arc<Object<Body>>>) -> Vec<&'a str> {
    let mut keys: Vec<_> = objects
        .into_iter()
        .map(|object| object.key.as_str())
        .collect();
    keys.sort_unstable();
    keys
}

fn selected(cache: &Cache<Body>, selector: &str) -> Vec<String> {
    let selector = LabelSelector::parse(selector).unwrap();
    let snapshot = cache.snapshot();
    let found = snapshot.select(&selector).into_iter();
    let mut keys: Vec<_> = found.map(|object| object.key.to_string()).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn presence_in_the_cache_tells_an_addition_from_an_update() {
    let (mut writer, _cache) = CacheWriter::new();
    let deltas = vec![
        Delta::Updated(object("a", 1, &[])),
        Delta::Added(object("a", 2, &[])),
    ];
    let changes = writer.apply(deltas);
    assert!(matches!(changes[0], Change::Added(_)));
    assert!(matches!(changes[1], Change::Updated { .. }));
}

#[test]
fn a_deletion_without_a_state_tells_the_last_that_was_known() {
    let (mut writer, cache) = filled(&[object("a", 1, &[])]);
    let changes = writer.apply(vec![deletion("a", 2), deletion("b", 3)]);
    let [Change::Deleted(known), Change::Deleted(unknown)] = &changes[..] else {
        panic!("two deletions");
    };
    let last = known.last.as_ref().map(|object| &object.version);
    assert_eq!(
        (last, known.final_state),
        (Some(&1.into()), FinalState::Unknown)
    );
    assert!(unknown.last.is_none());
    assert!(cache.snapshot().is_empty());
}

#[test]
fn a_namespace_is_walked_in_the_order_of_the_names() {
    let objects = ["b/2", "a/9", "b/1", "b-c/1", "b", "c/1"].map(|key| object(key, 1, &[]));
    let (_writer, cache) = filled(&objects);
    let snapshot = cache.snapshot();
    let names: Vec<_> = snapshot
        .namespace("b")
        .map(|object| object.key.name())
        .collect();
    assert_eq!(names, ["1", "2"]);
    assert_eq!(snapshot.namespace("z").count(), 0);
}

#[test]
fn an_object_is_found_by_each_of_its_values() {
    let (mut writer, cache) = filled(&[object("a", 1, &[1, 2]), object("b", 2, &[2, 2])]);
    let index = cache.add_index("groups", groups).unwrap();
    let snapshot = cache.snapshot();
    assert_eq!(keys(snapshot.by_index(&index, &1)), ["a"]);
    assert_eq!(keys(snapshot.by_index(&index, &2)), ["a", "b"]);
    assert_eq!(snapshot.index_values(&index), [1, 2].map(Arc::new));
    assert_eq!(keys(snapshot.by_index_range(&index, 2..9)), ["a", "b"]);
    writer.apply(vec![Delta::Updated(object("a", 3, &[3]))]);
    let snapshot = cache.snapshot();
    assert!(snapshot.by_index(&index, &1).is_empty());
    assert_eq!(keys(snapshot.by_index(&index, &3)), ["a"]);
    assert_eq!(snapshot.index_values(&index), [2, 3].map(Arc::new));
}

#[test]
fn the_last_object_of_a_value_takes_the_value_with_it() {
    let (mut writer, cache) = filled(&[object("a", 1, &[1]), object("b", 2, &[1])]);
    let index = cache.add_index("groups", groups).unwrap();
    writer.apply(vec![deletion("a", 3)]);
    assert_eq!(cache.snapshot().index_keys(&index, &1), ["b".into()]);
    writer.apply(vec![deletion("b", 4)]);
    assert!(cache.snapshot().index_values(&index).is_empty());
}

#[test]
fn an_index_by_text_is_asked_with_borrowed_text() {
    let (_writer, cache) = filled(&[object("default/a", 1, &[]), object("b", 2, &[])]);
    let namespaces = cache.add_index("namespace", |object: &Object<Body>| {
        object.key.namespace().map(str::to_owned)
    });
    let index = namespaces.unwrap();
    assert_eq!(
        keys(cache.snapshot().by_index(&index, "default")),
        ["default/a"]
    );
}

#[test]
fn a_second_index_of_one_name_is_refused() {
    let (_writer, cache) = CacheWriter::<Body>::new();
    cache.add_index("groups", groups).unwrap();
    let error = cache.add_index("groups", groups).unwrap_err();
    assert_eq!(error.name, "groups");
}

#[test]
fn a_snapshot_older_than_the_index_answers_of_its_own_moment() {
    let (mut writer, cache) = filled(&[object("a", 1, &[1, 4])]);
    let before = cache.snapshot();
    writer.apply(vec![Delta::Updated(object("a", 2, &[2]))]);
    let index = cache.add_index("groups", groups).unwrap();
    assert_eq!(keys(before.by_index(&index, &1)), ["a"]);
    assert!(before.by_index(&index, &2).is_empty());
    assert_eq!(before.index_values(&index), [1, 4].map(Arc::new));
    assert_eq!(keys(before.by_index_range(&index, 3..)), ["a"]);
}

#[test]
fn what_changes_while_an_index_is_made_is_in_it() {
    let (mut writer, cache) = filled(&[object("a", 1, &[1]), object("b", 2, &[1])]);
    // Asked about the first object, it changes the others under the hands of who makes the index.
    let meanwhile = vec![
        Delta::Updated(object("a", 3, &[2])),
        deletion("b", 4),
        Delta::Added(object("c", 5, &[1, 2])),
    ];
    let meanwhile = parking_lot::Mutex::new(Some(meanwhile));
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    let (done, applied) = std::sync::mpsc::sync_channel(1);
    let applied = parking_lot::Mutex::new(applied);
    let index = std::thread::scope(|scope| {
        scope.spawn(move || {
            writer.apply(receiver.recv().unwrap());
            done.send(()).unwrap();
        });
        cache.add_index("groups", move |object: &Object<Body>| {
            if let Some(deltas) = meanwhile.lock().take() {
                sender.send(deltas).unwrap();
                applied.lock().recv().unwrap();
            }
            object.groups.clone()
        })
    });
    let (index, snapshot) = (index.unwrap(), cache.snapshot());
    assert_eq!(keys(snapshot.by_index(&index, &1)), ["c"]);
    assert_eq!(keys(snapshot.by_index(&index, &2)), ["a", "c"]);
}

#[test]
fn an_index_function_that_panics_leaves_out_that_object_alone() {
    let (mut writer, cache) = CacheWriter::new();
    let index = cache.add_index("groups", |object: &Object<Body>| {
        assert!(!object.groups.contains(&13), "unlucky");
        object.groups.clone()
    });
    let index = index.unwrap();
    writer.apply(vec![
        Delta::Added(object("a", 1, &[1])),
        Delta::Added(object("b", 2, &[1, 13])),
    ]);
    let snapshot = cache.snapshot();
    assert_eq!(keys(snapshot.by_index(&index, &1)), ["a"]);
    assert_eq!(snapshot.len(), 2);
    writer.apply(vec![Delta::Updated(object("b", 3, &[1]))]);
    assert_eq!(keys(cache.snapshot().by_index(&index, &1)), ["a", "b"]);
}

#[test]
fn lookups_of_one_snapshot_are_cut_and_joined() {
    let objects = [
        object("a", 1, &[1, 2]),
        object("b", 2, &[2]),
        object("c", 3, &[3]),
    ];
    let (_writer, cache) = filled(&objects);
    let index = cache.add_index("groups", groups).unwrap();
    let snapshot = cache.snapshot();
    let [one, two, three] = [1, 2, 3].map(|value| snapshot.by_index(&index, &value));
    assert_eq!(keys(one.intersection(&two)), ["a"]);
    assert_eq!(keys(one.union(&three)), ["a", "c"]);
    assert!(two.contains("b") && !two.contains("c") && !two.contains("z"));
}

#[test]
fn labels_are_selected_through_their_index_and_the_rest_by_looking() {
    let objects = [
        labelled(
            "a",
            1,
            &[],
            &[("app", "web"), ("tier", "front"), ("size", "3")],
        ),
        labelled("b", 2, &[], &[("app", "web"), ("tier", "back")]),
        labelled("c", 3, &[], &[("app", "db"), ("old", "")]),
        labelled("d", 4, &[], &[]),
    ];
    let (mut writer, cache) = filled(&objects);
    for (selector, expected) in [
        ("", &["a", "b", "c", "d"][..]),
        ("app=web", &["a", "b"]),
        ("app in (web,db)", &["a", "b", "c"]),
        ("app=web,tier=back", &["b"]),
        ("app=web,tier!=back", &["a"]),
        ("app!=web", &["c", "d"]),
        ("old", &["c"]),
        ("old=", &["c"]),
        ("!app", &["d"]),
        ("app,size>2", &["a"]),
        ("app=none", &[]),
        ("app=web,app=db", &[]),
    ] {
        assert_eq!(selected(&cache, selector), expected, "{selector}");
    }
    writer.apply(vec![Delta::Updated(labelled(
        "b",
        5,
        &[],
        &[("app", "db")],
    ))]);
    assert_eq!(selected(&cache, "app=web"), ["a"]);
    assert_eq!(selected(&cache, "app=db"), ["b", "c"]);
    assert_eq!(selected(&cache, "tier=back"), [""; 0]);
}

#[test]
fn a_list_keeps_what_did_not_change_and_what_could_not_be_decoded() {
    let objects = ["a", "b", "c", "d"].map(|key| object(key, 1, &[]));
    let (mut writer, cache) = filled(&objects);
    let list = [
        object("a", 1, &[]),
        object("b", 5, &[]),
        object("e", 4, &[]),
    ];
    let changes = writer.apply(vec![replaced(&list, &["c", "never-seen"], 9)]);
    let [Change::Replaced { before, after }] = &changes[..] else {
        panic!("one replacement");
    };
    let differences: Vec<_> = Snapshot::diff(before, after)
        .map(|difference| format!("{difference:?}"))
        .collect();
    assert_eq!(differences, ["- d @1", "~ b @1 -> @5", "+ e @4"]);
    let now = cache.snapshot();
    assert!(Arc::ptr_eq(now.get("a").unwrap(), &objects[0]));
    assert!(Arc::ptr_eq(now.get("c").unwrap(), &objects[2]));
    assert_eq!(now.version(), Some(&9.into()));
}

#[test]
fn an_object_made_anew_is_not_the_one_before_even_at_one_version() {
    let (mut writer, cache) = filled(&[object("a", 1, &[])]);
    let mut other = Arc::into_inner(object("a", 1, &[7])).unwrap();
    other.uid = Uid::parse("another");
    writer.apply(vec![replaced(&[Arc::new(other)], &[], 2)]);
    assert_eq!(cache.snapshot().get("a").unwrap().groups, [7]);
}

#[test]
fn of_two_objects_with_one_key_in_a_list_the_last_counts() {
    let list = [
        object("a", 1, &[]),
        object("b", 1, &[]),
        object("a", 2, &[]),
    ];
    for before in [&[][..], &[object("b", 1, &[])]] {
        let (mut writer, cache) = filled(before);
        writer.apply(vec![replaced(&list, &[], 2)]);
        let snapshot = cache.snapshot();
        assert_eq!(snapshot.len(), 2);
        assert_eq!(snapshot.get("a").unwrap().version, 2.into());
    }
}

#[test]
fn the_version_goes_back_only_when_a_list_says_so() {
    let (mut writer, cache) = CacheWriter::new();
    let mut version_after = |delta| {
        writer.apply(vec![delta]);
        cache.snapshot().version().map(ToString::to_string)
    };
    let at = |number: u64| Some(number.to_string());
    assert_eq!(version_after(Delta::Resync), None);
    assert_eq!(version_after(Delta::Added(object("a", 5, &[]))), at(5));
    assert_eq!(version_after(Delta::Added(object("b", 3, &[]))), at(5));
    assert_eq!(version_after(Delta::Bookmark(8.into())), at(8));
    assert_eq!(version_after(deletion("a", 7)), at(8));
    assert_eq!(version_after(deletion("b", 9)), at(9));
    assert_eq!(version_after(replaced(&[], &[], 2)), at(2));
    let text = Version::parse("x").unwrap();
    assert_eq!(version_after(Delta::Bookmark(text)), Some("x".to_owned()));
}

#[test]
fn readers_see_a_batch_as_a_whole() {
    let (mut writer, cache) = filled(&[object("a", 1, &[])]);
    let before = cache.snapshot();
    writer.apply(vec![deletion("a", 2), Delta::Added(object("b", 3, &[]))]);
    assert_eq!(keys(before.iter()), ["a"]);
    assert_eq!(keys(cache.snapshot().iter()), ["b"]);
}

#[test]
fn an_object_that_went_and_came_back_the_same_makes_no_difference() {
    let (a, b) = (object("a", 1, &[]), object("b", 2, &[]));
    let (mut writer, cache) = filled(&[Arc::clone(&a), b]);
    let before = cache.snapshot();
    writer.apply(vec![deletion("a", 3), deletion("b", 4)]);
    writer.apply(vec![Delta::Added(a), Delta::Added(object("c", 5, &[]))]);
    let differences: Vec<_> = Snapshot::diff(&before, &cache.snapshot())
        .map(|difference| format!("{difference:?}"))
        .collect();
    assert_eq!(differences, ["- b @2", "+ c @5"]);
}
