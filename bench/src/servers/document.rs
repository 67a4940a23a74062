//! The part of a document that a run writes, and the drawing beside it.

use std::{
    fmt::Write as _,
    fs::File,
    io::{ErrorKind, Write as _},
    path::Path,
};

use anyhow::{Context, Result};

use super::{
    contender::Contender,
    entry::Entry,
    machine,
    plot::{self, Series},
    report::{self, Section},
};

/// The name of the drawing.
const DRAWING: &str = "benchmarks-growth.svg";

/// What was found, with how it was found.
pub(crate) struct Document {
    preface: String,
    /// In the order in which they were measured.
    pub(crate) sections: Vec<Section>,
}

impl Document {
    /// Notes on what and with what the run is made.
    pub(crate) async fn begin(entries: &[Entry], missing: Vec<String>) -> Self {
        let mut programs: Vec<&Path> = Vec::new();
        for entry in entries {
            programs.extend(entry.contender.programs());
        }
        programs.sort();
        programs.dedup();
        let words = std::env::args().skip(1);
        let mut preface = format!(
            "One run of\n\n```text\ncargo xtask bench {}\n```\n\non {}: {}. {}.",
            report::command_line(words),
            machine::date(),
            machine::machine(),
            machine::versions(programs.into_iter()).await,
        );
        for note in missing {
            let _ = write!(preface, " {note}");
        }
        Self {
            preface,
            sections: Vec::new(),
        }
    }

    /// Who used the processor.
    pub(crate) fn cost(&self) -> String {
        let mut text = String::from(
            "## What the runs took\n\n\
             | group | server | took | CPU of the server | CPU of the load generator |\n\
             |---|---|---|---|---|\n",
        );
        for row in self.sections.iter().flat_map(Section::cost) {
            let _ = writeln!(text, "{row}");
        }
        text
    }

    /// Replaces the marked part of the document, and the drawing if there is one to make.
    pub(crate) fn write(&self, file: &Path) -> Result<()> {
        let document = match std::fs::read_to_string(file) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            read => read.with_context(|| format!("cannot read {}", file.display()))?,
        };
        let mut text = format!("{}\n\n{}\n", self.preface, NOTES);
        for section in &self.sections {
            let _ = writeln!(text, "\n{}", section.markdown().trim_end());
        }
        if let Some(drawing) = plot::svg(&self.series()) {
            create(&file.with_file_name(DRAWING), &drawing)?;
            let _ = writeln!(text, "\n![How cost grows]({DRAWING})");
        }
        let _ = write!(text, "\n{}", self.cost());
        create(file, &report::replace(&document, &text))
    }

    fn series(&self) -> Vec<Series> {
        let outcomes = self.sections.iter().flat_map(|section| &section.outcomes);
        let plotted = outcomes.filter(|outcome| !outcome.findings.points.is_empty());
        let series = plotted.map(|outcome| Series {
            name: outcome.name.clone(),
            points: outcome.findings.points.clone(),
        });
        series.collect()
    }
}

/// What a reader must know to read the tables.
const NOTES: &str = "\
*ours* keeps its objects in the embedded store and syncs every write before it answers, as etcd \
does below kube-apiserver. Each group of scenarios starts each server anew, ours then theirs, on \
the same machine and the same requests. CPU and memory are those of the server and its store \
together, from `/proc`; the CPU of an event includes its share of the write. kube-apiserver is \
spoken to over TLS and ours is not, since it has none yet: some of the distance is TLS. *times \
better* is more work or less cost; a bar says what is wanted.";

fn create(file: &Path, text: &str) -> Result<()> {
    let written = File::create(file).and_then(|mut it| it.write_all(text.as_bytes()));
    written.with_context(|| format!("cannot write {}", file.display()))
}

impl Contender {
    fn programs(&self) -> Vec<&Path> {
        match self {
            Self::Ours { program, etcd, .. } => {
                let etcd = etcd.as_deref();
                std::iter::once(program.as_path()).chain(etcd).collect()
            }
            Self::Peer { program, etcd } => vec![program, etcd],
            Self::Given(_) => Vec::new(),
        }
    }
}
