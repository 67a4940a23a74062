//! What all runs have found so far, kept beside the document that is made of it.

use std::{
    fs::File,
    io::{ErrorKind, Write as _},
    path::Path,
};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::report::Section;

/// The newest section of each group, in the order of the groups.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Results {
    /// The sections.
    pub(crate) sections: Vec<Section>,
}

impl Results {
    /// What this file holds; nothing if there is none.
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let read = || match std::fs::read_to_string(file) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            text => Ok::<Self, anyhow::Error>(serde_json::from_str(&text?)?),
        };
        read().with_context(|| format!("cannot read {}", file.display()))
    }

    /// Replaces what was found of the same group.
    pub(crate) fn keep(&mut self, section: Section) {
        self.sections.retain(|it| it.group != section.group);
        let place = |it: &Section| it.group.place() > section.group.place();
        let place = self.sections.iter().position(place);
        let place = place.unwrap_or(self.sections.len());
        self.sections.insert(place, section);
    }

    /// Writes everything into this file.
    pub(crate) fn write(&self, file: &Path) -> Result<()> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        create(file, &text)
    }
}

/// Replaces a file.
pub(crate) fn create(file: &Path, text: &str) -> Result<()> {
    let written = File::create(file).and_then(|mut it| it.write_all(text.as_bytes()));
    written.with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::{group::Group, machine::Run};

    fn section(group: Group, date: &str) -> Section {
        let run = Run {
            date: date.to_owned(),
            ..Run::default()
        };
        Section {
            group,
            run,
            outcomes: Vec::new(),
        }
    }

    #[test]
    fn a_group_that_is_measured_again_replaces_itself_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("results.json");
        let mut results = Results::read(&file).unwrap();
        for (group, date) in [
            (Group::Reads, "first"),
            (Group::Writes, "first"),
            (Group::Reads, "second"),
        ] {
            results.keep(section(group, date));
        }
        results.write(&file).unwrap();
        let read = Results::read(&file).unwrap().sections;
        let found: Vec<_> = read.iter().map(|it| (it.group, &*it.run.date)).collect();
        assert_eq!(found, [(Group::Writes, "first"), (Group::Reads, "second")]);
    }
}
