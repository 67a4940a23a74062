//! GET of a collection as a stream: what there is, if asked, and then what happens.

mod web_socket;

use std::{sync::Arc, time::Duration};

use futures_util::stream;
use http::{HeaderValue, Response, header};
use listwatch_api::{Freshness, Status, WatchOptions, WatchStart};
use listwatch_store::Revision;
use tokio::time::Instant;

use super::list;
use crate::{
    access::WatchSlot,
    metrics::KindLabels,
    request::{PathForm, ResourceRequest},
    response::{
        self, Accepted, Beginning, Body, Bookmarks, Compressor, ConvertedWatch, Piece, WatchPlan,
        WatchStream, accepts_gzip,
    },
    server::Server,
    watch_cache::{Interest, KindCache},
};

/// Opens a stream of events.
pub(crate) async fn watch(
    server: &Arc<Server>,
    request: &ResourceRequest,
) -> Result<Response<Body>, Status> {
    let accept = response::negotiate_watch(server, request)?;
    let options = WatchOptions::parse(request.query.typed())?;
    let mut interest = watch_interest(request, &options)?;
    let cache = server.cache(&request.definition)?;
    let slot = server
        .open_watches
        .open(request.client)
        .ok_or_else(|| Status::too_many_requests(TOO_MANY_WATCHES, TOO_MANY_WATCHES_RETRY))?;
    let upgrade = match web_socket::requested(&request.headers) {
        Ok(upgrade) => upgrade,
        Err(code) => return Ok(response::bare(code)),
    };
    let conversion = conversion(server, (request, &accept), (&cache, &mut interest));
    let frames = match begin(&cache, &interest, options.start).await {
        Ok(beginning) => {
            let plan = WatchPlan {
                conversion,
                ..plan(server, &accept, &options)
            };
            let metrics = server.metrics.watch(&KindLabels::new(&request.definition));
            let signal = server.lifecycle.drain_signal();
            let stream = WatchStream::new(plan, beginning, interest, (signal, metrics));
            Frames::Watch(Box::new((stream, slot)))
        }
        // A watch is open before it knows; what is wrong with its start is its only event.
        Err(status) => Frames::Refused(Some(Piece::Whole(accept.format.error_frame(&status)))),
    };
    match upgrade {
        Some(upgrade) => Ok(upgrade.accept(accept.encoding(), frames)),
        None => {
            let content_type = accept.encoding().stream_type();
            Ok(http_stream(content_type, coding(request, &options), frames))
        }
    }
}

/// Who converts what is watched, where a webhook is asked. What is wanted of the objects may then
/// be known only when they are converted; until then, everything of their area is of interest.
fn conversion(
    server: &Server,
    (request, accept): (&ResourceRequest, &Accepted),
    (cache, interest): (&KindCache, &mut Interest),
) -> Option<Box<ConvertedWatch>> {
    let is_judged = accept.format.judges_converted(interest);
    if !is_judged && !accept.format.awaits_conversion() {
        return None;
    }
    let judge = is_judged.then(|| cache.judge(interest));
    if let Some(judge) = &judge {
        *interest = judge.everything();
    }
    let (conversions, definition) = (&server.conversions, &request.definition);
    let watch = ConvertedWatch::new(conversions, definition, judge);
    Some(Box::new(watch))
}

/// What a client hears that would open one watch too many.
const TOO_MANY_WATCHES: &str = "too many open watches, please try again later";
/// After how many seconds it may try again.
const TOO_MANY_WATCHES_RETRY: u32 = 10;

/// The longest life of a watch, whatever it asks for.
const LIFETIME_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The chunks of one stream, each of whole frames.
enum Frames {
    /// A watch, with its place among the open ones.
    Watch(Box<(WatchStream, WatchSlot)>),
    /// The one frame that says why there is none.
    Refused(Option<Piece>),
}

impl Frames {
    /// The next chunk; `None` after the last. Cancel safe.
    async fn next(&mut self) -> Option<Piece> {
        match self {
            Self::Watch(watch) => watch.0.next().await,
            Self::Refused(frame) => frame.take(),
        }
    }
}

/// The old paths name the object; a selector may not name another.
fn watch_interest(request: &ResourceRequest, options: &WatchOptions) -> Result<Interest, Status> {
    let selected = options.fields.exact("metadata.name");
    match (request.form, request.name.as_deref(), selected) {
        (PathForm::LegacyWatch, Some(name), Some(selected)) if name != selected => {
            let message = "fieldSelector metadata.name doesn't match requested name";
            Err(Status::bad_request(message))
        }
        _ => list::interest(request, options.labels.clone(), options.fields.clone()),
    }
}

/// Where a stream begins: with a state, or after a revision.
async fn begin(
    cache: &KindCache,
    interest: &Interest,
    start: WatchStart,
) -> Result<Beginning, Status> {
    let (snapshot, after) = match start {
        WatchStart::State { freshness } => {
            let snapshot = list::moment(cache, freshness).await?;
            let after = snapshot.revision();
            (Some(snapshot), after)
        }
        WatchStart::UnmarkedState => {
            let snapshot = cache.latest();
            let after = snapshot.revision();
            (Some(snapshot), after)
        }
        WatchStart::After(version) => (None, Revision::new(version.get())),
        WatchStart::Now => (
            None,
            list::moment(cache, Freshness::MostRecent).await?.revision(),
        ),
    };
    Ok(Beginning {
        snapshot,
        after,
        watcher: cache.watch(interest, after),
    })
}

fn plan(server: &Server, accept: &Accepted, options: &WatchOptions) -> WatchPlan {
    let bookmarks = match (options.allows_bookmarks, options.start) {
        (false, _) => Bookmarks::Off,
        (true, WatchStart::State { .. }) => Bookmarks::OnWithInitialEnd,
        (true, _) => Bookmarks::On,
    };
    let settings = &server.settings;
    let lifetime = options.timeout.unwrap_or_else(|| {
        let shortest = settings.watch_lifetime_min;
        settings.random.duration(shortest..shortest * 2)
    });
    WatchPlan {
        format: accept.format.clone(),
        conversion: None,
        bookmarks,
        bookmark_interval: settings.bookmark_interval,
        deadline: Instant::now() + lifetime.min(LIFETIME_MAX),
        clock: settings.clock.clone(),
    }
}

/// How the bytes of a stream travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Plain,
    /// Each chunk a gzip member of its own, so that none waits for the next.
    Gzip,
}

/// Streams that begin with much state are compressed for those who can read it.
fn coding(request: &ResourceRequest, options: &WatchOptions) -> Coding {
    let begins_with_state = matches!(options.start, WatchStart::State { .. });
    if begins_with_state && options.allows_bookmarks && accepts_gzip(&request.headers) {
        Coding::Gzip
    } else {
        Coding::Plain
    }
}

fn http_stream(content_type: &'static str, coding: Coding, frames: Frames) -> Response<Body> {
    let chunks = stream::unfold(frames, move |mut frames| async move {
        let chunk = frames.next().await?;
        let chunk = match coding {
            Coding::Plain => chunk,
            Coding::Gzip => Piece::Whole(Compressor::member(&chunk.into_bytes()).into()),
        };
        Some((chunk, frames))
    });
    let mut response = Response::new(Body::pieces(chunks));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    if coding == Coding::Gzip {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    }
    response
}
