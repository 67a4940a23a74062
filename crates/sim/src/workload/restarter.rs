//! Restarts the server at the planned moments, while everybody goes on.

use tokio::task::JoinSet;

use super::world::World;
use crate::{
    history::{History, Restart, StopManner},
    target::Target,
};

/// Restarts the server as planned, until all writers have ended; their part goes into `history`.
pub(super) async fn run(
    world: &World,
    target: &mut Target,
    writers: &mut JoinSet<anyhow::Result<History>>,
    history: &mut History,
) -> anyhow::Result<Vec<Restart>> {
    let mut restarts = Vec::new();
    let mut planned = world.plan.restarts.iter().peekable();
    loop {
        let due = planned.peek().map_or(u64::MAX, |(writes, _)| *writes);
        tokio::select! {
            ended = writers.join_next() => match ended {
                Some(part) => history.extend(part??),
                None => return Ok(restarts),
            },
            () = world.writes_reach(due) => {
                if let Some((_, manner)) = planned.next() {
                    restarts.push(restart(world, target, *manner).await?);
                }
            }
        }
    }
}

async fn restart(
    world: &World,
    target: &mut Target,
    manner: StopManner,
) -> anyhow::Result<Restart> {
    let began = world.ledger.now();
    world.server_goes_down();
    target.stop(manner).await?;
    let client = target.start().await?;
    let ended = world.ledger.now();
    world.server_is_up(client);
    Ok(Restart {
        began,
        ended,
        manner,
    })
}
