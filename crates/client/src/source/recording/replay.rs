//! A source that says again what another one said.

use std::{fmt, future::pending, io::BufRead, time::Duration};

use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

use super::reader::{self, Conversation, ListAnswer, Recording, RecordingError, WatchAnswer};
use crate::{
    InitialEvents, ListerWatcher, RawEvent, SourceError,
    lister_watcher::{BoxFuture, EventStream, ListOptions, ListPart, ListStream, WatchOptions},
    source::scripted::Request,
};

/// Answers the n-th list as the n-th list of a recording was answered, and the n-th watch as the
/// n-th watch, whatever is asked. [`Replay::first_difference`] tells whether the same was asked.
///
/// In a test, paused time and [`Speed::AsRecorded`] make a replay exact, and it takes no time.
/// [`Speed::AtOnce`] is for real time; whoever asks may then act otherwise than before, since a
/// watch that lasted minutes is over in no time.
pub struct Replay {
    state: Mutex<State>,
    speed: Speed,
    after_end: AfterEnd,
    initial_events: InitialEvents,
}

/// How fast a recording is replayed. Each answer is given as long after its own request as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Speed {
    /// As fast as it happened.
    #[default]
    AsRecorded,
    /// This many times as fast. At a speed that is not above zero no answer ever comes.
    Times(f64),
    /// Without waiting.
    AtOnce,
}

/// What happens when the recording has nothing more to say: to a request that was not recorded, or
/// after the last answer to one that was dropped or still open when the recording ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AfterEnd {
    /// A watch is silent until its timeout and ends in good order; a list is never answered.
    #[default]
    Silence,
    /// The request fails: [`SourceError::ConnectionRefused`].
    Error,
}

struct State {
    recording: Recording,
    lists_begun: usize,
    watches_begun: usize,
    first_difference: Option<String>,
}

/// One request that is being answered.
struct Playing<A> {
    name: String,
    conversation: Option<Conversation<A>>,
    begun: Instant,
    speed: Speed,
    after_end: AfterEnd,
}

struct ReplayedWatch {
    playing: Playing<WatchAnswer>,
    timeout: Duration,
}

impl Replay {
    /// Reads a recording, all of it into memory.
    pub fn read(recording: impl BufRead) -> Result<Self, RecordingError> {
        let (replay, error) = Self::salvage(recording)?;
        error.map_or(Ok(replay), Err)
    }

    /// Reads a recording up to where it is cut off or damaged; the error says where that is. What
    /// comes after is never replayed.
    pub fn salvage(
        recording: impl BufRead,
    ) -> Result<(Self, Option<RecordingError>), RecordingError> {
        let (recording, error) = reader::read(recording)?;
        let replay = Self {
            initial_events: recording.initial_events,
            state: Mutex::new(State {
                recording,
                lists_begun: 0,
                watches_begun: 0,
                first_difference: None,
            }),
            speed: Speed::default(),
            after_end: AfterEnd::default(),
        };
        Ok((replay, error))
    }

    /// How fast it answers. Without a choice: as recorded.
    #[must_use]
    pub fn speed(mut self, speed: Speed) -> Self {
        self.speed = speed;
        self
    }

    /// What happens when the recording has nothing more to say. Without a choice: nothing.
    #[must_use]
    pub fn after_end(mut self, after_end: AfterEnd) -> Self {
        self.after_end = after_end;
        self
    }

    /// The first request that was not what was asked when the recording was made, in words.
    pub fn first_difference(&self) -> Option<String> {
        self.state.lock().first_difference.clone()
    }

    fn play<A>(&self, name: String, conversation: Option<Conversation<A>>) -> Playing<A> {
        Playing {
            name,
            conversation,
            begun: Instant::now(),
            speed: self.speed,
            after_end: self.after_end,
        }
    }

    fn next_list(&self, options: &ListOptions) -> Playing<ListAnswer> {
        let mut state = self.state.lock();
        state.lists_begun += 1;
        let name = format!("list {}", state.lists_begun);
        let list = state.recording.lists.pop_front();
        let was = list.as_ref().map(|list| list.asked.as_str());
        state.compare(&name, was, &Request::List(options.clone()));
        self.play(name, list)
    }

    fn next_watch(&self, options: &WatchOptions) -> Playing<WatchAnswer> {
        let mut state = self.state.lock();
        state.watches_begun += 1;
        let name = format!("watch {}", state.watches_begun);
        let watch = state.recording.watches.pop_front();
        let was = watch.as_ref().map(|watch| watch.asked.as_str());
        state.compare(&name, was, &Request::Watch(options.clone()));
        self.play(name, watch)
    }
}

impl State {
    fn compare(&mut self, name: &str, was: Option<&str>, is: &Request) {
        let is = is.to_string();
        if was == Some(&*is) {
            return;
        }
        let was = was.unwrap_or("not recorded");
        tracing::debug!(
            name,
            was,
            is,
            "not what was asked when the recording was made"
        );
        let words = || format!("{name} was \"{was}\" and is \"{is}\"");
        self.first_difference.get_or_insert_with(words);
    }
}

impl Speed {
    /// How long after its request an answer comes; `None` if it never does.
    fn scale(self, recorded: Duration) -> Option<Duration> {
        match self {
            Self::AsRecorded => Some(recorded),
            Self::Times(factor) if factor > 0.0 => {
                Duration::try_from_secs_f64(recorded.as_secs_f64() / factor).ok()
            }
            Self::Times(_) => None,
            Self::AtOnce => Some(Duration::ZERO),
        }
    }
}

impl<A> Playing<A> {
    /// Waits until the source took the request, or refused it; `None` if the recording ends here.
    async fn open(&mut self) -> Option<Result<(), SourceError>> {
        let (after, _) = self.conversation.as_ref()?.opening.as_ref()?;
        self.wait(*after).await;
        let (_, opening) = self.conversation.as_mut()?.opening.take()?;
        Some(opening)
    }

    /// The next answer; `None` if the recording ends here. Cancel safe.
    async fn next(&mut self) -> Option<A> {
        let (after, _) = self.conversation.as_ref()?.answers.front()?;
        self.wait(*after).await;
        let (_, answer) = self.conversation.as_mut()?.answers.pop_front()?;
        Some(answer)
    }

    async fn wait(&self, recorded: Duration) {
        let after = self.speed.scale(recorded);
        match after.and_then(|after| self.begun.checked_add(after)) {
            Some(due) if due <= Instant::now() => {}
            Some(due) => sleep_until(due).await,
            None => pending().await,
        }
    }

    /// What there is to say when the recording has ended: nothing, or an error.
    fn end(&self) -> Result<(), SourceError> {
        match self.after_end {
            AfterEnd::Silence => Ok(()),
            AfterEnd::Error => Err(SourceError::ConnectionRefused {
                reason: match self.conversation {
                    Some(_) => format!("the recording ends within {}", self.name),
                    None => format!("the recording ends before {}", self.name),
                },
            }),
        }
    }
}

impl ListerWatcher for Replay {
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
    ) -> BoxFuture<'a, Result<Box<dyn ListStream>, SourceError>> {
        Box::pin(async {
            let mut list = self.next_list(options);
            match list.open().await {
                Some(opening) => opening?,
                None => {
                    list.end()?;
                    pending().await
                }
            }
            let list: Box<dyn ListStream> = Box::new(list);
            Ok(list)
        })
    }

    fn watch<'a>(
        &'a self,
        options: &'a WatchOptions,
    ) -> BoxFuture<'a, Result<Box<dyn EventStream>, SourceError>> {
        Box::pin(async {
            let mut playing = self.next_watch(options);
            match playing.open().await {
                Some(opening) => opening?,
                None => playing.end()?,
            }
            let timeout = options.timeout;
            let watch: Box<dyn EventStream> = Box::new(ReplayedWatch { playing, timeout });
            Ok(watch)
        })
    }

    fn initial_events(&self) -> InitialEvents {
        self.initial_events
    }
}

impl ListStream for Playing<ListAnswer> {
    fn next(&mut self) -> BoxFuture<'_, Result<ListPart, SourceError>> {
        Box::pin(async {
            if let Some(answer) = Playing::next(self).await {
                return answer;
            }
            self.end()?;
            pending().await
        })
    }
}

impl EventStream for ReplayedWatch {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<RawEvent>, SourceError>>> {
        Box::pin(async {
            if let Some(answer) = self.playing.next().await {
                return answer;
            }
            if let Err(error) = self.playing.end() {
                return Some(Err(error));
            }
            match self.playing.begun.checked_add(self.timeout) {
                Some(end) => sleep_until(end).await,
                None => pending().await,
            }
            None
        })
    }
}

impl fmt::Debug for Replay {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        formatter
            .debug_struct("Replay")
            .field("lists_left", &state.recording.lists.len())
            .field("watches_left", &state.recording.watches.len())
            .finish_non_exhaustive()
    }
}
