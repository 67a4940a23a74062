//! What is decided before anything is copied: begin, go on, or refuse.

use listwatch_store::{Condition, Entry, Key, KeyRange, Read, Revision, Store};

use super::{
    engine::{Existing, Plan},
    entries::{REGISTRY, read_patiently},
    error::CopyError,
    marker::{Marker, Phase, read_marker},
    patience::Waiting,
};

/// How far a new target begins after its source. The source may take so many more commits while it
/// is copied; beyond that the copy is refused, for its resourceVersions would not be newer.
const REVISIONS_AHEAD: u64 = 1_000_000;

/// What the two stores hold.
pub(crate) struct Found {
    source_revision: Revision,
    target_revision: Revision,
    target_objects: usize,
    example: Option<Key>,
    marker: Option<Entry>,
}

/// Where a copy begins.
pub(crate) struct Start {
    pub(crate) marker: Marker,
    /// What must hold of the marker in the target.
    pub(crate) condition: Condition,
    pub(crate) begun: Begun,
}

/// Whether a copy is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// By this run.
    Now,
    /// By an earlier run.
    Before,
}

impl Found {
    /// Looks at both.
    pub(crate) async fn look(
        source: &dyn Store,
        target: &dyn Store,
        waiting: &Waiting,
    ) -> Result<Self, CopyError> {
        let in_source = read_patiently(source, waiting, &read_marker()).await;
        let in_source = in_source.map_err(CopyError::ReadSource)?;
        if !in_source.entries.is_empty() {
            return Err(CopyError::SourceUnfinished);
        }
        let marker = read_patiently(target, waiting, &read_marker()).await;
        let mut marker = marker.map_err(CopyError::ReadTarget)?;
        let any = Read::newest(KeyRange::prefix(REGISTRY)).limit(1);
        let any = read_patiently(target, waiting, &any).await;
        let any = any.map_err(CopyError::ReadTarget)?;
        Ok(Self {
            source_revision: in_source.revision,
            target_revision: any.revision,
            target_objects: any.entries.len() + any.remaining,
            example: any.entries.into_iter().next().map(|entry| entry.key),
            marker: marker.entries.pop(),
        })
    }

    /// The revision that an empty target should begin after, if it does not yet.
    pub(crate) fn should_begin_after(&self) -> Option<Revision> {
        let after = Revision::new(self.source_revision.get() + REVISIONS_AHEAD);
        (self.target_objects == 0 && self.target_revision < after).then_some(after)
    }

    /// Where to begin, or why not at all.
    pub(crate) fn start(self, plan: &Plan) -> Result<Start, CopyError> {
        match &self.marker {
            Some(entry) => self.go_on(entry, plan),
            None => self.begin(plan),
        }
    }

    fn go_on(&self, entry: &Entry, plan: &Plan) -> Result<Start, CopyError> {
        let mut marker = Marker::parse(entry).ok_or(CopyError::OtherVersion)?;
        if marker.source != plan.source_name {
            let source_name = marker.source;
            return Err(CopyError::OtherSource { source_name });
        }
        check_order(marker.target_began(), self.source_revision)?;
        marker.run.clone_from(&plan.run);
        Ok(Start {
            marker,
            condition: Condition::Unchanged(entry.revision),
            begun: Begun::Before,
        })
    }

    fn begin(&self, plan: &Plan) -> Result<Start, CopyError> {
        if let (Existing::Refused, Some(example)) = (plan.existing, &self.example) {
            return Err(CopyError::NotEmpty {
                objects: self.target_objects,
                example: example.clone(),
            });
        }
        check_order(self.target_revision, self.source_revision)?;
        let marker = Marker {
            source: plan.source_name.clone(),
            run: plan.run.clone(),
            source_revision: self.source_revision.get(),
            target_began: self.target_revision.get(),
            phase: Phase::Copying(None),
            objects: 0,
        };
        Ok(Start {
            marker,
            condition: Condition::Absent,
            begun: Begun::Now,
        })
    }
}

/// Whatever is written after `target` must be newer than all of the source.
pub(crate) fn check_order(target: Revision, source_revision: Revision) -> Result<(), CopyError> {
    match target < source_revision {
        true => Err(CopyError::Behind {
            target,
            source_revision,
        }),
        false => Ok(()),
    }
}
