//! One etcd process.

use std::{
    fs::{self, OpenOptions},
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use super::{Program, certificates::Transport};
use crate::Tls;

/// How much of what etcd wrote an error shows.
const LOG_CHARACTERS_MAX: usize = 4000;

/// How the members of a cluster reach each other.
#[derive(Clone, Copy, Debug)]
pub(super) enum Peers<'a> {
    /// So many of them, directly.
    Direct(usize),
    /// Through these ports of loopback, one for each.
    Through(&'a [u16]),
}

/// One member of a test's cluster. It is killed when dropped.
#[derive(Debug)]
pub struct Member {
    program: Program,
    transport: Transport,
    name: String,
    directory: PathBuf,
    client_port: u16,
    peer_port: u16,
    /// Where the other members find it: its own peer port, or what passes connections on to it.
    advertised_peer_port: u16,
    /// All members as etcd's `--initial-cluster` names them.
    cluster: String,
    process: Option<Child>,
}

impl Member {
    /// So many members with ports that are free now, not yet started.
    pub(super) fn plan(
        program: &Program,
        transport: Transport,
        directory: &Path,
        peers: Peers<'_>,
    ) -> io::Result<Vec<Self>> {
        let count = match peers {
            Peers::Direct(count) => count,
            Peers::Through(ports) => ports.len(),
        };
        let ports = free_ports(2 * count)?;
        let (client_ports, peer_ports) = ports.split_at(count);
        let advertised = match peers {
            Peers::Direct(_) => peer_ports,
            Peers::Through(ports) => ports,
        };
        let named = advertised.iter().enumerate();
        let cluster: Vec<String> = named
            .map(|(index, port)| format!("member-{index}=http://127.0.0.1:{port}"))
            .collect();
        let cluster = cluster.join(",");
        let members = (0..count).map(|index| Self {
            program: program.clone(),
            transport,
            name: format!("member-{index}"),
            directory: directory.join(format!("member-{index}")),
            client_port: client_ports[index],
            peer_port: peer_ports[index],
            advertised_peer_port: advertised[index],
            cluster: cluster.clone(),
            process: None,
        });
        Ok(members.collect())
    }

    /// Where it listens for other members.
    pub fn peer_address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.peer_port).into()
    }

    /// Where it listens for clients.
    pub fn client_address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.client_port).into()
    }

    /// Where clients find it.
    pub fn address(&self) -> String {
        format!(
            "{}://127.0.0.1:{}",
            self.transport.scheme(),
            self.client_port
        )
    }

    /// What a client needs to talk to it.
    pub(super) fn client_tls(&self) -> Option<Tls> {
        self.transport.client_tls()
    }

    /// Starts the process, without waiting for anything.
    pub fn spawn(&mut self) -> io::Result<()> {
        fs::create_dir_all(&self.directory)?;
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.log_file())?;
        let peer_address = format!("http://{}", self.peer_address());
        let advertised = format!("http://127.0.0.1:{}", self.advertised_peer_port);
        let mut command = Command::new(self.program.path());
        command.arg("--name").arg(&self.name);
        command.arg("--data-dir").arg(self.directory.join("data"));
        command.arg("--listen-client-urls").arg(self.address());
        command.arg("--advertise-client-urls").arg(self.address());
        command.arg("--listen-peer-urls").arg(&peer_address);
        command
            .arg("--initial-advertise-peer-urls")
            .arg(&advertised);
        command.arg("--initial-cluster").arg(&self.cluster);
        command.args(["--log-level", "error"]);
        command.args(self.transport.server_arguments(&self.directory)?);
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        self.process = Some(command.spawn()?);
        Ok(())
    }

    /// Ends it at once, as a power cut would.
    pub fn kill(&mut self) -> io::Result<()> {
        if let Some(mut process) = self.process.take() {
            process.kill()?;
            process.wait()?;
        }
        Ok(())
    }

    /// Ends it and throws its data away, as if somebody had restored an empty disk.
    pub fn wipe(&mut self) -> io::Result<()> {
        self.kill()?;
        fs::remove_dir_all(self.directory.join("data"))
    }

    /// Stops it where it stands: connections stay open, and nothing answers.
    pub fn pause(&self) -> io::Result<()> {
        self.signal("-STOP")
    }

    /// Lets a paused one go on.
    pub fn resume(&self) -> io::Result<()> {
        self.signal("-CONT")
    }

    fn signal(&self, signal: &str) -> io::Result<()> {
        let process = self.process.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let mut kill = Command::new("kill");
        let status = kill.arg(signal).arg(process.id().to_string()).status()?;
        match status.success() {
            true => Ok(()),
            false => Err(io::Error::other(format!(
                "kill {signal} ended with {status}"
            ))),
        }
    }

    pub(super) fn has_ended(&mut self) -> io::Result<bool> {
        match &mut self.process {
            Some(process) => Ok(process.try_wait()?.is_some()),
            None => Ok(true),
        }
    }

    /// The end of what it wrote.
    pub(super) fn log(&self) -> String {
        let log = fs::read(self.log_file()).unwrap_or_default();
        let from = log.len().saturating_sub(LOG_CHARACTERS_MAX);
        String::from_utf8_lossy(&log[from..]).into_owned()
    }

    fn log_file(&self) -> PathBuf {
        self.directory.join("log")
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if let Err(error) = self.kill() {
            eprintln!("cannot end {}: {error}", self.name);
        }
    }
}

/// Ports of loopback that nobody listens on now.
fn free_ports(count: usize) -> io::Result<Vec<u16>> {
    let listeners: Vec<TcpListener> = (0..count)
        .map(|_| TcpListener::bind(("127.0.0.1", 0)))
        .collect::<io::Result<_>>()?;
    let ports = listeners
        .iter()
        .map(|listener| Ok(listener.local_addr()?.port()));
    ports.collect()
}
