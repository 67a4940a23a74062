//! POST: a new object gets a name, an identity and a place in the store.

use std::sync::Arc;

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
    review,
    submitted::{self, Submitted},
};
use crate::{
    admission::{self, Home},
    commit::{
        Changed, Next, Owners, Persistence, Settled, Stored, Trust, metadata_mut, metadata_text,
        stamp_new,
    },
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
    if request.subresource.is_some() {
        return Err(Status::unknown_resource());
    }
    let Submitted {
        object,
        mut warnings,
    } = submitted::decode(server, request, &body, options.field_validation)?;
    let created = match request.definition.persistence {
        Kept::Answered => review::answer(server, request, object)?,
        Kept::Stored => {
            refuse_foreign_claims(request, &object)?;
            insert(server, request, object, (&options, &mut warnings)).await?
        }
    };
    Ok(accept.changed(
        server,
        (Part::Main, &created),
        StatusCode::CREATED,
        &warnings,
    ))
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
    let tracker = submitted::field_tracker(server, request, options);
    let mut draft = prepare(server, request, &Owners::Changers(&tracker), object);
    warnings.extend(admission::warnings(&request.definition, &draft.object));
    let mut place = Place {
        server,
        request,
        home,
        persistence: options.dry_run.into(),
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

/// Gives a new object everything that the server decides.
pub(super) fn prepare(
    server: &Server,
    request: &ResourceRequest,
    owners: &Owners<'_>,
    mut object: Value,
) -> Draft {
    let definition = &request.definition;
    metadata_mut(&mut object).remove("resourceVersion");
    let settings = &server.settings;
    let namespace = request.namespace.as_deref();
    stamp_new(
        definition,
        &mut object,
        namespace,
        (&settings.clock, &settings.random),
    );
    if definition.status == StatusWriting::Separate {
        server.registry.reset_status(definition, &mut object);
    }
    admission::apply_defaults(definition, &mut object);
    let managed_fields = owners.settle_new(&mut object);
    admission::begin_life(definition, &mut object);
    Draft {
        object,
        managed_fields,
        ..Draft::default()
    }
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
    server: &'a Server,
    request: &'a ResourceRequest,
    home: Option<Home<'a>>,
    persistence: Persistence,
}

impl Place<'_> {
    async fn put_new(&mut self, draft: Draft) -> Result<Changed, Status> {
        let (server, request) = (self.server, self.request);
        if let Err(refusal) = check(request, &draft.object) {
            // Whether there is a home at all is said first.
            if let Some(home) = &mut self.home {
                home.confirm(server).await?;
            }
            return Err(refusal);
        }
        let name = metadata_text(&draft.object, "name").unwrap_or_default();
        let name = &name.to_owned();
        let destination = server.destination(request, name, self.persistence)?;
        let taken = || Status::already_exists(request.group_resource(), name);
        let mut writing = server.committer.begin_new(&destination).await?;
        if !matches!(writing.stored(), Stored::Absent) {
            return Err(taken());
        }
        let proposal = Next::Put(draft).into();
        let home = self.home.as_ref();
        match writing.settle(home, Ok(proposal)).await? {
            Settled::Done(changed) => Ok(changed),
            Settled::Again => Err(taken()),
        }
    }
}
