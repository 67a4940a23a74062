//! Whatever happens on the way, the deltas end up at what the source holds.

use std::collections::BTreeMap;

use listwatch::{ObjectKey, Version};
use proptest::{collection::vec, prelude::*, sample::select};

use super::world::World;

type Held = BTreeMap<ObjectKey, (Version, String)>;

/// What a watch tells of, and what may go wrong without being lost.
const TOLD: &[&str] = &[
    "put a",
    "put b ; put c",
    "put a=bad",
    "put b=panic",
    "delete a",
    "delete b ; put b",
    "put d ; delete d",
    "many 30",
    "pass 3 ; bookmark",
    "bookmark",
    "send unreadable",
    "end",
    "put a ; end",
    "expire",
    "put c ; break expired",
    "break 500",
    "break disconnected",
    "put b ; break disconnected",
    "break 429",
    "refuse watch 429 2x",
    "refuse watch no-connection",
    "refuse watch expired",
    "refuse watch 500",
    "refuse list 500 2x",
    "refuse list expired",
    "refuse list too-large 2x",
    "refuse page expired",
    "refuse stream 422",
    "refuse stream 500 2x",
    "refuse stream expired 2x",
    "refuse stream 429",
    "source pages everything",
    "source withholds the end",
    "send end-of-state",
    "put a ; delete b ; send end-of-state",
    "send end-of-state ; put b ; delete a",
    "read off",
    "read on",
    "wait 0.5s",
    "wait 1s",
    "wait 5s",
    "wait 40s",
];

/// What no watch tells: only a list can find it.
const UNTOLD: &[&str] = &[
    "unseen put a",
    "unseen put b",
    "unseen delete a",
    "unseen delete c",
    "checkpoint",
    "restore",
];

/// Makes the reflector fetch everything again.
const RELIST: [&str; 4] = [
    "put last",
    "break expired",
    "wait 130s",
    "send end-of-state",
];

/// How the reflector and the source are before they begin.
const SETTINGS: &[&str] = &[
    "settings list",
    "settings page=2",
    "settings list page=3",
    "settings check",
    "source withholds the end",
    "source withholds the end ; settings check",
    "settings patience=30s",
    "settings deadline=60s",
    "settings jitter=1",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_watch_tells_is_enough_after_any_errors_and_comes_once(
        settings in select(SETTINGS),
        script in vec(select(TOLD), 1..40),
    ) {
        let world = play(settings, &script, &[]);
        prop_assert_eq!(cached(&world), held(&world));
        prop_assert_eq!(world.out_of_order, [""; 0]);
    }

    #[test]
    fn a_list_finds_what_no_watch_told(
        settings in select(SETTINGS),
        script in vec(select([TOLD, UNTOLD].concat()), 1..40),
    ) {
        let world = play(settings, &script, &RELIST);
        prop_assert_eq!(cached(&world), held(&world));
    }
}

/// Plays a script, then lets everything come to rest.
fn play(settings: &str, script: &[&str], after: &[&str]) -> World {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    runtime.unwrap().block_on(async {
        let mut world = World::new();
        let before = [settings, "checkpoint", "put a", "run"];
        let rest = ["forgive", "read on", "wait 130s", "send end-of-state"];
        let commands = before.iter().chain(script).chain(&rest).chain(after);
        for command in commands {
            world.obey(command).await;
        }
        world
    })
}

/// What the source holds and can be decoded.
fn held(world: &World) -> Held {
    let objects = world.source.objects().into_iter();
    let objects = objects.map(|(key, version, body)| {
        let body = String::from_utf8(body.to_vec()).unwrap();
        (key, (version, body))
    });
    objects.filter(|(_, (_, body))| body == "ok").collect()
}

/// What the cache holds, but for old states of what cannot be decoded now.
fn cached(world: &World) -> Held {
    let undecodable = world.source.objects().into_iter();
    let undecodable = undecodable.filter(|(_, _, body)| body != "ok");
    let undecodable: Vec<_> = undecodable.map(|(key, _, _)| key).collect();
    let snapshot = world.cache.snapshot();
    let objects = snapshot.iter();
    let objects = objects.map(|object| {
        let state = (object.version.clone(), object.body.clone());
        (object.key.clone(), state)
    });
    objects
        .filter(|(key, _)| !undecodable.contains(key))
        .collect()
}
