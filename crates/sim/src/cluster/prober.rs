//! A client that opens watches at versions that any server has shown to anybody, and leaves again.

use std::{sync::Arc, time::Duration};

use tokio::time::timeout;

use super::{
    lister::is_unavailable,
    plan::{KIND, ProberAction},
    stage::{Route, Stage, Turn},
};
use crate::{
    answers,
    client::WatchStream,
    history::{Ending, History, Received, Watch, WatchStart},
    workload::follower,
};

/// After this long the server ends the stream: the shortest time that can be asked for.
const STREAM_TIMEOUT: Duration = Duration::from_secs(1);

/// After this long without a word the client leaves.
const SILENCE_MAX: Duration = Duration::from_secs(2);

/// Does what is planned for one prober.
pub(super) async fn run(stage: Arc<Stage>, number: usize) -> anyhow::Result<History> {
    let mut history = History::default();
    let steps = stage.plan.probers[number].clone();
    for step in steps {
        if stage.turn(step.at).await == Turn::TooLate {
            continue;
        }
        let mut random = fastrand::Rng::with_seed(step.chance);
        let Some((version, origin)) = stage.ledger.some_version(&mut random) else {
            continue;
        };
        let start = WatchStart::After(version, origin);
        history
            .watches
            .extend(probe(&stage, step.action, start).await?);
    }
    Ok(history)
}

async fn probe(
    stage: &Stage,
    action: ProberAction,
    start: WatchStart,
) -> anyhow::Result<Option<Watch>> {
    let (client, answerer) = stage.server(Route::to(action.server));
    let collection = KIND.collection(action.selection.namespace.as_deref());
    let mut watch = Watch {
        began: stage.ledger.now(),
        selection: action.selection,
        start,
        bookmarks: action.bookmarks,
        frames: Vec::new(),
        ending: Ending::Cut,
        answerer,
    };
    let mut options = follower::watch_options(&watch);
    options.timeout = Some(STREAM_TIMEOUT);
    match client.watch(&collection, &options).await {
        Ok(stream) => watch.ending = read(stage, stream, &mut watch).await?,
        Err(error) if is_unavailable(&error) => return Ok(None),
        Err(error) => match answers::refused_watch(error) {
            Some(ending) => watch.ending = ending,
            None => return Ok(None),
        },
    }
    Ok(Some(watch))
}

async fn read(stage: &Stage, mut stream: WatchStream, watch: &mut Watch) -> anyhow::Result<Ending> {
    loop {
        let frame = match timeout(SILENCE_MAX, stream.next()).await {
            Ok(Some(Ok(event))) => answers::frame(event)?,
            Ok(Some(Err(error))) => return Ok(answers::ended_watch(error)),
            Ok(None) => return Ok(Ending::Closed),
            Err(_) => return Ok(Ending::Cut),
        };
        let at = stage.ledger.now();
        watch.frames.push(Received { at, frame });
    }
}
