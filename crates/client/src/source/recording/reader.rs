//! Reads a recording and finds what is wrong with it, by line.

use std::{
    collections::VecDeque,
    io::{self, BufRead},
    time::Duration,
};

use base64::DecodeError;
use serde::de::DeserializeOwned;
use thiserror::Error;

use super::format::{FORMAT, Header, ItemForm, LastLine, Line, What};
use crate::{InitialEvents, RawEvent, SourceError, lister_watcher::ListPart};

/// Why a recording cannot be replayed.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// The first line is not that of a recording, or of one in a later format.
    #[error("line 1: not a recording that can be read here: {reason}")]
    NotARecording {
        /// What is wrong with it.
        reason: String,
    },
    /// A line is not what can stand there.
    #[error("line {line}: {reason}")]
    Damaged {
        /// Which line, counted from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// The recording ends before its last line, or within a line.
    #[error("line {line}: the recording is cut off here")]
    Truncated {
        /// The line that is missing or not whole, counted from 1.
        line: u64,
    },
    /// The recording could not be read to its end.
    #[error("line {line}: {error}")]
    Unreadable {
        /// Which line, counted from 1.
        line: u64,
        /// What the reader said.
        error: io::Error,
    },
}

/// All that was asked and answered.
pub(super) struct Recording {
    pub(super) initial_events: InitialEvents,
    pub(super) lists: VecDeque<Conversation<ListAnswer>>,
    pub(super) watches: VecDeque<Conversation<WatchAnswer>>,
}

/// What [`ListStream::next`](crate::lister_watcher::ListStream::next) returns.
pub(super) type ListAnswer = Result<ListPart, SourceError>;

/// What [`EventStream::next`](crate::lister_watcher::EventStream::next) returns.
pub(super) type WatchAnswer = Option<Result<Vec<RawEvent>, SourceError>>;

/// One request and what was answered, each some time after the request began.
pub(super) struct Conversation<A> {
    pub(super) asked: String,
    pub(super) opening: Option<(Duration, Result<(), SourceError>)>,
    pub(super) answers: VecDeque<(Duration, A)>,
    begun_us: u64,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Asked,
    Answered,
    Over,
}

enum Request {
    List(Conversation<ListAnswer>),
    Watch(Conversation<WatchAnswer>),
}

/// A line about a request, in terms of its stage.
enum Said<A> {
    Opened,
    Failed(SourceError),
    More(A),
    Last(A),
    Dropped,
}

/// The lines of a recording, read one by one.
struct Lines<R> {
    reader: R,
    number: u64,
}

/// Reads as much as there is. The error says why that is not all.
pub(super) fn read(
    reader: impl BufRead,
) -> Result<(Recording, Option<RecordingError>), RecordingError> {
    let mut lines = Lines { reader, number: 0 };
    let header = read_header(&mut lines)?;
    let mut requests = Vec::new();
    let error = read_requests(&mut lines, &mut requests).err();
    let mut recording = Recording {
        initial_events: header.initial_events,
        lists: VecDeque::new(),
        watches: VecDeque::new(),
    };
    for request in requests {
        match request {
            Request::List(list) => recording.lists.push_back(list),
            Request::Watch(watch) => recording.watches.push_back(watch),
        }
    }
    Ok((recording, error))
}

fn read_header(lines: &mut Lines<impl BufRead>) -> Result<Header, RecordingError> {
    let not_a_recording = |reason: String| RecordingError::NotARecording { reason };
    let text = lines.next()?;
    let header: Header =
        serde_json::from_slice(&text).map_err(|error| not_a_recording(error.to_string()))?;
    if header.listwatch_recording != FORMAT {
        let format = header.listwatch_recording;
        return Err(not_a_recording(format!(
            "it has format {format}, known is {FORMAT}"
        )));
    }
    Ok(header)
}

/// Reads up to the last line, after which nothing may come.
fn read_requests(
    lines: &mut Lines<impl BufRead>,
    requests: &mut Vec<Request>,
) -> Result<(), RecordingError> {
    let mut at_us = 0;
    loop {
        let text = lines.next()?;
        if serde_json::from_slice::<LastLine>(&text).is_ok() {
            return lines.expect_end();
        }
        let line: Line = lines.parse(&text)?;
        if line.at_us < at_us {
            return Err(lines.damaged("time goes backwards"));
        }
        at_us = line.at_us;
        add(requests, line).map_err(|reason| lines.damaged(reason))?;
    }
}

fn add(requests: &mut Vec<Request>, line: Line) -> Result<(), String> {
    let next = requests.len() as u64 + 1;
    match line.what {
        What::List(asked) if line.request == next => {
            requests.push(Request::List(Conversation::new(asked, line.at_us)));
        }
        What::Watch(asked) if line.request == next => {
            requests.push(Request::Watch(Conversation::new(asked, line.at_us)));
        }
        What::List(_) | What::Watch(_) => {
            return Err(format!("request {next} should begin here"));
        }
        what => {
            let index = usize::try_from(line.request).ok();
            let index = index.and_then(|number| number.checked_sub(1));
            match index.and_then(|index| requests.get_mut(index)) {
                Some(Request::List(list)) => list.add(line.at_us, said_by_list(what)?, Err)?,
                Some(Request::Watch(watch)) => {
                    watch.add(line.at_us, said_by_watch(what)?, |error| Some(Err(error)))?
                }
                None => return Err(format!("request {} has not begun", line.request)),
            }
        }
    }
    Ok(())
}

fn said_by_list(what: What) -> Result<Said<ListAnswer>, String> {
    Ok(match what {
        What::Items(forms) => {
            let items: Result<_, _> = forms.into_iter().map(ItemForm::item).collect();
            let items = items.map_err(|error: DecodeError| error.to_string())?;
            Said::More(Ok(ListPart::Items(items)))
        }
        What::End(end) => Said::Last(Ok(ListPart::End(end.into()))),
        other => said_by_any(other)?,
    })
}

fn said_by_watch(what: What) -> Result<Said<WatchAnswer>, String> {
    Ok(match what {
        What::Events(forms) => {
            let events: Result<_, _> = forms.into_iter().map(RawEvent::try_from).collect();
            let events = events.map_err(|error| error.to_string())?;
            Said::More(Some(Ok(events)))
        }
        What::Ended => Said::Last(None),
        other => said_by_any(other)?,
    })
}

fn said_by_any<A>(what: What) -> Result<Said<A>, String> {
    match what {
        What::Answered => Ok(Said::Opened),
        What::Failed(error) => Ok(Said::Failed(error)),
        What::Dropped => Ok(Said::Dropped),
        What::Items(_) | What::End(_) => Err("only a list can say this".to_owned()),
        What::Events(_) | What::Ended => Err("only a watch can say this".to_owned()),
        What::List(_) | What::Watch(_) => Err("a request begins only once".to_owned()),
    }
}

impl<A> Conversation<A> {
    fn new(asked: String, begun_us: u64) -> Self {
        Self {
            asked,
            opening: None,
            answers: VecDeque::new(),
            begun_us,
            stage: Stage::Asked,
        }
    }

    fn add(
        &mut self,
        at_us: u64,
        said: Said<A>,
        failed: impl FnOnce(SourceError) -> A,
    ) -> Result<(), String> {
        let after = Duration::from_micros(at_us.saturating_sub(self.begun_us));
        self.stage = match (self.stage, said) {
            (Stage::Over, _) => return Err("the request is over".to_owned()),
            (Stage::Asked | Stage::Answered, Said::Dropped) => Stage::Over,
            (Stage::Asked, Said::Opened) => {
                self.opening = Some((after, Ok(())));
                Stage::Answered
            }
            (Stage::Asked, Said::Failed(error)) => {
                self.opening = Some((after, Err(error)));
                Stage::Over
            }
            (Stage::Asked, Said::More(_) | Said::Last(_)) => {
                return Err("the request has not been answered".to_owned());
            }
            (Stage::Answered, Said::Opened) => {
                return Err("the request has been answered before".to_owned());
            }
            (Stage::Answered, Said::More(answer)) => {
                self.answers.push_back((after, answer));
                Stage::Answered
            }
            (Stage::Answered, Said::Last(answer)) => {
                self.answers.push_back((after, answer));
                Stage::Over
            }
            (Stage::Answered, Said::Failed(error)) => {
                self.answers.push_back((after, failed(error)));
                Stage::Over
            }
        };
        Ok(())
    }
}

impl<R: BufRead> Lines<R> {
    /// The next line, without its end.
    fn next(&mut self) -> Result<Vec<u8>, RecordingError> {
        self.number += 1;
        let mut text = Vec::new();
        let line = self.number;
        let read = self.reader.read_until(b'\n', &mut text);
        read.map_err(|error| RecordingError::Unreadable { line, error })?;
        match text.pop() {
            Some(b'\n') => Ok(text),
            Some(_) | None => Err(RecordingError::Truncated { line }),
        }
    }

    fn expect_end(&mut self) -> Result<(), RecordingError> {
        let line = self.number + 1;
        let rest = self.reader.fill_buf();
        let rest = rest.map_err(|error| RecordingError::Unreadable { line, error })?;
        if rest.is_empty() {
            return Ok(());
        }
        self.number = line;
        Err(self.damaged("the last line stands before this one"))
    }

    fn parse<T: DeserializeOwned>(&self, text: &[u8]) -> Result<T, RecordingError> {
        serde_json::from_slice(text).map_err(|error| self.damaged(error.to_string()))
    }

    fn damaged(&self, reason: impl Into<String>) -> RecordingError {
        RecordingError::Damaged {
            line: self.number,
            reason: reason.into(),
        }
    }
}
