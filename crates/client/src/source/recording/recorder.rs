//! A source that writes down what another source says.

use std::{fmt, io::Write, sync::Arc};

use super::{
    format::What,
    tape::{RecordingState, RequestTrack, Tape},
};
use crate::{
    InitialEvents, ListerWatcher, RawEvent, SourceError,
    lister_watcher::{BoxFuture, EventStream, ListOptions, ListPart, ListStream, WatchOptions},
    source::scripted::Request,
};

/// Passes on what a source answers, and writes it down.
///
/// Each line is written where the answer passes by, in one piece: a file on a slow disk wants a
/// [`BufWriter`](std::io::BufWriter). At the bound, or when the writer fails, the recording ends
/// and the source goes on.
///
/// ```no_run
/// # use std::{fs::File, io::BufWriter, sync::Arc};
/// # use listwatch::{Decoder, ListerWatcher, SharedInformer, source::Recorder};
/// # fn run(source: Arc<dyn ListerWatcher>) -> std::io::Result<()> {
/// let file = BufWriter::new(File::create("pods.recording")?);
/// let recorder = Recorder::new(source, file, 100 << 20);
/// let informer = SharedInformer::new(Arc::new(recorder), Decoder::raw());
/// # Ok(())
/// # }
/// ```
pub struct Recorder {
    source: Arc<dyn ListerWatcher>,
    tape: Arc<Tape>,
}

struct RecordedList {
    stream: Box<dyn ListStream>,
    track: RequestTrack,
}

struct RecordedWatch {
    stream: Box<dyn EventStream>,
    track: RequestTrack,
}

impl Recorder {
    /// Records a source, beginning now, in at most `bytes_max` bytes
    /// ([`RECORDING_BYTES_MIN`](super::RECORDING_BYTES_MIN) at least).
    pub fn new(
        source: Arc<dyn ListerWatcher>,
        writer: impl Write + Send + 'static,
        bytes_max: u64,
    ) -> Self {
        let tape = Tape::new(Box::new(writer), bytes_max, source.initial_events());
        Self {
            source,
            tape: Arc::new(tape),
        }
    }

    /// How the recording is doing.
    pub fn state(&self) -> RecordingState {
        self.tape.state()
    }

    /// Ends the recording; the source goes on. It ends by itself when the recorder and everything
    /// that was asked of it are dropped.
    pub fn finish(&self) -> RecordingState {
        self.tape.finish()
    }
}

impl ListerWatcher for Recorder {
    fn list<'a>(
        &'a self,
        options: &'a ListOptions,
    ) -> BoxFuture<'a, Result<Box<dyn ListStream>, SourceError>> {
        Box::pin(async {
            let asked = Request::List(options.clone()).to_string();
            let mut track = self.tape.begin(What::List(asked));
            let answer = self.source.list(options).await;
            let stream = answer.inspect_err(|error| track.fail(error))?;
            track.note(|| What::Answered);
            let list: Box<dyn ListStream> = Box::new(RecordedList { stream, track });
            Ok(list)
        })
    }

    fn watch<'a>(
        &'a self,
        options: &'a WatchOptions,
    ) -> BoxFuture<'a, Result<Box<dyn EventStream>, SourceError>> {
        Box::pin(async {
            let asked = Request::Watch(options.clone()).to_string();
            let mut track = self.tape.begin(What::Watch(asked));
            let answer = self.source.watch(options).await;
            let stream = answer.inspect_err(|error| track.fail(error))?;
            track.note(|| What::Answered);
            let watch: Box<dyn EventStream> = Box::new(RecordedWatch { stream, track });
            Ok(watch)
        })
    }

    fn initial_events(&self) -> InitialEvents {
        self.source.initial_events()
    }
}

impl ListStream for RecordedList {
    fn next(&mut self) -> BoxFuture<'_, Result<ListPart, SourceError>> {
        Box::pin(async {
            let part = self.stream.next().await;
            match &part {
                Ok(ListPart::Items(items)) => {
                    let forms = || items.iter().map(Into::into).collect();
                    self.track.note(|| What::Items(forms()));
                }
                Ok(ListPart::End(end)) => self.track.end(|| What::End(end.into())),
                Err(error) => self.track.fail(error),
            }
            part
        })
    }
}

impl EventStream for RecordedWatch {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<Vec<RawEvent>, SourceError>>> {
        Box::pin(async {
            let events = self.stream.next().await;
            match &events {
                Some(Ok(events)) => {
                    let forms = || events.iter().map(Into::into).collect();
                    self.track.note(|| What::Events(forms()));
                }
                Some(Err(error)) => self.track.fail(error),
                None => self.track.end(|| What::Ended),
            }
            events
        })
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Recorder")
            .field("recording", &self.tape)
            .finish_non_exhaustive()
    }
}
