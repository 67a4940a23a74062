//! Answers in the form that the client accepts.

use futures_util::stream;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use listwatch_api::{
    ResourceVersion, Status,
    media_type::{Answer, BODY_TYPES, Encoding, Layout, Origin, Representation, Transform},
    object::{StoredObject, to_canonical},
    yaml,
};
use serde_json::Value;

use super::{
    body::Body,
    cbor_items,
    compress::{Compressor, accepts_gzip},
    failure::preferences,
    format::Format,
    indent::{Indenter, indented},
    list_stream::{Beginning, ListPage, ListStream},
    messages,
};
use crate::{
    commit::{Changed, parse},
    metrics::KindLabels,
    registry::{Definition, Persistence, Verb},
    request::ResourceRequest,
    server::Server,
    verbs::{Part, scale_of},
    watch_cache::{CachedObject, resource_version},
};

/// Answers of at most this size are sent as they are: compressing them costs more than it saves.
const COMPRESSED_BYTES_MIN: usize = 128 * 1024;

/// Pieces of a large list that are made before others get their turn: some hundred microseconds,
/// when the client takes them as fast. Each turn costs two or three system calls.
const PIECES_PER_TURN: usize = 4;

/// Warnings in one answer; some clients read no more than a hundred headers. The rest is not told.
const WARNINGS_MAX: usize = 50;

/// Bytes of these warnings.
const WARNING_BYTES_MAX: usize = 4096;

/// The form of the answer to one request.
pub(crate) struct Accepted {
    representation: Representation,
    takes_gzip: bool,
    pub(crate) format: Format,
}

/// The form of an answer about one object.
pub(crate) fn negotiate(server: &Server, request: &ResourceRequest) -> Result<Accepted, Status> {
    Accepted::new(server, request, Answer::Object)
}

/// The form of an answer about a collection.
pub(crate) fn negotiate_list(
    server: &Server,
    request: &ResourceRequest,
) -> Result<Accepted, Status> {
    Accepted::new(server, request, Answer::List)
}

/// The form of a stream.
pub(crate) fn negotiate_watch(
    server: &Server,
    request: &ResourceRequest,
) -> Result<Accepted, Status> {
    Accepted::new(server, request, Answer::Watch)
}

/// Whether a kind is asked and answered, and never listed.
fn is_question(definition: &Definition) -> bool {
    definition.persistence == Persistence::Answered && !definition.verbs.contains(&Verb::List)
}

impl Accepted {
    fn new(server: &Server, request: &ResourceRequest, answer: Answer) -> Result<Self, Status> {
        let preferences = preferences(&request.headers, &request.query);
        let origin = match request.subresource.as_deref() {
            // Whatever is scaled, its scale is of a kind that is always there.
            Some("scale") => Origin::BuiltIn,
            _ => request.definition.origin(),
        };
        let representation = preferences.negotiate(answer, origin)?;
        let is_table = matches!(representation.transform, Transform::Table { .. });
        if is_table && is_question(&request.definition) {
            // An answer to a question has nothing that a row could show.
            return Err(Status::not_acceptable(&BODY_TYPES));
        }
        let (registry, definition) = (&server.registry, &request.definition);
        let mut format = Format::new(registry, definition, representation.transform);
        if answer != Answer::Object {
            let encoded = encoded(format, representation.encoding, server);
            format = encoded.ok_or_else(|| Status::not_acceptable(&BODY_TYPES))?;
        }
        Ok(Self {
            representation,
            takes_gzip: accepts_gzip(&request.headers),
            format,
        })
    }

    /// The syntax of the answer.
    pub(crate) fn encoding(&self) -> Encoding {
        self.representation.encoding
    }

    /// An answer with an object as it is, or the part of it that was asked for.
    pub(crate) fn state(
        &self,
        server: &Server,
        (part, object): (Part, &CachedObject),
    ) -> Response<Body> {
        let is_kept = matches!(self.encoding(), Encoding::Protobuf | Encoding::Cbor);
        if is_kept && part != Part::Scale {
            let format = encoded(self.format.clone(), self.encoding(), server);
            let body = format.and_then(|format| format.kept_body(object));
            if let Some(body) = body {
                return self.whole(body, StatusCode::OK);
            }
        }
        let version = resource_version(object.revision());
        let shown = (part, object.stored());
        self.object(server, shown, Some(version), StatusCode::OK)
    }

    /// An answer with one stored object, or the part of it that was asked for.
    pub(crate) fn object(
        &self,
        server: &Server,
        (part, object): (Part, &StoredObject),
        version: Option<ResourceVersion>,
        code: StatusCode,
    ) -> Response<Body> {
        let now = server.settings.clock.now();
        let mut buffer = Vec::with_capacity(object.appended_len());
        match (part, version) {
            (Part::Scale, version) => {
                let scale = scale_of(self.format.definition(), &parse(object.value()));
                let scale = StoredObject::scan(to_canonical(&scale).into(), &[])
                    .expect("canonical bytes are what the scanner reads");
                let version = version.unwrap_or(ResourceVersion::new(0));
                self.format
                    .for_scale()
                    .object(&scale, version, now, &mut buffer);
            }
            (_, Some(version)) => self.format.object(object, version, now, &mut buffer),
            (_, None) => self.format.unstored_object(object, now, &mut buffer),
        }
        self.answer(buffer, code)
    }

    /// An answer with what a write has made of an object.
    pub(crate) fn changed(
        &self,
        server: &Server,
        (part, changed): (Part, &Changed),
        code: StatusCode,
        warnings: &[String],
    ) -> Response<Body> {
        let version = changed.revision.map(resource_version);
        let mut response = self.object(server, (part, &changed.object), version, code);
        for warning in told(warnings) {
            warn(&mut response, warning);
        }
        response
    }

    /// An answer with a `Status` that is not a failure.
    pub(crate) fn status(&self, status: &Status) -> Response<Body> {
        let body = serde_json::to_vec(status).expect("a Status is JSON");
        let code = status.code.and_then(|code| StatusCode::from_u16(code).ok());
        self.answer(body, code.unwrap_or(StatusCode::OK))
    }

    /// An answer with a list, which is made while it is sent.
    pub(crate) async fn list(
        &self,
        server: &Server,
        request: &ResourceRequest,
        page: ListPage,
    ) -> Result<Response<Body>, Status> {
        let page = match self.format.awaits_conversion() {
            true => {
                let definition = &request.definition;
                let page = page.converted(&server.conversions, definition);
                let page = Box::pin(page).await;
                page.map_err(|failure| failure.of_list(request.group_resource()))?
            }
            false => page,
        };
        let beginning = page.measure(&self.format).await?;
        let is_text = matches!(beginning, Beginning::Text);
        let now = server.settings.clock.now();
        let counter = server.metrics.listed(&KindLabels::new(&request.definition));
        let (mut stream, mut first) =
            ListStream::begin(page, &self.format, beginning, (now, counter));
        if is_text && self.encoding() != Encoding::Json {
            while let Some(piece) = stream.next() {
                first.extend(piece);
            }
        }
        Ok(match (stream.is_complete(), is_text) {
            (false, _) => self.stream(first, stream),
            (true, false) => self.whole(first, StatusCode::OK),
            (true, true) => self.answer(first, StatusCode::OK),
        })
    }

    fn stream(&self, first: Vec<u8>, stream: ListStream) -> Response<Body> {
        let compressor = self.takes_gzip.then(Compressor::new);
        let is_indented = self.representation.layout == Layout::Indented
            && self.representation.encoding == Encoding::Json;
        let indenter = is_indented.then(Indenter::default);
        let pieces = Pieces {
            first: Some(first),
            stream,
            indenter,
            compressor,
            made: 0,
        };
        let body = Body::stream(stream::unfold(pieces, |mut pieces| async move {
            let piece = pieces.next()?;
            if pieces.made.is_multiple_of(PIECES_PER_TURN) {
                tokio::task::yield_now().await;
            }
            Some((piece.into(), pieces))
        }));
        let mut response = Response::new(body);
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static(self.representation.encoding.content_type()),
        );
        if self.takes_gzip {
            announce_gzip(headers);
        }
        response
    }

    /// A whole JSON document in the accepted form.
    fn answer(&self, json: Vec<u8>, code: StatusCode) -> Response<Body> {
        let failed = StatusCode::INTERNAL_SERVER_ERROR;
        match self.encoding() {
            Encoding::Json | Encoding::Yaml => self.whole(encode(self.representation, json), code),
            Encoding::Protobuf => match self.format.protobuf_document(&json) {
                Ok(bytes) => self.whole(bytes, code),
                Err(status) => self.whole(messages::status_document(&status), failed),
            },
            Encoding::Cbor => match self.format.cbor_document(&json) {
                Ok(bytes) => self.whole(bytes, code),
                Err(status) => self.whole(cbor_items::status_document(&status), failed),
            },
        }
    }

    /// A whole document that is in its form already.
    fn whole(&self, mut bytes: Vec<u8>, code: StatusCode) -> Response<Body> {
        let is_compressed = self.takes_gzip && bytes.len() > COMPRESSED_BYTES_MIN;
        if is_compressed {
            bytes = Compressor::member(&bytes);
        }
        let mut response = Response::new(Body::Whole(bytes.into()));
        *response.status_mut() = code;
        let content_type = HeaderValue::from_static(self.representation.encoding.content_type());
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, content_type);
        if is_compressed {
            announce_gzip(headers);
        }
        response
    }
}

/// The format for lists, events and kept objects in this syntax; `None` if there is no such form.
fn encoded(format: Format, encoding: Encoding, server: &Server) -> Option<Format> {
    match encoding {
        Encoding::Json | Encoding::Yaml => Some(format),
        Encoding::Protobuf => format.in_protobuf(&server.kept_messages),
        Encoding::Cbor => Some(format.in_cbor(&server.kept_messages)),
    }
}

/// Tells a client something beside its answer. What a header cannot say is left out; what was
/// asked for has happened.
pub(crate) fn warn(response: &mut Response<Body>, warning: &str) {
    if let Ok(text) = HeaderValue::from_bytes(format!("299 - {warning:?}").as_bytes()) {
        response.headers_mut().append(header::WARNING, text);
    }
}

/// The first of the warnings, as many as clients can be expected to read.
fn told(warnings: &[String]) -> impl Iterator<Item = &String> {
    let mut bytes = 0;
    warnings
        .iter()
        .take(WARNINGS_MAX)
        .take_while(move |warning| {
            bytes += warning.len();
            bytes <= WARNING_BYTES_MAX
        })
}

fn announce_gzip(headers: &mut HeaderMap) {
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
}

/// A list on its way: made, indented for people, compressed for networks.
struct Pieces {
    first: Option<Vec<u8>>,
    stream: ListStream,
    indenter: Option<Indenter>,
    compressor: Option<Compressor>,
    made: usize,
}

impl Pieces {
    /// The next piece to send; `None` after the last.
    fn next(&mut self) -> Option<Vec<u8>> {
        self.made += 1;
        loop {
            let Some(mut piece) = self.first.take().or_else(|| self.stream.next()) else {
                return self.compressor.take().map(Compressor::finish);
            };
            if let Some(indenter) = &mut self.indenter {
                let mut indented = Vec::with_capacity(piece.len() * 2);
                indenter.push(&piece, &mut indented);
                piece = indented;
            }
            if let Some(compressor) = &mut self.compressor {
                piece = compressor.push(&piece);
            }
            if !piece.is_empty() {
                return Some(piece);
            }
        }
    }
}

/// A JSON document as text in the form that was chosen.
pub(super) fn encode(representation: Representation, json: Vec<u8>) -> Vec<u8> {
    match (representation.encoding, representation.layout) {
        (Encoding::Yaml, _) => {
            let value: Value = serde_json::from_slice(&json).expect("answers are made as JSON");
            yaml::encode(&value).into_bytes()
        }
        (_, Layout::Compact) => {
            let mut line = json;
            line.push(b'\n');
            line
        }
        (_, Layout::Indented) => indented(&json),
    }
}
