//! One request that writes: from what its client wants to what is stored.

use listwatch_api::{
    Status,
    object::{Draft, Outline},
    patch::Reach,
};
use listwatch_kinds as kinds;
use serde_json::Value;

use super::{create, part::Part};
use crate::{
    admission,
    commit::{
        Changed, Current, Destination, Next, Owners, Proposal, SCANNED, Settled, Stored, Trust,
        carry_over, deletion_is_complete, deletion_looks_beyond_metadata, metadata_mut,
    },
    registry::Definition,
    request::ResourceRequest,
    server::Server,
};

/// A request that writes an object or one part of it.
pub(super) struct Writer<'a> {
    pub(super) server: &'a Server,
    pub(super) request: &'a ResourceRequest,
    pub(super) part: Part,
    /// What becomes of a write to an object that is not there.
    pub(super) when_missing: WhenMissing,
    /// What the client should hear of what was written last.
    pub(super) warnings: Vec<String>,
}

/// What becomes of a write to an object that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WhenMissing {
    /// It is refused.
    Refused,
    /// The object is created.
    Created,
}

/// A state of an object and the one that is to follow. Members that the earlier state has as text
/// stay as they are, and the later one has none of them.
pub(super) struct Change<'a> {
    pub(super) before: Outline,
    pub(super) next: Value,
    pub(super) owners: Owners<'a>,
}

/// An object that is to be created.
pub(super) struct New<'a> {
    pub(super) object: Value,
    pub(super) owners: Owners<'a>,
}

impl<'a> Writer<'a> {
    /// Changes what is there or creates what is not. Whether it may be created is asked only then.
    pub(super) async fn write(
        &mut self,
        destination: &Destination,
        mut change: impl FnMut(&Current) -> Result<Change<'a>, Status>,
        mut create: impl FnMut() -> Result<New<'a>, Status>,
    ) -> Result<Changed, Status> {
        let mut writing = self.server.committer.begin(destination).await?;
        let mut home = None;
        loop {
            let proposal = match writing.stored() {
                Stored::Absent => {
                    if home.is_none() {
                        home = self.find_home().await?;
                    }
                    create().and_then(|new| self.settle_new(new))
                }
                there => {
                    let current = there.object(Status::unknown_resource);
                    let changed = current.and_then(|it| Ok((it, change(it)?)));
                    changed.and_then(|(current, change)| self.settle_change(current, change))
                }
            };
            if let Settled::Done(changed) = writing.settle(home.as_ref(), proposal).await? {
                return Ok(changed);
            }
        }
    }

    async fn find_home(&self) -> Result<Option<admission::Home<'a>>, Status> {
        let Self {
            server, request, ..
        } = self;
        let name = request.object_name();
        match self.when_missing {
            WhenMissing::Refused => Err(Status::not_found(request.group_resource(), name)),
            WhenMissing::Created => admission::find_home(server, request, name, Trust::Fresh).await,
        }
    }

    fn settle_new(&mut self, New { object, owners }: New<'_>) -> Result<Proposal, Status> {
        let draft = create::prepare(self.server, self.request, &owners, object);
        create::check(self.request, &draft.object)?;
        self.warnings = admission::warnings(&self.request.definition, &draft.object);
        Ok(Next::Put(draft).into())
    }

    /// Lets the part of the path change what it may, keeps the rest, and checks the result.
    fn settle_change(&mut self, current: &Current, change: Change<'_>) -> Result<Proposal, Status> {
        let Change {
            mut before,
            mut next,
            owners,
        } = change;
        let definition = &self.request.definition;
        if let Value::Object(members) = &mut next {
            // Decoding fills in what an object of the kind always has.
            members.retain(|name, _| !before.untouched.iter().any(|(kept, _)| **kept == **name));
        }
        self.part
            .keep_the_rest(definition, &before.object, &mut next);
        if differs(definition, &before.object, &next) {
            make_whole(&mut before, &mut next);
            admission::apply_defaults(definition, &mut next);
        }
        carry_over(definition, &before.object, &mut next);
        let managed_fields = owners.settle_next(&before, &mut next);
        let version = current.revision.to_string();
        metadata_mut(&mut next).insert("resourceVersion".to_owned(), version.into());
        self.check(&before.object, &next)?;
        metadata_mut(&mut next).remove("resourceVersion");
        let is_complete = deletion_is_complete(definition, &next);
        let draft = Draft {
            object: next,
            managed_fields,
            untouched: before.untouched,
        };
        Ok(match is_complete {
            true => Next::Remove(draft).into(),
            false => Next::Put(draft).into(),
        })
    }

    /// Refuses a change that breaks the rules of the kind. What was valid stays valid, so that the
    /// kind's own rules are asked only about what changed beyond the metadata.
    fn check(&mut self, before: &Value, next: &Value) -> Result<(), Status> {
        let definition = &self.request.definition;
        let rules = definition.metadata_rules();
        let mut errors = rules.check_update(&next["metadata"], &before["metadata"]);
        if differs(definition, before, next) {
            let change = kinds::Change { before, next };
            errors.extend(admission::judge_change(
                definition,
                self.part.rules(),
                change,
            ));
            self.warnings = admission::warnings(definition, next);
        }
        if errors.is_empty() {
            return Ok(());
        }
        let name = self.request.object_name();
        Err(Status::invalid(self.request.group_kind(), name, &errors))
    }
}

/// How far a write has to look that itself looks no further than this. Kinds with other versions
/// or rules about their metadata are looked at as a whole.
pub(super) fn within_reach<'a>(
    server: &Server,
    (request, part): (&ResourceRequest, Part),
    reach: Reach<'a>,
) -> Reach<'a> {
    let definition = &request.definition;
    let is_plain = matches!(part, Part::Main | Part::Status)
        && !server.registry.is_converted(definition)
        && !deletion_looks_beyond_metadata(definition);
    match is_plain {
        true => reach,
        false => Reach::Everything,
    }
}

/// Whether two states differ in what the rules of the kind look at: everything but the metadata,
/// which only some look at.
fn differs(definition: &Definition, before: &Value, next: &Value) -> bool {
    deletion_looks_beyond_metadata(definition)
        || outside_metadata(before).ne(outside_metadata(next))
}

fn outside_metadata(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let members = object.as_object().into_iter().flatten();
    members.filter(|(name, _)| *name != "metadata")
}

/// Makes trees of the members that both states share.
fn make_whole(before: &mut Outline, next: &mut Value) {
    let names: Vec<Box<str>> = before
        .untouched
        .iter()
        .map(|(name, _)| name.clone())
        .collect();
    for name in names {
        before.parse(&name).expect(SCANNED);
        next[&*name] = before.object[&*name].clone();
    }
}
