//! An object as other versions of its kind show it, where a webhook has to convert it.
//!
//! Who owns what is found without waiting. What is lacking for it is noted, and fetched by whoever
//! can wait; then it is found out again, with what is known by then.

use std::{borrow::Cow, sync::Arc};

use listwatch_api::{Status, object::to_canonical};
use parking_lot::Mutex;
use serde_json::Value;

use crate::{
    custom::Conversions,
    registry::{Definition, Registry},
};

/// How often what is lacking is fetched for one change. Each time something else is found out, of
/// which there are few steps.
const ROUNDS_MAX: usize = 8;

/// What becomes of a change when other versions cannot be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unseen {
    /// The owners stay as they are.
    LetBe,
    /// It is refused.
    Refused,
}

/// The objects of one request in the other versions of their kind.
pub(crate) struct Views {
    /// The served versions; none where nobody has to convert.
    versions: Vec<Arc<Definition>>,
    unseen: Unseen,
    state: Mutex<State>,
}

struct State {
    known: Vec<View>,
    lacking: Vec<Wanted>,
    progress: Progress,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    GoingOn,
    GivenUp,
}

/// An object, by its canonical bytes, as a version shows it.
struct View {
    object: Vec<u8>,
    version: Box<str>,
    shown: Value,
}

struct Wanted {
    object: Value,
    version: Box<str>,
}

/// Those of objects that nobody has to convert.
pub(crate) static NO_VIEWS: Views = Views::of(Vec::new(), Unseen::LetBe);

impl Views {
    const fn of(versions: Vec<Arc<Definition>>, unseen: Unseen) -> Self {
        Self {
            versions,
            unseen,
            state: Mutex::new(State {
                known: Vec::new(),
                lacking: Vec::new(),
                progress: Progress::GoingOn,
            }),
        }
    }

    /// Those of objects of this kind.
    pub(crate) fn new(registry: &Registry, definition: &Definition, unseen: Unseen) -> Self {
        let versions = match definition.conversion_webhook() {
            Some(_) => registry.versions(definition),
            None => Vec::new(),
        };
        Self::of(versions, unseen)
    }

    /// Whether a webhook has to convert.
    pub(super) fn is_needed(&self) -> bool {
        !self.versions.is_empty()
    }

    /// The kind in this version, if it is served.
    pub(super) fn version(&self, api_version: &str) -> Option<&Definition> {
        let mut versions = self.versions.iter();
        let found = versions.find(|it| it.api_version() == api_version);
        found.map(|found| &**found)
    }

    /// An object as a version shows it. While that is not known, it is given as it is.
    pub(super) fn show<'a>(&self, definition: &Definition, object: &'a Value) -> Cow<'a, Value> {
        let version = definition.api_version();
        if object["kind"].is_null() || object["apiVersion"] == *version {
            return Cow::Borrowed(object);
        }
        let bytes = to_canonical(object);
        let mut state = self.state.lock();
        let mut known = state.known.iter();
        let known = known.find(|view| *view.version == *version && view.object == bytes);
        if let Some(view) = known {
            return Cow::Owned(view.shown.clone());
        }
        let is_wanted = |it: &Wanted| *it.version == *version && it.object == *object;
        if !state.lacking.iter().any(is_wanted) {
            state.lacking.push(Wanted {
                object: object.clone(),
                version: version.into(),
            });
        }
        Cow::Borrowed(object)
    }

    /// Whether something was looked for that is not known.
    pub(crate) fn lacks_some(&self) -> bool {
        !self.state.lock().lacking.is_empty()
    }

    /// Whether other versions cannot be seen, so that nobody can say who owns what now.
    pub(super) fn are_given_up(&self) -> bool {
        self.is_needed() && self.state.lock().progress == Progress::GivenUp
    }

    /// Fetches what was looked for.
    pub(crate) async fn fetch(
        &self,
        conversions: &Conversions,
        round: usize,
    ) -> Result<(), Status> {
        let lacking = std::mem::take(&mut self.state.lock().lacking);
        for Wanted { object, version } in lacking {
            let Some(definition) = self.version(&version) else {
                continue;
            };
            let shown = match round > ROUNDS_MAX {
                true => Err("it looks different each time that it is converted".to_owned()),
                false => conversions.restated(definition, &object).await,
            };
            match (shown, self.unseen) {
                (Ok(shown), _) => {
                    let view = View {
                        object: to_canonical(&object),
                        version,
                        shown: shown.into_owned(),
                    };
                    self.state.lock().known.push(view);
                }
                (Err(why), Unseen::Refused) => return Err(Status::unclassified(why)),
                (Err(why), Unseen::LetBe) => {
                    tracing::warn!("the owners of fields are left as they are: {why}");
                    self.state.lock().progress = Progress::GivenUp;
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
