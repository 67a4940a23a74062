//! One change told to watchers over HTTP/1.1, up to the write to each socket.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
};

use anyhow::{Result, ensure};
use tokio::{runtime::Runtime, task::yield_now};

use super::FURTHER_TURNS;
use crate::{
    counter::Allocated,
    objects::{self, Form},
    stage::{Stage, Storage, repeat},
};

/// Rounds of the runtime after which it has nothing to do; as many however many watchers there
/// are, so that they have no part in what one more of them costs.
const ROUNDS: usize = 64;

/// What every event of a change says, and nothing else does.
const EVENT: &[u8] = b"MODIFIED";

/// So many watchers want everything.
pub(super) fn interested(count: u64) -> Result<Allocated> {
    tell(count, |_| String::new(), (Form::Json, 1))
}

/// So many watchers want everything as protobuf.
pub(super) fn interested_in_protobuf(count: u64) -> Result<Allocated> {
    tell(count, |_| String::new(), (Form::Protobuf, 1))
}

/// So many watchers want the pods of another node, each of its own.
pub(super) fn elsewhere(count: u64) -> Result<Allocated> {
    let selector = |watcher| format!("&fieldSelector=spec.nodeName%3Delsewhere-{watcher}");
    tell(count, selector, (Form::Json, 0))
}

/// Tells of changes to watchers with these selectors, of which each gets so many events of each.
fn tell(
    count: u64,
    selector: impl Fn(u64) -> String,
    (form, events): (Form, usize),
) -> Result<Allocated> {
    let mut stage = Stage::new(Storage::Memory)?;
    let stored = stage.fill(1)?;
    let after = stage.revision()?.get();
    let mut watchers = Vec::new();
    for number in 0..count {
        let query = format!("watch=true&resourceVersion={after}{}", selector(number));
        let mut watcher = TcpStream::connect(stage.server.address())?;
        watcher.set_nonblocking(true)?;
        let request = objects::get(&format!("{}?{query}", objects::PODS), form);
        watcher.write_all(request.as_bytes())?;
        watchers.push(watcher);
    }
    settle(&stage.runtime);
    ensure!(
        stage.pods()?.stats().watchers as u64 == count,
        "not all watch"
    );
    repeat(FURTHER_TURNS, |counter, number| {
        stage.put(0, objects::repeated(&stored, number))?;
        counter.section(|| settle(&stage.runtime));
        for watcher in &mut watchers {
            let told = take_events(watcher)?;
            ensure!(told == events, "a watcher got {told} events of one change");
        }
        Ok(())
    })
}

fn settle(runtime: &Runtime) {
    runtime.block_on(async {
        for _ in 0..ROUNDS {
            yield_now().await;
        }
    });
}

/// Reads what has come and counts the events.
fn take_events(watcher: &mut TcpStream) -> Result<usize> {
    let mut received = Vec::new();
    match watcher.read_to_end(&mut received) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
        Err(error) => return Err(error.into()),
        Ok(_) => ensure!(false, "the server hung up"),
    }
    let words = received.windows(EVENT.len());
    Ok(words.filter(|word| *word == EVENT).count())
}
