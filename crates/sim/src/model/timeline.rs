//! What was known when.

use listwatch_api::ResourceVersion;

use crate::{
    history::{History, Moment, WriteOutcome},
    model::Model,
};

/// The newest version that any client had been shown, by time.
#[derive(Debug)]
pub struct Timeline {
    /// Moments with the newest version shown until then; both only grow.
    steps: Vec<(Moment, ResourceVersion)>,
}

impl Timeline {
    /// What the clients of this history had been shown, and when.
    pub fn of(history: &History, model: &Model) -> Self {
        let mut shown = acknowledged(history, model);
        for list in &history.lists {
            shown.extend(list.at().map(|version| (list.ended, version)));
        }
        for read in &history.reads {
            shown.extend(read.seen.iter().map(|seen| (read.ended, seen.version)));
        }
        for watch in &history.watches {
            let frames = watch.frames.iter();
            shown.extend(frames.map(|received| (received.at, received.frame.version())));
        }
        shown.sort();
        let mut newest = ResourceVersion::new(0);
        for (_, version) in &mut shown {
            newest = newest.max(*version);
            *version = newest;
        }
        Self { steps: shown }
    }

    /// The newest version that anybody had been shown before this moment.
    pub fn newest_before(&self, moment: Moment) -> ResourceVersion {
        let earlier = self.steps.partition_point(|(shown, _)| *shown < moment);
        let step = earlier.checked_sub(1).map(|index| self.steps[index].1);
        step.unwrap_or(ResourceVersion::new(0))
    }
}

fn acknowledged(history: &History, model: &Model) -> Vec<(Moment, ResourceVersion)> {
    let versions = history.writes.iter().filter_map(|write| {
        let version = match &write.outcome {
            WriteOutcome::Stored(object) => object.version,
            WriteOutcome::Deleted { uid } => model.deletion_of(&write.key, uid)?,
            WriteOutcome::Refused(_) | WriteOutcome::Unknown => return None,
        };
        Some((write.ended, version))
    });
    versions.collect()
}
