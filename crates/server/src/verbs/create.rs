//! POST: a new object gets a name, an identity and a place in the store.

use std::{pin::Pin, sync::Arc};

use bytes::Bytes;
use http::{Response, StatusCode};
use listwatch_api::{
    Reason, Status,
    metadata::generate_name,
    object::Draft,
    write_options::{DryRun, WriteOptions},
};
use serde_json::{Value, json};

use super::{
    part::Part,
    pod_actions, review,
    submitted::{self, Submitted},
    writer::{WhenMissing, Writer},
};
use crate::{
    admission::{self, Home},
    commit::{
        Changed, NO_VIEWS, Owners, Settled, Stored, Trust, metadata_mut, metadata_text, stamp_new,
    },
    custom,
    registry::{Persistence as Kept, StatusWriting},
    request::ResourceRequest,
    response::{self, Body},
    server::Server,
};

/// How many generated names are tried before the client is told that none was free.
const GENERATED_NAMES_MAX: usize = 8;

/// Creates the object that a body describes.
pub(crate) async fn create(
    server: &Arc<Server>,
    request: &ResourceRequest,
    body: Bytes,
) -> Result<Response<Body>, Status> {
    let accept = response::negotiate(server, request)?;
    let options = WriteOptions::create(request.query.typed())?;
    let posted = Posted::of(request)?;
    let Submitted {
        object,
        mut warnings,
    } = submitted::decode(server, request, &body, options.field_validation)?;
    let created = match posted {
        Posted::Question => {
            let tracker = submitted::field_tracker(server, (request, &options), &NO_VIEWS);
            let question = (Owners::Changers(&tracker), object);
            aside(|| review::answer(server, request, question)).await?
        }
        Posted::Binding => {
            let binding = (object, &options);
            let done = aside(|| pod_actions::bind(server, request, binding)).await?;
            return Ok(accept.status(&done));
        }
        Posted::Eviction => {
            let eviction = (object, &options);
            let done = aside(|| pod_actions::evict(server, request, eviction)).await?;
            return Ok(accept.status(&done));
        }
        Posted::Object => {
            refuse_foreign_claims(request, &object)?;
            custom::refuse_new(request, &object)?;
            let told = (&options, &mut warnings);
            aside(|| insert(server, request, object, told)).await?
        }
    };
    let (conversions, dry_run) = (&server.conversions, options.dry_run);
    let created = conversions
        .told(request, &accept.format, created, dry_run)
        .await?;
    Ok(accept.changed(
        server,
        (Part::Main, &created),
        StatusCode::CREATED,
        &warnings,
    ))
}

/// A future on the heap, made elsewhere, so that whoever reads bodies has the stack for it.
#[inline(never)]
fn aside<'a, F: Future + Send + 'a>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::pin(make())
}

/// What is posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Posted {
    /// An object that is to be.
    Object,
    /// A question that is answered and not stored.
    Question,
    /// The node of a pod.
    Binding,
    /// The wish that a pod goes.
    Eviction,
}

impl Posted {
    fn of(request: &ResourceRequest) -> Result<Self, Status> {
        match (
            request.subresource.as_deref(),
            &*request.definition.resource,
        ) {
            (None, "bindings") | (Some("binding"), "pods") => Ok(Self::Binding),
            (Some("eviction"), "pods") => Ok(Self::Eviction),
            (None, _) if request.definition.persistence == Kept::Answered => Ok(Self::Question),
            (None, _) => Ok(Self::Object),
            (Some("token"), _) => Ok(Self::Question),
            (Some(_), _) => Err(Status::unknown_resource()),
        }
    }
}

/// A new object has no version yet, and belongs where the path says.
pub(super) fn refuse_foreign_claims(
    request: &ResourceRequest,
    object: &Value,
) -> Result<(), Status> {
    if submitted::seen_version(object).is_some() {
        let message = "resourceVersion should not be set on objects to be created";
        return Err(Status::bad_request(message));
    }
    submitted::refuse_other_namespace(request, object)
}

/// Names, stamps, checks and stores a new object.
async fn insert(
    server: &Server,
    request: &ResourceRequest,
    object: Value,
    (options, warnings): (&WriteOptions, &mut Vec<String>),
) -> Result<Changed, Status> {
    let trust = match options.dry_run {
        DryRun::Off => Trust::Stale,
        DryRun::All => Trust::Fresh,
    };
    let submitted_name = metadata_text(&object, "name").unwrap_or_default();
    let home = admission::find_home(server, request, submitted_name, trust).await?;
    let tracker = submitted::field_tracker(server, (request, options), &NO_VIEWS);
    let mut draft = own(server, request, &Owners::Changers(&tracker), object);
    let part = (request, Part::Main);
    let mut writer = Writer::new(server, part, WhenMissing::Created, options);
    writer.mutate_new(&mut draft).await?;
    let mut place = Place {
        writer,
        home,
        told: warnings,
    };
    let base = match (
        metadata_text(&draft.object, "name"),
        metadata_text(&draft.object, "generateName"),
    ) {
        (None, Some(base)) => base.to_owned(),
        _ => return place.put_new(draft).await,
    };
    let mut attempt = 1;
    loop {
        let generated = generate_name(&base, |bound| server.settings.random.below(bound));
        metadata_mut(&mut draft.object).insert("name".to_owned(), json!(generated));
        match place.put_new(draft.clone()).await {
            Err(status) if is_taken(&status) && attempt < GENERATED_NAMES_MAX => attempt += 1,
            Err(status) if is_taken(&status) => {
                let resource = request.group_resource();
                return Err(Status::generate_name_conflict(resource, &generated));
            }
            done => return done,
        }
    }
}

fn is_taken(status: &Status) -> bool {
    status.reason == Some(Reason::AlreadyExists)
}

/// Gives a new object what leaving it out means, and writes down who owns what.
pub(super) fn own(
    server: &Server,
    request: &ResourceRequest,
    owners: &Owners<'_>,
    mut object: Value,
) -> Draft {
    let definition = &request.definition;
    let metadata = metadata_mut(&mut object);
    metadata.remove("resourceVersion");
    if let Some(namespace) = &request.namespace {
        metadata.insert("namespace".to_owned(), json!(namespace));
    }
    reset_status(server, request, &mut object);
    admission::apply_defaults(definition, &mut object);
    let managed_fields = owners.settle_new(&mut object);
    Draft {
        object,
        managed_fields,
        ..Draft::default()
    }
}

/// Takes the status out of a new object whose kind keeps it apart.
pub(super) fn reset_status(server: &Server, request: &ResourceRequest, object: &mut Value) {
    let definition = &request.definition;
    if definition.status == StatusWriting::Separate {
        server.registry.reset_status(definition, object);
    }
}

/// Gives a new object everything that the server decides.
pub(super) fn begin(server: &Server, request: &ResourceRequest, object: &mut Value) {
    let definition = &request.definition;
    let settings = &server.settings;
    let namespace = request.namespace.as_deref();
    stamp_new(
        definition,
        object,
        namespace,
        (&settings.clock, &settings.random),
    );
    admission::begin_life(definition, object);
    admission::note_phase(definition, None, object, settings.clock.now());
}

/// Refuses a new object that breaks the rules of its kind.
pub(super) fn check(request: &ResourceRequest, object: &Value) -> Result<(), Status> {
    let definition = &request.definition;
    let rules = definition.metadata_rules();
    let mut errors = rules.check_create(&object["metadata"]);
    errors.extend(admission::judge_new(definition, object));
    if errors.is_empty() {
        return Ok(());
    }
    let name = metadata_text(object, "name").unwrap_or_default();
    Err(Status::invalid(request.group_kind(), name, &errors))
}

/// Where new objects of a request go.
struct Place<'a> {
    writer: Writer<'a>,
    home: Option<Home<'a>>,
    told: &'a mut Vec<String>,
}

impl Place<'_> {
    async fn put_new(&mut self, mut draft: Draft) -> Result<Changed, Status> {
        let Writer {
            server, request, ..
        } = self.writer;
        let name = metadata_text(&draft.object, "name").unwrap_or_default();
        let name = &name.to_owned();
        let destination = server.destination(request, name, self.writer.options.dry_run.into())?;
        let mut writing = server.committer.begin_new(&destination).await?;
        loop {
            if !matches!(writing.stored(), Stored::Absent) {
                return Err(Status::already_exists(request.group_resource(), name));
            }
            // Whoever is tried once only needs no copy.
            let tried = match self.writer.writes_alongside() {
                true => draft.clone(),
                false => std::mem::take(&mut draft),
            };
            let proposal = self.writer.settle_draft(tried).await;
            // Whether there is a home at all is said before anything else is refused.
            if let (Err(_), Some(home)) = (&proposal, &mut self.home) {
                home.confirm(server).await?;
            }
            match writing.settle(self.home.as_ref(), proposal).await? {
                Settled::Done(changed) => {
                    self.told.append(&mut self.writer.warnings);
                    server.take_effect(&request.definition).await?;
                    self.writer.observe(&changed).await;
                    return Ok(changed);
                }
                Settled::Again => {}
                Settled::Elsewhere(key) => drop(self.writer.taken.insert(key)),
            }
        }
    }
}
