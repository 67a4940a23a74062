//! How long a test waits for its server: from the call that starts it to the answer to its first
//! request, one after the other and many beside each other in one process.
//!
//! ```text
//! cargo run --release --package listwatch-testing --example start
//! ```
#![expect(clippy::print_stdout, reason = "it talks to a person")]

use std::error::Error;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, api::PostParams};
use listwatch_testing::TestServer;
use tokio::{task::JoinSet, time::Instant};

/// Servers that are started one after the other.
const IN_TURN: usize = 50;
/// Servers that are started at once, and run beside each other.
const AT_ONCE: u32 = 100;

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    println!("the first of the process: {}", in_turn(1).await?);
    println!("one after the other:      {}", in_turn(IN_TURN).await?);
    println!("{AT_ONCE} at once:              {}", at_once().await?);
    Ok(())
}

/// Starts servers one after the other, each when the one before has ended.
async fn in_turn(count: usize) -> Result<String, Failure> {
    let mut took = Vec::with_capacity(count);
    for _ in 0..count {
        let begun = Instant::now();
        let server = start().await?;
        took.push(begun.elapsed());
        server.stop().await;
    }
    took.sort_unstable();
    let (median, longest) = (took[count / 2], took[count - 1]);
    Ok(match count {
        1 => format!("{median:.1?}"),
        _ => format!("{median:.1?} each, {longest:.1?} at most"),
    })
}

/// Starts servers at once, which all run until the last has answered.
async fn at_once() -> Result<String, Failure> {
    let before = resident_kilobytes();
    let begun = Instant::now();
    let mut starting = JoinSet::new();
    for _ in 0..AT_ONCE {
        starting.spawn(start());
    }
    let mut running = Vec::new();
    while let Some(started) = starting.join_next().await {
        running.push(started??);
    }
    let took = begun.elapsed();
    let each = took / AT_ONCE;
    let told = match (before, resident_kilobytes()) {
        (Some(before), Some(after)) => {
            let each = after.saturating_sub(before) / u64::from(AT_ONCE);
            format!(", {each} KB of memory each")
        }
        _ => String::new(),
    };
    Ok(format!("{took:.1?}, {each:.1?} each{told}"))
}

/// A server that has taken its first object.
async fn start() -> Result<TestServer, Failure> {
    let server = TestServer::start().await?;
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    let mut map = ConfigMap::default();
    map.metadata.name = Some("color".to_owned());
    maps.create(&PostParams::default(), &map).await?;
    Ok(server)
}

/// What the process has in memory; `None` where the system does not tell.
fn resident_kilobytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}
