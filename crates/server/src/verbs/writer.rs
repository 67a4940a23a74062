//! One request that writes: from what its client wants to what is stored.

use std::collections::BTreeSet;

use bytes::Bytes;
use listwatch_api::{
    Status,
    object::{Draft, Outline},
    patch::Reach,
    write_options::{DryRun, FieldValidation, WriteOptions},
};
use listwatch_kinds as kinds;
use listwatch_store::{Key, Operation as StoreOperation};
use serde_json::{Value, json};

use super::{create, part::Part};
use crate::{
    admission::{self, Accounting, Allocation, Asked, Chain, Operation, Restored, Surroundings},
    commit::{
        Changed, Current, Destination, Next, Owners, Proposal, SCANNED, Settled, Stored, Trust,
        Views, carry_over, deletion_is_complete, deletion_looks_beyond_metadata, metadata_mut,
        metadata_text, parse,
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
    pub(super) options: &'a WriteOptions,
    /// What the client should hear of what was written last.
    pub(super) warnings: Vec<String>,
    /// Keys that others have taken, as a try to write them found out.
    pub(super) taken: BTreeSet<Key>,
    /// What the owners of fields see of the object in other versions.
    pub(super) views: Option<&'a Views>,
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
    /// Whether the later state has what leaving it out means.
    pub(super) is_filled: bool,
}

/// A change on its way.
struct Revised {
    before: Outline,
    next: Value,
    managed_fields: Option<Bytes>,
    /// Whether it changes more than the metadata. Then nothing of either state is text any more.
    is_touched: bool,
}

/// An object that is to be created.
pub(super) struct New<'a> {
    pub(super) object: Value,
    pub(super) owners: Owners<'a>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        server: &'a Server,
        (request, part): (&'a ResourceRequest, Part),
        when_missing: WhenMissing,
        options: &'a WriteOptions,
    ) -> Self {
        Self {
            server,
            request,
            part,
            when_missing,
            options,
            warnings: Vec::new(),
            taken: BTreeSet::new(),
            views: None,
        }
    }

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
                    match create() {
                        Ok(new) => self.settle_new(new).await,
                        Err(refusal) => Err(refusal),
                    }
                }
                there => match there.object(Status::unknown_resource) {
                    Ok(current) => self.change_current(current, &mut change).await,
                    Err(refusal) => Err(refusal),
                },
            };
            match writing.settle(home.as_ref(), proposal).await? {
                Settled::Done(changed) => {
                    self.server.take_effect(&self.request.definition).await?;
                    self.observe(&changed).await;
                    return Ok(changed);
                }
                Settled::Again => {}
                Settled::Elsewhere(key) => drop(self.taken.insert(key)),
            }
        }
    }

    /// What becomes of an object that is there, which is changed in the client's version.
    async fn change_current(
        &mut self,
        current: &Current,
        change: &mut impl FnMut(&Current) -> Result<Change<'a>, Status>,
    ) -> Result<Proposal, Status> {
        let (conversions, definition) = (&self.server.conversions, &self.request.definition);
        let begun = conversions.begun(definition, current).await?;
        let current = begun.as_ref().unwrap_or(current);
        let mut rounds = 0;
        let revised = loop {
            let revised = change(current).map(|change| self.revise(current, change));
            match self.views {
                Some(views) if views.lacks_some() => {
                    rounds += 1;
                    Box::pin(views.fetch(conversions, rounds)).await?;
                }
                _ => break revised?,
            }
        };
        self.settle_change(current, revised).await
    }

    /// Lets a quota that was written be counted.
    pub(super) async fn observe(&self, changed: &Changed) {
        let Self {
            server, request, ..
        } = self;
        let is_meant = self.options.dry_run == DryRun::Off;
        if is_meant && admission::is_quota(&request.definition) {
            let object = changed.parse();
            let is_known = object["status"]["hard"] == object["spec"]["hard"];
            if let Some(name) = metadata_text(&object, "name").filter(|_| !is_known) {
                admission::observe_quota(server, request, name).await;
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

    async fn settle_new(&mut self, New { object, owners }: New<'_>) -> Result<Proposal, Status> {
        let mut draft = create::own(self.server, self.request, &owners, object);
        self.mutate_new(&mut draft).await?;
        self.settle_draft(draft).await
    }

    /// Lets everybody change a new object who is to be asked about it.
    pub(super) async fn mutate_new(&mut self, draft: &mut Draft) -> Result<(), Status> {
        self.warnings.clear();
        if self.part == Part::Main {
            let surroundings = self.surroundings(Operation::Create);
            surroundings.settle(&draft.object).await?;
            surroundings.complete(&mut draft.object)?;
        }
        let Some(mut chain) = self.chain(Operation::Create, &draft.object) else {
            return Ok(());
        };
        let whole = with_owners(&draft.object, draft.managed_fields.as_ref());
        let mutated = chain.mutate(Some(whole), None).await?;
        draft.object = without_owners(mutated.expect("an object was given"));
        create::reset_status(self.server, self.request, &mut draft.object);
        if self.request.definition.custom.is_some() {
            // Others may have taken away what leaving it out means, and the status is new.
            admission::apply_defaults(&self.request.definition, &mut draft.object);
        }
        self.warnings.append(&mut chain.warnings);
        Ok(())
    }

    /// Lets a new object begin its life, and checks it.
    pub(super) async fn settle_draft(&mut self, mut draft: Draft) -> Result<Proposal, Status> {
        let definition = &self.request.definition;
        let mut alongside = self.allocate(None, &mut draft.object).await?;
        create::begin(self.server, self.request, &mut draft.object);
        create::check(self.request, &draft.object)?;
        let told = admission::warnings(definition, &draft.object);
        self.warnings.extend(told);
        let surroundings = self.surroundings(Operation::Create);
        surroundings.check(None, &draft.object)?;
        if let Some(mut chain) = self.chain(Operation::Create, &draft.object) {
            let whole = with_owners(&draft.object, draft.managed_fields.as_ref());
            chain.validate(Some(&whole), None).await?;
            self.warnings.append(&mut chain.warnings);
        }
        alongside.extend(self.accounting().account(None, Some(&draft.object)).await?);
        let conversions = &self.server.conversions;
        let next = Next::Put(conversions.to_stored(definition, draft).await?);
        Ok(Proposal { next, alongside })
    }

    /// Whether something else may have to be written with a new object.
    pub(super) fn writes_alongside(&self) -> bool {
        admission::allocates(&self.request.definition) || self.accounting().is_needed()
    }

    fn accounting(&self) -> Accounting<'_> {
        Accounting {
            server: self.server,
            request: self.request,
            part: self.part,
            taken: &self.taken,
        }
    }

    fn surroundings(&self, operation: Operation) -> Surroundings<'a> {
        Surroundings {
            server: self.server,
            request: self.request,
            operation,
        }
    }

    /// Those who are to be asked about this write; `None` if nobody is.
    fn chain(&self, operation: Operation, object: &Value) -> Option<Chain<'a>> {
        let Self {
            server,
            request,
            part,
            options,
            ..
        } = *self;
        let asked = || Asked {
            server,
            request,
            part,
            operation,
            name: metadata_text(object, "name").unwrap_or_default().to_owned(),
            options: told_options(operation, options),
            persistence: options.dry_run.into(),
        };
        server.interceptors.chain(asked, &request.definition)
    }

    /// Gives the object what only the cluster can give, and says what is written with it.
    async fn allocate(
        &self,
        before: Option<&Value>,
        next: &mut Value,
    ) -> Result<Vec<StoreOperation>, Status> {
        if !admission::allocates(&self.request.definition) {
            return Ok(Vec::new());
        }
        let allocation = Allocation {
            server: self.server,
            taken: &self.taken,
            persistence: self.options.dry_run.into(),
        };
        allocation.allocate(before, next).await
    }

    /// Lets the part of the path change what it may, keeps the rest, and checks the result.
    async fn settle_change(
        &mut self,
        current: &Current,
        mut draft: Revised,
    ) -> Result<Proposal, Status> {
        self.warnings.clear();
        let asked = self.mutate_change(&mut draft).await?;
        let alongside = self.complete_change(&mut draft).await?;
        self.check(&draft)?;
        if draft.is_touched && self.part == Part::Main {
            let surroundings = self.surroundings(Operation::Update);
            surroundings.check(Some(&draft.before.object), &draft.next)?;
        }
        if let Some((mut chain, old)) = asked {
            let whole = with_owners(&draft.next, draft.managed_fields.as_ref());
            chain.validate(Some(&whole), Some(&old)).await?;
            self.warnings.append(&mut chain.warnings);
        }
        self.conclude(current, draft, alongside).await
    }

    /// The next state as the client wants it, with the owners of its fields.
    fn revise(&self, current: &Current, change: Change<'_>) -> Revised {
        let Change {
            mut before,
            mut next,
            owners,
            is_filled,
        } = change;
        let definition = &self.request.definition;
        if let Value::Object(members) = &mut next {
            // Decoding fills in what an object of the kind always has.
            members.retain(|name, _| !before.untouched.iter().any(|(kept, _)| **kept == **name));
        }
        self.part
            .keep_the_rest(definition, &before.object, &mut next);
        let mut is_touched = differs(definition, &before.object, &next);
        if is_touched {
            make_whole(&mut before, &mut next);
        }
        if is_touched && !is_filled {
            admission::apply_defaults(definition, &mut next);
            is_touched = differs(definition, &before.object, &next);
        }
        carry_over(definition, &before.object, &mut next);
        let managed_fields = owners.settle_next(&before, &mut next);
        let version = current.revision.to_string();
        metadata_mut(&mut next).insert("resourceVersion".to_owned(), version.into());
        Revised {
            before,
            next,
            managed_fields,
            is_touched,
        }
    }

    /// Lets the cluster and everybody who is to be asked change it. Those are to be asked again
    /// whether it may be written, with what was there before.
    async fn mutate_change(
        &self,
        draft: &mut Revised,
    ) -> Result<Option<(Chain<'a>, Value)>, Status> {
        let Revised { before, next, .. } = draft;
        let definition = &self.request.definition;
        if draft.is_touched
            && self.part == Part::Main
            && admission::restore(definition, &before.object, next) == Restored::Something
        {
            carry_over(definition, &before.object, next);
            draft.is_touched = differs(definition, &before.object, next);
        }
        let Some(mut chain) = self.chain(Operation::Update, next) else {
            return Ok(None);
        };
        make_whole(before, next);
        let mut old = with_owners(&before.object, before.managed_fields.as_ref());
        old["metadata"]["resourceVersion"] = next["metadata"]["resourceVersion"].clone();
        let whole = with_owners(next, draft.managed_fields.as_ref());
        let mutated = chain.mutate(Some(whole), Some(&old)).await?;
        *next = without_owners(mutated.expect("an object was given"));
        self.part.keep_the_rest(definition, &before.object, next);
        carry_over(definition, &before.object, next);
        draft.is_touched = differs(definition, &before.object, next);
        Ok(Some((chain, old)))
    }

    /// Gives it what the cluster and its kind decide.
    async fn complete_change(&self, draft: &mut Revised) -> Result<Vec<StoreOperation>, Status> {
        let Revised { before, next, .. } = draft;
        let definition = &self.request.definition;
        let mut alongside = Vec::new();
        let is_main = self.part == Part::Main;
        if draft.is_touched && is_main && admission::allocates(definition) {
            alongside = self.allocate(Some(&before.object), next).await?;
            carry_over(definition, &before.object, next);
        }
        if draft.is_touched && is_main {
            admission::adjust(definition, &before.object, next);
        }
        if draft.is_touched && self.part == Part::Status {
            let now = self.server.settings.clock.now();
            admission::note_phase(definition, Some(&before.object), next, now);
        }
        Ok(alongside)
    }

    /// What becomes of the object, and of the usage of its namespace.
    async fn conclude(
        &self,
        current: &Current,
        revised: Revised,
        mut alongside: Vec<StoreOperation>,
    ) -> Result<Proposal, Status> {
        let Revised {
            before,
            mut next,
            managed_fields,
            is_touched,
        } = revised;
        let definition = &self.request.definition;
        metadata_mut(&mut next).remove("resourceVersion");
        let is_complete = deletion_is_complete(definition, &next);
        let accounting = self.accounting();
        let draft = Draft {
            object: next,
            managed_fields,
            untouched: before.untouched,
        };
        if is_complete {
            let mut proposal = removal(definition, current, draft);
            if accounting.is_needed() {
                let last = current.whole();
                let released = accounting.account(Some(&last), None).await?;
                proposal.alongside.extend(released);
            }
            return Ok(proposal);
        }
        if is_touched && accounting.is_needed() {
            let used = accounting.account(Some(&before.object), Some(&draft.object));
            alongside.extend(used.await?);
        }
        let conversions = &self.server.conversions;
        let next = Next::Put(conversions.to_stored(definition, draft).await?);
        Ok(Proposal { next, alongside })
    }

    /// Refuses a change that breaks the rules of the kind. What was valid stays valid, so that the
    /// kind's own rules are asked only about what changed beyond the metadata.
    fn check(&mut self, revised: &Revised) -> Result<(), Status> {
        let (before, next) = (&revised.before.object, &revised.next);
        let definition = &self.request.definition;
        let rules = definition.metadata_rules();
        let mut errors = rules.check_update(&next["metadata"], &before["metadata"]);
        if revised.is_touched {
            let change = kinds::Change { before, next };
            errors.extend(admission::judge_change(
                definition,
                self.part.rules(),
                change,
            ));
            let told = admission::change_warnings(definition, change);
            self.warnings.extend(told);
        }
        if errors.is_empty() {
            return Ok(());
        }
        let name = self.request.object_name();
        Err(Status::invalid(self.request.group_kind(), name, &errors))
    }
}

/// The end of an object, and of what it had from the cluster.
pub(super) fn removal(definition: &Definition, current: &Current, last: Draft) -> Proposal {
    let alongside = match admission::allocates(definition) {
        true => Allocation::release(&current.whole()),
        false => Vec::new(),
    };
    let next = Next::Remove(last);
    Proposal { next, alongside }
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
        && !deletion_looks_beyond_metadata(definition)
        && definition.conversion_webhook().is_none();
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

/// The object with the owners of its fields, of which text is known.
pub(super) fn with_owners(object: &Value, managed_fields: Option<&Bytes>) -> Value {
    let mut whole = object.clone();
    if let Some(text) = managed_fields {
        whole["metadata"]["managedFields"] = parse(text);
    }
    whole
}

fn without_owners(mut object: Value) -> Value {
    metadata_mut(&mut object).remove("managedFields");
    object
}

/// The options of a write as an object of their kind.
fn told_options(operation: Operation, options: &WriteOptions) -> Value {
    let kind = match operation {
        Operation::Create => "CreateOptions",
        Operation::Update => "UpdateOptions",
        Operation::Delete => "DeleteOptions",
    };
    let mut told = json!({"kind": kind, "apiVersion": "meta.k8s.io/v1"});
    if options.dry_run == DryRun::All {
        told["dryRun"] = json!(["All"]);
    }
    if let Some(manager) = &options.field_manager {
        told["fieldManager"] = json!(manager);
    }
    told["fieldValidation"] = json!(match options.field_validation {
        FieldValidation::Ignore => "Ignore",
        FieldValidation::Warn => "Warn",
        FieldValidation::Strict => "Strict",
    });
    told
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
