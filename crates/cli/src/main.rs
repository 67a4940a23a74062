//! The `listwatch` command.

mod copy;
mod etcd;
mod kubeconfig;
mod logging;
mod serve;
mod watch;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// A Kubernetes API server in one binary: list, then watch, and never miss a change.
#[derive(Parser)]
#[command(
    name = "listwatch",
    version,
    about,
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true
)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,
    /// Without a subcommand, the flags of `serve`.
    #[command(flatten)]
    serve: serve::Arguments,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the Kubernetes API (the default)
    Serve(serve::Arguments),
    /// Watch objects of any Kubernetes API and print each change, until Ctrl-C
    Watch(watch::Arguments),
    /// Copy all objects from one place to another: a data directory, an etcd cluster
    Copy(copy::Arguments),
}

const EXAMPLES: &str = "\
Try it:
  listwatch                                       serve on 127.0.0.1:8080; data in
                                                  ./listwatch-data
  kubectl create configmap a --from-literal=x=1   in another terminal; no configuration needed
  listwatch watch configmaps -o diff              what changes, as it changes

  listwatch serve --memory --listen 127.0.0.1:0   a throw-away server on a free port, for tests
  listwatch serve --etcd http://h1:2379,http://h2:2379,http://h3:2379
                                                  one of several servers in front of etcd";

fn main() -> ExitCode {
    let CommandLine { command, serve } = CommandLine::parse();
    let result = match command.unwrap_or(Command::Serve(serve)) {
        Command::Serve(arguments) => {
            logging::start(arguments.log_format);
            serve::run(arguments)
        }
        Command::Watch(arguments) => watch::run(&arguments),
        Command::Copy(arguments) => {
            logging::start_with_warnings();
            copy::run(arguments)
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
