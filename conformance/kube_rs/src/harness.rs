//! The other end of standard input and output, which owns the server.

use std::{env, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use kube::{Client, Config};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines, Stdin, stdin},
    time::{Instant, sleep},
};

const TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

pub struct Harness {
    pub client: Client,
    answers: Lines<BufReader<Stdin>>,
}

impl Harness {
    pub fn connect() -> Result<Self> {
        let url = env::var("LISTWATCH_SERVER").context("LISTWATCH_SERVER is not set")?;
        let client = Client::try_from(Config::new(url.parse()?))?;
        let answers = BufReader::new(stdin()).lines();
        Ok(Self { client, answers })
    }

    /// Asks the owner of the server to end it and start it again.
    pub async fn ask(&mut self, what: &str) -> Result<()> {
        println!("{what}");
        let answer = self.answers.next_line().await?;
        ensure!(answer.as_deref() == Some("done"), "{what}: {answer:?}");
        Ok(())
    }
}

/// Repeats a request while the server is away; `settled` is what a repetition may be told.
pub async fn persist<T, Request>(request: impl Fn() -> Request, settled: Option<u16>) -> Result<()>
where
    Request: Future<Output = kube::Result<T>>,
{
    let deadline = Instant::now() + TIMEOUT;
    loop {
        match request().await {
            Ok(_) => return Ok(()),
            Err(kube::Error::Api(status)) if Some(status.code) == settled => return Ok(()),
            Err(kube::Error::Api(status)) => bail!("refused: {status:?}"),
            Err(error) if Instant::now() > deadline => return Err(error.into()),
            Err(_) => sleep(PAUSE).await,
        }
    }
}

/// Waits until something holds.
pub async fn until(what: &str, holds: impl Fn() -> bool) -> Result<()> {
    let deadline = Instant::now() + TIMEOUT;
    while !holds() {
        ensure!(Instant::now() < deadline, "never: {what}");
        sleep(PAUSE).await;
    }
    Ok(())
}
