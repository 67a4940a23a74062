//! The peer: kube-apiserver with its defaults, asked by a user whom it does not limit.

use std::{fs::File, io::Write, path::Path};

use anyhow::{Context, Result, ensure};
use tokio::process::Command;

use super::{
    endpoint::Endpoint,
    program::{self, Program},
    tls::Trust,
};

/// Who knows it may do everything.
const TOKEN: &str = "bench-administrator";
const TOKENS: &str = "tokens.csv";
const KEY: &str = "service-account.key";

/// Writes what it must find when it starts.
pub(crate) async fn prepare(folder: &Path) -> Result<()> {
    let mut command = Command::new("openssl");
    command.args(["genrsa", "-out"]).arg(folder.join(KEY));
    let output = command.arg("2048").output().await;
    let output = output.context("cannot run openssl, which makes a key for kube-apiserver")?;
    ensure!(output.status.success(), "openssl made no key");
    let mut tokens = File::create(folder.join(TOKENS))?;
    Ok(writeln!(tokens, "{TOKEN},bench,bench,system:masters")?)
}

/// Starts it on this etcd in a folder that is prepared; it answers later.
pub(crate) fn start(file: &Path, etcd: &str, folder: &Path) -> Result<(Program, Endpoint)> {
    let address = program::free_address()?;
    let (host, port) = address.split_once(':').context("an address has a port")?;
    let key = folder.join(KEY);
    let mut command = Command::new(file);
    command.arg(format!("--etcd-servers={etcd}"));
    command.args([
        format!("--bind-address={host}"),
        format!("--secure-port={port}"),
    ]);
    command.arg("--cert-dir").arg(folder.join("certificates"));
    command.arg("--token-auth-file").arg(folder.join(TOKENS));
    command.arg("--service-account-key-file").arg(&key);
    command.arg("--service-account-signing-key-file").arg(&key);
    command.args(SETTINGS);
    let endpoint = Endpoint::new(&format!("https://{address}"), &Trust::Anyone, None)?;
    let program = Program::start(command, folder, "kube-apiserver")?;
    Ok((program, endpoint.with_token(TOKEN)))
}

/// Defaults, but for what it does not start without and the admission of service accounts.
const SETTINGS: [&str; 4] = [
    "--service-account-issuer=https://kubernetes.default.svc",
    "--service-cluster-ip-range=10.0.0.0/24",
    "--authorization-mode=AlwaysAllow",
    "--disable-admission-plugins=ServiceAccount",
];
