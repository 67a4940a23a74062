//! Runs a client program that drives the server by itself.
//!
//! The program finds the server's URL in `LISTWATCH_SERVER`. When it prints `restart` or `crash`
//! as a line, the server is ended so and started again, and the program reads `done`. Every other
//! line is shown. Exit code 0 means that all it checked was right.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use super::{server::Server, session::Session};
use crate::workspace;

const PROGRAM_TIMEOUT: Duration = Duration::from_secs(300);

/// Programs count what they have written, and would count what controllers put into namespaces.
pub(super) const ONLY_WHAT_CLIENTS_WRITE: &str = "--controllers=namespace,garbage-collector";

/// Runs a client on a server that is started with these arguments.
pub(super) fn run(
    name: &str,
    server_arguments: &'static [&'static str],
    command: &mut Command,
) -> Result<()> {
    let mut arguments = server_arguments.to_vec();
    if !arguments.iter().any(|it| it.starts_with("--controllers")) {
        arguments.push(ONLY_WHAT_CLIENTS_WRITE);
    }
    let mut server = Server::start(name, &arguments)?;
    command
        .current_dir(workspace::root())
        .env("LISTWATCH_SERVER", server.url())
        .env_remove("KUBECONFIG");
    let mut client = Session::start(command)?;
    if let Err(error) = talk(&mut client, &mut server) {
        bail!(
            "{name}: {error:#}\nthe server's last words:\n{}",
            server.log_tail()
        );
    }
    Ok(())
}

fn talk(client: &mut Session, server: &mut Server) -> Result<()> {
    let deadline = Instant::now() + PROGRAM_TIMEOUT;
    while let Some(line) = client.next_line(deadline)? {
        match line.trim() {
            "restart" => server.restart().context("restart")?,
            "crash" => server.crash().context("crash")?,
            other => {
                println!("   {other}");
                continue;
            }
        }
        client.say("done\n")?;
    }
    let status = client.wait()?;
    ensure!(status.success(), "the client ended with {status}");
    Ok(())
}
