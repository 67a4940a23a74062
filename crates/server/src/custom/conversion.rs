//! Objects of custom kinds as their other versions show them, where a webhook has to be asked.
//!
//! Each state of an object is converted once for each version, whoever asks and however many:
//! those who come while it is under way wait for the same answer, those who come later find it.
//! No lock is held while anybody waits.

mod changes;
mod states;

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use bytes::Bytes;
use listwatch_api::{GroupResource, Status};
use listwatch_store::{Key, Revision};
use listwatch_structural::{Structural, conversion_review::Question};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::{sync::watch, time::timeout};

use crate::{
    registry::{ConversionWebhook, Definition},
    response::KeptMessages,
    server::Server,
    watch_cache::EncodingId,
};

pub(crate) use states::State;

/// How long a webhook may take to answer, and a question to be asked. Then whoever waits hears so.
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);

/// Bytes of objects that are sent together, unless a single one is longer. Further ones are sent
/// one after the other.
const QUESTION_BYTES_MAX: usize = 4 * 1024 * 1024;

/// What stands before the keys of objects, which messages leave out.
const STORE_PREFIX: &str = "/registry";

/// Asks webhooks to convert, and keeps what they answered. Of no cost while there are none.
#[derive(Default)]
pub(crate) struct Conversions {
    server: OnceLock<Weak<Server>>,
    kept: KeptMessages,
    under_way: Mutex<HashMap<Place, Waiting>>,
}

/// One state of one object in one version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    key: Key,
    revision: Revision,
    /// Tells this version, and who converts into it, from others.
    encoding: EncodingId,
}

/// What came of a question, for each object in it.
type Answers = HashMap<Place, Result<Bytes, Arc<str>>>;

/// Holds the answers once they are there.
type Waiting = watch::Receiver<Option<Arc<Answers>>>;

/// A stored object that nobody could convert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unconverted {
    key: Key,
    revision: Revision,
    why: String,
}

impl Unconverted {
    /// The failure of a list that it belongs to.
    pub(crate) fn of_list(&self, resource: GroupResource<'_>) -> Status {
        let key = String::from_utf8_lossy(self.key.as_bytes());
        Status::unconverted_list(resource, (&key, self.revision.get(), &self.why))
    }
}

impl From<Unconverted> for Status {
    fn from(failure: Unconverted) -> Self {
        let key = String::from_utf8_lossy(failure.key.as_bytes());
        let key = key.strip_prefix(STORE_PREFIX).unwrap_or(&key);
        Self::unconverted(key, failure.revision.get(), &failure.why)
    }
}

impl Conversions {
    /// Lets it ask in the name of this server.
    pub(crate) fn serve(&self, server: &Arc<Server>) {
        // A server is told of once, when it starts.
        let _ = self.server.set(Arc::downgrade(server));
    }

    fn server(&self) -> Result<Arc<Server>, String> {
        let server = self.server.get().and_then(Weak::upgrade);
        server.ok_or_else(|| "the server is shutting down".to_owned())
    }
}

/// Asks a webhook to make objects of this version, each as JSON and of another, of these.
async fn ask(
    server: &Server,
    webhook: &ConversionWebhook,
    target: &Definition,
    objects: &[&[u8]],
) -> Result<Vec<Result<Value, String>>, String> {
    let version = webhook.review_version();
    let question = Question {
        version: version.ok_or("no supported conversion review versions")?,
        uid: &server.settings.random.uuid(),
        desired: &target.api_version(),
        objects,
    };
    let place = webhook.target();
    let place = place.map_err(|why| question.unanswered(why))?;
    let seconds = ANSWER_PATIENCE.as_secs();
    let asking = async {
        let _turn = webhook.calls().acquire().await;
        let client = &server.webhook_client;
        client.call(server, place, question.encode(), seconds).await
    };
    let answer = timeout(ANSWER_PATIENCE, asking).await.unwrap_or_else(|_| {
        let url = place.url_with_timeout(seconds);
        Err(format!(
            "Post {url:?}: net/http: request canceled (Client.Timeout exceeded while awaiting \
             headers)"
        ))
    });
    let answer = answer.map_err(|why| {
        tracing::warn!("a webhook did not convert: {why}");
        question.unanswered(&why)
    })?;
    question.read(&answer, structural_of(target))
}

fn structural_of(definition: &Definition) -> Option<&Structural> {
    definition.custom.as_ref()?.structural.as_ref()
}

/// The name of the version in an `apiVersion`.
fn version_in(api_version: &str) -> &str {
    api_version
        .rsplit_once('/')
        .map_or(api_version, |(_, version)| version)
}
