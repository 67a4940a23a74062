//! Log lines: for people on a terminal, as JSON for machines.

use std::io::IsTerminal;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

/// Sends log lines to standard error. `RUST_LOG` chooses which; without it, what matters.
pub(crate) fn start(format: LogFormat) {
    // That our own controllers have begun is no news.
    start_at(format, "info,listwatch::controller=warn");
}

/// Sends only warnings to standard error, as lines for people, unless `RUST_LOG` asks for more.
pub(crate) fn start_with_warnings() {
    start_at(LogFormat::Text, "warn");
}

fn start_at(format: LogFormat, level: &str) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => lines.with_target(false).init(),
        LogFormat::Json => lines.json().init(),
    }
}
