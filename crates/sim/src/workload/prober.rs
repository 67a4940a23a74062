//! A client that opens watches at versions that somebody was shown, and leaves again.

use std::{sync::Arc, time::Duration};

use crate::client::WatchStream;

use super::{follower, world::World};
use crate::{
    answers,
    history::{Answerer, Bookmarks, Ending, History, Received, Watch, WatchStart},
};

/// After this long the server ends the stream: the shortest time that can be asked for.
const STREAM_TIMEOUT: Duration = Duration::from_secs(1);

/// Opens one watch after the other until the run is past writing.
pub(super) async fn run(world: Arc<World>, number: usize) -> anyhow::Result<History> {
    let mut random = world.plan.random_of("prober", number);
    let mut history = History::default();
    world.writes_reach(1).await;
    while world.is_writing() {
        let Some(mut watch) = choose(&world, &mut random) else {
            tokio::task::yield_now().await;
            continue;
        };
        let frames_max = random.usize(0..200);
        let client = world.client().await;
        watch.began = world.ledger.now();
        let mut options = follower::watch_options(&watch);
        options.timeout = Some(STREAM_TIMEOUT);
        let namespace = watch.selection.namespace.as_deref();
        let collection = world.plan.kind.collection(namespace);
        match client.watch(&collection, &options).await {
            Ok(stream) => watch.ending = read(&world, stream, &mut watch, frames_max).await?,
            Err(error) => match answers::refused_watch(error) {
                Some(ending) => watch.ending = ending,
                None => continue,
            },
        }
        history.watches.push(watch);
    }
    Ok(history)
}

fn choose(world: &World, random: &mut fastrand::Rng) -> Option<Watch> {
    let (version, origin) = world.ledger.some_version(random)?;
    let selections = &world.plan.selections;
    Some(Watch {
        began: world.ledger.now(),
        selection: selections[random.usize(..selections.len())].clone(),
        start: WatchStart::After(version, origin),
        bookmarks: if random.bool() {
            Bookmarks::Wanted
        } else {
            Bookmarks::Unwanted
        },
        frames: Vec::new(),
        ending: Ending::Cut,
        answerer: Answerer::default(),
    })
}

async fn read(
    world: &World,
    mut stream: WatchStream,
    watch: &mut Watch,
    frames_max: usize,
) -> anyhow::Result<Ending> {
    while watch.frames.len() < frames_max {
        let frame = match stream.next().await {
            Some(Ok(event)) => answers::frame(event)?,
            Some(Err(error)) => return Ok(answers::ended_watch(error)),
            None => return Ok(Ending::Closed),
        };
        let at = world.ledger.now();
        watch.frames.push(Received { at, frame });
    }
    Ok(Ending::Cut)
}
