//! What an informer did, step by step, in a form that does not depend on what nobody promises.

use std::{collections::BTreeMap, fmt, mem};

use anyhow::{Context, Result, bail};

/// The log of one script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Log {
    pub(crate) segments: Vec<Segment>,
}

/// What happened in one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The step's number and text.
    pub(crate) step: String,
    /// What each handler was told.
    pub(crate) handlers: BTreeMap<String, Vec<Line>>,
    /// The store, if it changed.
    pub(crate) store: Option<String>,
    /// The requests made.
    pub(crate) requests: Vec<String>,
}

/// One thing that a handler was told, or that became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Add {
        object: String,
        initial: Initial,
    },
    Update {
        key: String,
        old: String,
        new: String,
    },
    Resync(String),
    Delete(String),
    DeleteUnknown(String),
    /// Changes were missed, which client-go never says.
    Lagged(u64),
    Synced,
    Refused,
}

/// Whether an added object was there when the handler came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Initial {
    Yes,
    No,
}

impl Log {
    /// Reads what client-go's side prints.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut log = Self::default();
        for line in text.lines() {
            if let Some(step) = line.strip_prefix("# ") {
                log.begin(step.to_owned());
                continue;
            }
            let segment = log
                .segments
                .last_mut()
                .context("a log begins with a step")?;
            let read = segment.read(line);
            read.with_context(|| format!("cannot read `{line}` of a log"))?;
        }
        Ok(log)
    }

    /// Begins the next step.
    pub(crate) fn begin(&mut self, step: String) {
        let segment = Segment {
            step,
            ..Segment::default()
        };
        self.segments.push(segment);
    }

    /// The objects of the store in the end, without its version.
    pub(crate) fn last_store(&self) -> Option<&str> {
        let mut stores = self
            .segments
            .iter()
            .rev()
            .filter_map(|segment| segment.store.as_ref());
        stores
            .next()
            .map(|store| store.split_once(' ').map_or("", |(_, objects)| objects))
    }

    /// The same log without what is left to chance: the order in which a map gives its objects.
    pub(crate) fn settle_order(&mut self) {
        for segment in &mut self.segments {
            let state = segment.state();
            for lines in segment.handlers.values_mut() {
                *lines = in_order(mem::take(lines), |line| line.chance(state));
            }
        }
    }
}

impl Segment {
    fn read(&mut self, line: &str) -> Result<()> {
        let (subject, rest) = line.split_once(' ').context("no subject")?;
        match subject {
            "store" => self.store = Some(rest.to_owned()),
            "request" => self.requests.push(rest.to_owned()),
            handler => self.tell(handler, Line::parse(rest)?),
        }
        Ok(())
    }

    /// A handler was told something.
    pub(crate) fn tell(&mut self, handler: &str, line: Line) {
        let lines = self.handlers.entry(handler.to_owned()).or_default();
        lines.push(line);
    }

    /// Whether there was a request of this kind.
    fn asks_for(&self, kind: &str) -> bool {
        let mut kinds = self
            .requests
            .iter()
            .map(|request| request.split(' ').next());
        kinds.any(|request| request == Some(kind))
    }

    /// How a state may have come: as a stream if that was asked for, or held back till now.
    fn state(&self) -> State {
        match self.asks_for("watch-list") || self.step.contains("release") {
            true => State::Streamed,
            false => State::Listed,
        }
    }
}

/// How the whole state came, if it did. client-go gathers a stream in a map.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Listed,
    Streamed,
}

/// Lines that belong together because chance orders them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chance {
    None,
    Deletions,
    InitialAdds,
    Resync,
    Streamed,
}

impl Line {
    fn parse(text: &str) -> Result<Self> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        Ok(match word {
            "add" => match rest.strip_suffix(" initial") {
                Some(object) => Self::add(object, Initial::Yes),
                None => Self::add(rest, Initial::No),
            },
            "update" => {
                let (before, new) = rest.split_once(" -> ").context("no arrow")?;
                let (key, old) = before.split_once(' ').context("no version")?;
                Self::Update {
                    key: key.to_owned(),
                    old: old.to_owned(),
                    new: new.to_owned(),
                }
            }
            "resync" => Self::Resync(rest.to_owned()),
            "delete" => Self::Delete(rest.to_owned()),
            "delete-unknown" => Self::DeleteUnknown(rest.to_owned()),
            "synced" => Self::Synced,
            "refused" => Self::Refused,
            _ => bail!("nobody is told `{word}`"),
        })
    }

    fn add(object: &str, initial: Initial) -> Self {
        let object = object.to_owned();
        Self::Add { object, initial }
    }

    /// The object's name, if this is about one.
    pub(crate) fn key(&self) -> &str {
        match self {
            Self::Add { object, .. }
            | Self::Resync(object)
            | Self::Delete(object)
            | Self::DeleteUnknown(object) => object.split(' ').next().unwrap_or_default(),
            Self::Update { key, .. } => key,
            Self::Lagged(_) | Self::Synced | Self::Refused => "",
        }
    }

    /// With which neighbours the order is left to chance: client-go keeps objects in a map.
    fn chance(&self, state: State) -> Chance {
        match self {
            Self::DeleteUnknown(_) => Chance::Deletions,
            Self::Lagged(_) | Self::Synced | Self::Refused => Chance::None,
            Self::Resync(_) => Chance::Resync,
            Self::Add {
                initial: Initial::Yes,
                ..
            } => Chance::InitialAdds,
            _ if state == State::Streamed => Chance::Streamed,
            Self::Add { .. } | Self::Update { .. } | Self::Delete(_) => Chance::None,
        }
    }
}

/// Sorts each run of lines of the same chance by key. What concerns one key keeps its order.
fn in_order(lines: Vec<Line>, chance: impl Fn(&Line) -> Chance) -> Vec<Line> {
    let mut ordered: Vec<Line> = Vec::with_capacity(lines.len());
    for run in lines.chunk_by(|one, other| chance(one) == chance(other)) {
        let begin = ordered.len();
        ordered.extend_from_slice(run);
        if run.first().is_some_and(|line| chance(line) != Chance::None) {
            ordered[begin..].sort_by(|one, other| one.key().cmp(other.key()));
        }
    }
    ordered
}

impl fmt::Display for Log {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.segments
            .iter()
            .try_for_each(|segment| segment.fmt(formatter))
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "# {}", self.step)?;
        for (handler, lines) in &self.handlers {
            for line in lines {
                writeln!(formatter, "{handler} {line}")?;
            }
        }
        if let Some(store) = &self.store {
            writeln!(formatter, "store {store}")?;
        }
        for request in &self.requests {
            writeln!(formatter, "request {request}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add { object, initial } => match initial {
                Initial::Yes => write!(formatter, "add {object} initial"),
                Initial::No => write!(formatter, "add {object}"),
            },
            Self::Update { key, old, new } => write!(formatter, "update {key} {old} -> {new}"),
            Self::Resync(object) => write!(formatter, "resync {object}"),
            Self::Delete(object) => write!(formatter, "delete {object}"),
            Self::DeleteUnknown(object) => write!(formatter, "delete-unknown {object}"),
            Self::Lagged(missed) => write!(formatter, "lagged {missed}"),
            Self::Synced => formatter.write_str("synced"),
            Self::Refused => formatter.write_str("refused"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "# 1 start
h1 add default/b @3 initial
h1 add default/a @2 initial
h1 synced
store @3 default/a @2 default/b @3
request list any limit 500
# 2 modify default/a
h1 update default/b @3 -> @5
h1 update default/a @2 -> @4
h2 delete-unknown default/b @3
h2 delete-unknown default/a @2 of write 9
h2 resync default/c @1
";

    #[test]
    fn a_log_is_written_as_it_was_read() {
        assert_eq!(Log::parse(LOG).unwrap().to_string(), LOG);
    }

    #[test]
    fn only_what_a_map_gives_is_put_in_order() {
        let mut log = Log::parse(LOG).unwrap();
        log.settle_order();
        let keys = |segment: usize, handler: &str| -> Vec<String> {
            let lines = log.segments[segment].handlers[handler].iter();
            lines.map(|line| line.key().to_owned()).collect()
        };
        assert_eq!(keys(0, "h1"), ["default/a", "default/b", ""]);
        assert_eq!(keys(1, "h1"), ["default/b", "default/a"]);
        assert_eq!(keys(1, "h2"), ["default/a", "default/b", "default/c"]);
    }

    #[test]
    fn what_no_informer_says_is_refused() {
        for text in ["h1 synced", "# 1 start\nh1 shouted", "# 1 start\nh1"] {
            assert!(Log::parse(text).is_err(), "{text}");
        }
    }
}
