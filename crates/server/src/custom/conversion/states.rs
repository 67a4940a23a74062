//! What is stored, as a version shows it: for those who read.

use std::sync::Arc;

use bytes::Bytes;
use listwatch_api::object::{StoredObject, to_canonical};
use listwatch_store::{Key, Revision};
use tokio::sync::watch;

use super::{
    Answers, Conversions, Place, QUESTION_BYTES_MAX, Unconverted, Waiting, ask, version_in,
};
use crate::{
    registry::{ConversionWebhook, CustomKind, Definition},
    response::Identity,
    server::Server,
    watch_cache::{CachedObject, EncodingId, KindCache},
};

/// A stored state of an object.
#[derive(Clone, Copy)]
pub(crate) struct State<'a> {
    /// Its key.
    pub(crate) key: &'a Key,
    /// The revision that wrote it.
    pub(crate) revision: Revision,
    /// Its canonical bytes.
    pub(crate) stored: &'a StoredObject,
}

impl<'a> From<&'a CachedObject> for State<'a> {
    fn from(object: &'a CachedObject) -> Self {
        Self {
            key: object.key(),
            revision: object.revision(),
            stored: object.stored(),
        }
    }
}

/// How objects are shown by a version, as its definition says now.
struct Rules {
    kind: Arc<CustomKind>,
    target: Arc<Definition>,
    webhook: Arc<ConversionWebhook>,
    cache: KindCache,
    encoding: EncodingId,
}

/// An object that has to be sent.
struct Sent {
    place: Place,
    text: Bytes,
}

/// Who asked for what is under way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asker {
    Here,
    /// Somebody else, with other objects in the same question, whose failure may not be ours.
    Elsewhere,
}

impl Conversions {
    /// Objects of a kind as a version of it shows them, in their order.
    pub(crate) async fn objects(
        self: &Arc<Self>,
        definition: &Arc<Definition>,
        mut objects: Vec<Arc<CachedObject>>,
    ) -> Result<Vec<Arc<CachedObject>>, Unconverted> {
        let states: Vec<State<'_>> = objects.iter().map(|it| State::from(&**it)).collect();
        let shown = self.states(definition, &states).await?;
        for (object, shown) in objects.iter_mut().zip(shown) {
            if let Some(shown) = shown {
                *object = Arc::new(object.shown_as(shown));
            }
        }
        Ok(objects)
    }

    /// States of objects of a kind as a version of it shows them, in their order; `None` for those
    /// that are shown as they are stored.
    pub(crate) async fn states(
        self: &Arc<Self>,
        definition: &Arc<Definition>,
        states: &[State<'_>],
    ) -> Result<Vec<Option<StoredObject>>, Unconverted> {
        let own_version = definition.api_version();
        let rules = self.rules(definition);
        let mut shown = Vec::with_capacity(states.len());
        let mut open = Vec::new();
        for (number, state) in states.iter().enumerate() {
            let failed = |why: String| unconverted(state, why);
            shown.push(None);
            if state.stored.api_version() == own_version {
                let custom = definition.custom.as_ref();
                shown[number] = custom.and_then(|it| it.shown(state.stored, state.revision));
                continue;
            }
            let rules = rules.as_ref().map_err(|why| failed(why.clone()))?;
            match self.find(rules, state) {
                Some(found) => shown[number] = Some(rules.scan(found).map_err(failed)?),
                None => {
                    let sent = rules.prepare(state).map_err(failed)?;
                    open.push((number, sent));
                }
            }
        }
        let Some(rules) = rules.ok().filter(|_| !open.is_empty()) else {
            return Ok(shown);
        };
        let rules = Arc::new(rules);
        // Boxed, so that whoever needs no conversion does not carry about the room for it.
        let answers = Box::pin(self.fetch(&rules, &open)).await;
        for ((number, _), answer) in open.iter().zip(answers) {
            let failed = |why: String| unconverted(&states[*number], why);
            let converted = answer.map_err(|why| failed(why.to_string()))?;
            shown[*number] = Some(rules.scan(converted).map_err(failed)?);
        }
        Ok(shown)
    }

    fn rules(&self, definition: &Arc<Definition>) -> Result<Rules, String> {
        let server = self.server()?;
        let gone = || "the kind is no longer served".to_owned();
        let kinds = server.registry.custom();
        let kind = kinds.kind(&definition.group, &definition.resource);
        let kind = Arc::clone(kind.ok_or_else(gone)?);
        let target = kind.in_version(&definition.version).unwrap_or(definition);
        let webhook = target.conversion_webhook();
        let webhook = webhook.or(definition.conversion_webhook());
        let custom = target.custom.as_ref().ok_or_else(gone)?;
        Ok(Rules {
            encoding: EncodingId::new(custom.identity()),
            webhook: Arc::clone(webhook.ok_or_else(gone)?),
            target: Arc::clone(target),
            cache: server.cache(definition).map_err(|_| gone())?,
            kind,
        })
    }

    /// What was converted before.
    fn find(&self, rules: &Rules, state: &State<'_>) -> Option<Bytes> {
        self.kept.get(&Identity {
            key: state.key,
            revision: state.revision,
            encoding: rules.encoding,
        })
    }

    /// What these objects are converted to, in their order.
    async fn fetch(
        self: &Arc<Self>,
        rules: &Arc<Rules>,
        open: &[(usize, Sent)],
    ) -> Vec<Result<Bytes, Arc<str>>> {
        let sent: Vec<&Sent> = open.iter().map(|(_, sent)| sent).collect();
        let mut fetched = Vec::with_capacity(sent.len());
        for (sent, (waiting, asker)) in sent.iter().zip(self.depart(rules, &sent)) {
            fetched.push((answer(waiting, &sent.place).await, asker));
        }
        let mut answers = Vec::with_capacity(sent.len());
        for (sent, (answered, asker)) in sent.iter().zip(fetched) {
            answers.push(match (answered, asker) {
                (Err(_), Asker::Elsewhere) => {
                    let departed = self.depart(rules, &[sent]);
                    let (waiting, _) = departed.into_iter().next().expect("one was sent");
                    answer(waiting, &sent.place).await
                }
                (answered, _) => answered,
            });
        }
        answers
    }

    /// Sends what is not under way already. Tells for each object where its answer will be.
    fn depart(self: &Arc<Self>, rules: &Arc<Rules>, sent: &[&Sent]) -> Vec<(Waiting, Asker)> {
        let mut questions: Vec<Question> = Vec::new();
        let mut under_way = self.under_way.lock();
        let mut departed = Vec::with_capacity(sent.len());
        for sent in sent {
            // One whose task ended without an answer is under way no more.
            let known = under_way.get(&sent.place);
            if let Some(known) = known.filter(|known| known.has_changed().is_ok()) {
                let is_ours = questions.iter().any(|it| it.waiting.same_channel(known));
                let asker = match is_ours {
                    true => Asker::Here,
                    false => Asker::Elsewhere,
                };
                departed.push((known.clone(), asker));
                continue;
            }
            if questions.last().is_none_or(|it| it.is_full(&sent.text)) {
                questions.push(Question::default());
            }
            let question = questions.last_mut().expect("one was added");
            question.add(sent);
            under_way.insert(sent.place.clone(), question.waiting.clone());
            departed.push((question.waiting.clone(), Asker::Here));
        }
        drop(under_way);
        for question in questions {
            let (conversions, rules) = (Arc::clone(self), Arc::clone(rules));
            tokio::spawn(async move { conversions.carry_out(&rules, question).await });
        }
        departed
    }

    /// Asks, keeps what is answered, and tells everybody who waits for it.
    async fn carry_out(&self, rules: &Rules, question: Question) {
        let answers = match self.server() {
            Ok(server) => question.ask(&server, rules).await,
            Err(why) => question.failed(&why),
        };
        for (place, answer) in &answers {
            if let Ok(converted) = answer {
                let identity = Identity {
                    key: &place.key,
                    revision: place.revision,
                    encoding: place.encoding,
                };
                self.kept.keep(&identity, converted);
            }
        }
        let mut under_way = self.under_way.lock();
        for place in answers.keys() {
            under_way.remove(place);
        }
        drop(under_way);
        question.answered.send_replace(Some(Arc::new(answers)));
    }
}

/// Objects that are sent together.
struct Question {
    places: Vec<Place>,
    texts: Vec<Bytes>,
    bytes: usize,
    answered: watch::Sender<Option<Arc<Answers>>>,
    waiting: Waiting,
}

impl Default for Question {
    fn default() -> Self {
        let (answered, waiting) = watch::channel(None);
        Self {
            places: Vec::new(),
            texts: Vec::new(),
            bytes: 0,
            answered,
            waiting,
        }
    }
}

impl Question {
    fn is_full(&self, further: &Bytes) -> bool {
        !self.texts.is_empty() && self.bytes + further.len() > QUESTION_BYTES_MAX
    }

    fn add(&mut self, sent: &Sent) {
        self.bytes += sent.text.len();
        self.places.push(sent.place.clone());
        self.texts.push(sent.text.clone());
    }

    async fn ask(&self, server: &Server, rules: &Rules) -> Answers {
        let texts: Vec<&[u8]> = self.texts.iter().map(|text| &**text).collect();
        let answers = match ask(server, &rules.webhook, &rules.target, &texts).await {
            Ok(answers) => answers,
            Err(why) => return self.failed(&why),
        };
        let answers = answers.into_iter().map(|answer| match answer {
            Ok(converted) => Ok(Bytes::from(to_canonical(&converted))),
            Err(why) => Err(Arc::from(why)),
        });
        self.places.iter().cloned().zip(answers).collect()
    }

    fn failed(&self, why: &str) -> Answers {
        let why: Arc<str> = why.into();
        let places = self.places.iter().cloned();
        places.map(|place| (place, Err(Arc::clone(&why)))).collect()
    }
}

/// The answer about one object, once it is there.
async fn answer(mut waiting: Waiting, place: &Place) -> Result<Bytes, Arc<str>> {
    let lost = || Arc::from("the server is shutting down");
    let answers = waiting.wait_for(Option::is_some).await;
    let answers = answers.map_err(|_| lost())?;
    let answer = answers.as_ref().and_then(|answers| answers.get(place));
    answer.cloned().unwrap_or_else(|| Err(lost()))
}

impl Rules {
    /// What is sent of a stored state: as its own version shows it.
    fn prepare(&self, state: &State<'_>) -> Result<Sent, String> {
        let api_version = state.stored.api_version();
        let version = self.kind.in_version(version_in(api_version));
        let version = version.filter(|it| it.api_version() == api_version);
        let version = version.ok_or_else(|| {
            format!("request to convert CR from an invalid group/version: {api_version}")
        })?;
        let custom = version.custom.as_ref();
        let shown = custom.and_then(|it| it.shown(state.stored, state.revision));
        Ok(Sent {
            place: Place {
                key: state.key.clone(),
                revision: state.revision,
                encoding: self.encoding,
            },
            text: shown.as_ref().unwrap_or(state.stored).value().clone(),
        })
    }

    fn scan(&self, converted: Bytes) -> Result<StoredObject, String> {
        let scanned = self.cache.layout().scan(converted);
        scanned.map_err(|error| error.to_string())
    }
}

fn unconverted(state: &State<'_>, why: String) -> Unconverted {
    Unconverted {
        key: state.key.clone(),
        revision: state.revision,
        why,
    }
}
