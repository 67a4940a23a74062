//! Three servers on three members of etcd, each a process that can be killed and come back.

use std::{
    fs::{self, File},
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use super::super::{program::ONLY_WHAT_CLIENTS_WRITE, server::Server, session::Session};
use crate::workspace;

const COUNT: usize = 3;
const READY_TIMEOUT: Duration = Duration::from_secs(30);
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(20);

pub(super) struct Cluster {
    servers: Vec<Server>,
    members: Vec<Member>,
}

struct Member {
    name: String,
    folder: PathBuf,
    client_port: u16,
    peer_port: u16,
    /// All members as etcd's `--initial-cluster` names them.
    cluster: String,
    process: Option<Session>,
}

impl Cluster {
    pub(super) fn start(folder: &Path) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(folder)
                .with_context(|| format!("cannot clear {}", folder.display()))?;
        }
        let mut members = plan_members(folder)?;
        for member in &mut members {
            member.start()?;
        }
        for member in &members {
            member.wait_until_healthy()?;
        }
        let addresses = members.iter().map(|member| http_url(member.client_port));
        let store = ["--etcd".to_owned(), addresses.collect::<Vec<_>>().join(",")];
        let servers = (0..COUNT).map(|index| {
            let folder = folder.join(format!("server-{index}"));
            let mut arguments = store.to_vec();
            arguments.push(ONLY_WHAT_CLIENTS_WRITE.to_owned());
            Server::start_on_store(folder, arguments)
        });
        let servers = servers.collect::<Result<_>>()?;
        Ok(Self { servers, members })
    }

    pub(super) fn indexes() -> std::ops::Range<usize> {
        0..COUNT
    }

    pub(super) fn urls(&self) -> Vec<String> {
        self.servers.iter().map(Server::url).collect()
    }

    pub(super) fn addresses(&self) -> Result<Vec<SocketAddr>> {
        let addresses = self.servers.iter().map(|server| server.address().parse());
        addresses
            .collect::<Result<_, _>>()
            .context("a server listens nowhere")
    }

    /// Kills one server and one member of etcd, at once and without warning.
    pub(super) fn kill(&mut self, index: usize) -> Result<()> {
        self.servers[index].kill()?;
        match self.members[index].process.take() {
            Some(mut process) => process.kill(),
            None => Ok(()),
        }
    }

    /// Starts them again where they were, without waiting for etcd.
    pub(super) fn revive(&mut self, index: usize) -> Result<()> {
        self.members[index].start()?;
        self.servers[index].start_again()
    }

    /// Waits until one server and one member of etcd can do without the others.
    pub(super) fn wait_until_ready(&self, index: usize) -> Result<()> {
        self.members[index].wait_until_healthy()?;
        wait_for_ok(self.servers[index].address(), "/readyz")
            .with_context(|| format!("server {index} is not ready"))
    }

    /// The ends of what they logged.
    pub(super) fn log_tails(&self) -> String {
        let servers = self.servers.iter().enumerate();
        let tails = servers.map(|(index, server)| {
            let tail = server.log_tail();
            format!("server {index}'s last words:\n{tail}\n")
        });
        tails.collect()
    }
}

fn plan_members(folder: &Path) -> Result<Vec<Member>> {
    let ports = free_ports(2 * COUNT)?;
    let (client_ports, peer_ports) = ports.split_at(COUNT);
    let peers = peer_ports.iter().enumerate();
    let cluster = peers.map(|(index, port)| format!("member-{index}={}", http_url(*port)));
    let cluster = cluster.collect::<Vec<_>>().join(",");
    let ports = client_ports.iter().zip(peer_ports).enumerate();
    let members = ports.map(|(index, (client_port, peer_port))| Member {
        name: format!("member-{index}"),
        folder: folder.join(format!("member-{index}")),
        client_port: *client_port,
        peer_port: *peer_port,
        cluster: cluster.clone(),
        process: None,
    });
    Ok(members.collect())
}

impl Member {
    fn start(&mut self) -> Result<()> {
        fs::create_dir_all(&self.folder)?;
        let log = self.folder.join("etcd.log");
        let log = File::options().create(true).append(true).open(log)?;
        let (clients, peers) = (http_url(self.client_port), http_url(self.peer_port));
        let mut command = Command::new(workspace::tools().join("etcd"));
        command
            .args(["--name", &self.name, "--log-level", "error", "--data-dir"])
            .arg(self.folder.join("data"))
            .args(["--listen-client-urls", &clients])
            .args(["--advertise-client-urls", &clients])
            .args(["--listen-peer-urls", &peers])
            .args(["--initial-advertise-peer-urls", &peers])
            .args(["--initial-cluster", &self.cluster])
            .stderr(log);
        self.process = Some(Session::start(&mut command)?);
        Ok(())
    }

    fn wait_until_healthy(&self) -> Result<()> {
        wait_for_ok(&format!("127.0.0.1:{}", self.client_port), "/health").with_context(|| {
            let (name, folder) = (&self.name, self.folder.display());
            format!("etcd's {name} is not healthy; its log is in {folder}")
        })
    }
}

fn http_url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

fn free_ports(count: usize) -> Result<Vec<u16>> {
    let listeners = (0..count).map(|_| TcpListener::bind("127.0.0.1:0"));
    let listeners = listeners.collect::<Result<Vec<_>, _>>()?;
    let ports = listeners
        .iter()
        .map(|listener| Ok(listener.local_addr()?.port()));
    ports.collect()
}

fn wait_for_ok(address: &str, path: &str) -> Result<()> {
    let deadline = Instant::now() + READY_TIMEOUT;
    loop {
        match first_line(address, path) {
            Ok(line) if line.starts_with("HTTP/1.1 200") => return Ok(()),
            answer if Instant::now() > deadline => bail!("{path} says {answer:?}"),
            _ => thread::sleep(LOOK_AGAIN_AFTER),
        }
    }
}

fn first_line(address: &str, path: &str) -> Result<String> {
    let mut connection = TcpStream::connect(address)?;
    connection.set_read_timeout(Some(READY_TIMEOUT))?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes())?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    Ok(answer.lines().next().unwrap_or_default().to_owned())
}
