//! Three candidates, one leader: it is stopped, another takes over, and what the first one still
//! wanted to write is refused by its fencing token.
//!
//! `cargo run -p listwatch-examples --example leader_election`

use std::{collections::BTreeMap, future::pending, sync::Arc, time::Duration};

use anyhow::{Context, ensure};
use kube::{Api, Client, Config};
use listwatch::{ElectionSettings, FencingToken, LeaderElector};
use listwatch_server::{RunningServer, Settings};
use listwatch_store::MemoryStore;
use tokio::{
    net::TcpListener,
    sync::mpsc,
    task::JoinHandle,
    time::{Instant, timeout},
};

const CANDIDATES: [&str; 3] = ["ada", "ben", "cleo"];

/// Longer than any change of leader takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a candidate says when it begins to lead.
struct Elected {
    name: &'static str,
    token: FencingToken,
}

/// Something that leaders write to. It keeps the greatest token it has seen.
#[derive(Default)]
struct Ledger {
    greatest: Option<FencingToken>,
}

impl Ledger {
    fn write(&mut self, token: FencingToken) -> anyhow::Result<()> {
        let greatest = self.greatest.unwrap_or(token);
        ensure!(token >= greatest, "token {token} is older than {greatest}");
        self.greatest = Some(token);
        Ok(())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let store = Arc::new(MemoryStore::new());
    let server = RunningServer::start(listener, store, Settings::default()).await?;
    let url = format!("http://{}", server.address());
    let client = Client::try_from(Config::new(url.parse()?))?;

    let (reports, mut elected) = mpsc::channel(CANDIDATES.len());
    let mut candidates = BTreeMap::new();
    for name in CANDIDATES {
        let leases = Api::namespaced(client.clone(), "default");
        let elector = LeaderElector::new(leases, "example", settings(name))?;
        candidates.insert(name, tokio::spawn(stand(name, elector, reports.clone())));
    }

    let mut ledger = Ledger::default();
    let first = next_leader(&mut elected).await?;
    ledger.write(first.token)?;
    eprintln!("{} leads with token {}", first.name, first.token);

    let stopped = Instant::now();
    stop(&mut candidates, first.name).await?;
    let second = next_leader(&mut elected).await?;
    ledger.write(second.token)?;
    let after = stopped.elapsed();
    eprintln!(
        "{} leads with token {} after {after:?}",
        second.name, second.token
    );
    ensure!(second.name != first.name, "who was stopped leads again");
    ensure!(second.token > first.token, "tokens must grow");

    let late = ledger.write(first.token);
    let refused = late.err().context("an old token must be refused")?;
    eprintln!("a late write of {} is refused: {refused}", first.name);

    stop(&mut candidates, second.name).await?;
    let third = next_leader(&mut elected).await?;
    ledger.write(third.token)?;
    eprintln!("{} leads with token {}", third.name, third.token);
    ensure!(candidates.contains_key(third.name), "only one is left");

    stop(&mut candidates, third.name).await?;
    server.shutdown().await;
    Ok(())
}

/// A lease that lasts as long as usual, and candidates that look at it more often than usual.
fn settings(name: &str) -> ElectionSettings {
    ElectionSettings {
        retry_period: Duration::from_millis(200),
        ..ElectionSettings::new(name)
    }
}

/// Stands for election for ever, and reports when it leads.
async fn stand(name: &'static str, elector: LeaderElector, reports: mpsc::Sender<Elected>) {
    loop {
        let term = elector.run_while_leader(async |token| {
            // Nobody listens any more when the example is over.
            let _ = reports.send(Elected { name, token }).await;
            pending::<()>().await;
        });
        if let Err(reason) = term.await {
            eprintln!("{name}: {reason}");
        }
    }
}

async fn next_leader(elected: &mut mpsc::Receiver<Elected>) -> anyhow::Result<Elected> {
    let leader = timeout(PATIENCE, elected.recv());
    leader
        .await
        .context("nobody leads")?
        .context("nobody is left")
}

/// Ends a candidate. Its leadership is dropped with it, and its lease given back.
async fn stop(
    candidates: &mut BTreeMap<&str, JoinHandle<()>>,
    name: &'static str,
) -> anyhow::Result<()> {
    let candidate = candidates.remove(name).context("no such candidate")?;
    candidate.abort();
    let ended = candidate.await;
    ensure!(
        ended.is_err_and(|error| error.is_cancelled()),
        "{name} ended by itself"
    );
    eprintln!("{name} is stopped");
    Ok(())
}
