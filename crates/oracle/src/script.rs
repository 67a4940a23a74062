//! What a source and an informer are made to do, step by step.
//!
//! The language is told in `conformance/informer_oracle/SCRIPTS.md`; client-go's side reads it too.

use std::{num::ParseIntError, time::Duration};

use anyhow::{Context, Result, bail, ensure};

/// How long `settle` lets retries happen: longer than all that a script provokes at once, and then
/// longer than the backoff takes to forget them.
const SETTLE_TIME: Duration = Duration::from_secs(180);

/// What every other line costs.
const ACTION_TIME: Duration = Duration::from_millis(1);

/// One script.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) header: Header,
    pub(crate) steps: Vec<Step>,
}

/// What holds for a whole script.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) source: SourceKind,
    /// The most objects on one page; `None` if a list is one page.
    pub(crate) page: Option<usize>,
    pub(crate) expired: ExpiredWatch,
    pub(crate) after_state: AfterState,
    pub(crate) queue: QueueKind,
    /// The resync period of handlers that name none; `None` if they get none.
    pub(crate) resync: Option<Duration>,
}

/// Whether the source can send its state as events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourceKind {
    List,
    WatchList,
}

/// How a watch that is too old learns of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpiredWatch {
    AtStart,
    InStream,
}

/// What a source says right after a streamed state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterState {
    Nothing,
    Bookmark,
}

/// What lies between our source and our cache. client-go's queue is in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueKind {
    InOrder,
    Compressing,
}

/// One line.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) text: String,
    pub(crate) actions: Vec<Action>,
    /// How long it takes.
    pub(crate) time: Duration,
}

/// One thing to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Start,
    Stop,
    Wait(Duration),
    Handler { name: String, resync: Resync },
    Remove(String),
    Block(String),
    Unblock(String),
    Source(SourceAction),
}

/// How often a handler is told everything again.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Resync {
    /// As the script's header says.
    Default,
    Never,
    Every(Duration),
}

/// One thing that happens to the source.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SourceAction {
    Change {
        kind: ChangeKind,
        key: String,
        told: Told,
    },
    Repeat(String),
    Bookmark,
    End(StreamEnd),
    Expire,
    Restore(u64),
    Refuse {
        request: RequestKind,
        fault: Fault,
        times: usize,
    },
    Short {
        times: usize,
    },
    Cut(usize),
    Hold,
    Release,
}

/// How an object changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Add,
    Modify,
    Delete,
}

/// Whether the open watches are told of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Yes,
    Lost,
}

/// How a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    GoodOrder,
    Disconnected,
    Error(Fault),
}

/// A request, as `refuse` knows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    List,
    Page,
    Watch,
    WatchList,
}

/// What a request can be refused with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Status(u16),
    TooLarge,
    Connection,
}

impl Script {
    /// Reads a script.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let mut script = Self {
            header: Header {
                source: SourceKind::List,
                page: None,
                expired: ExpiredWatch::InStream,
                after_state: AfterState::Nothing,
                queue: QueueKind::InOrder,
                resync: None,
            },
            steps: Vec::new(),
        };
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let read = match line.split_once(": ") {
                Some((name, value)) => script.header.set(name, value),
                None => parse_step(line).map(|step| script.steps.push(step)),
            };
            read.with_context(|| format!("line {}, `{line}`", index + 1))?;
        }
        Ok(script)
    }
}

impl Header {
    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match (name, value) {
            ("source", "list") => self.source = SourceKind::List,
            ("source", "watch-list") => self.source = SourceKind::WatchList,
            ("expired", "at start") => self.expired = ExpiredWatch::AtStart,
            ("expired", "in stream") => self.expired = ExpiredWatch::InStream,
            ("bookmark", "after state") => self.after_state = AfterState::Bookmark,
            ("queue", "in order") => self.queue = QueueKind::InOrder,
            ("queue", "compressing") => self.queue = QueueKind::Compressing,
            ("page", size) => self.page = Some(size.parse()?),
            ("resync", period) => self.resync = Some(parse_duration(period)?),
            _ => bail!("there is no such header"),
        }
        Ok(())
    }
}

fn parse_step(line: &str) -> Result<Step> {
    let actions = line.split(';').map(parse_action);
    let actions: Vec<Action> = actions.collect::<Result<_>>()?;
    let mut waits = actions.iter().filter_map(|action| match action {
        Action::Wait(time) => Some(*time),
        _ => None,
    });
    Ok(Step {
        text: line.to_owned(),
        time: waits.next_back().unwrap_or(ACTION_TIME),
        actions,
    })
}

fn parse_action(text: &str) -> Result<Action> {
    let words: Vec<&str> = text.split_whitespace().collect();
    Ok(match words[..] {
        ["start"] => Action::Start,
        ["stop"] => Action::Stop,
        ["settle"] => Action::Wait(SETTLE_TIME),
        ["step", time] => Action::Wait(parse_duration(time)?),
        ["handler", name] => handler(name, Resync::Default),
        ["handler", name, "resync", "never"] => handler(name, Resync::Never),
        ["handler", name, "resync", period] => {
            handler(name, Resync::Every(parse_duration(period)?))
        }
        ["remove", name] => Action::Remove(name.to_owned()),
        ["block", name] => Action::Block(name.to_owned()),
        ["unblock", name] => Action::Unblock(name.to_owned()),
        _ => Action::Source(parse_source_action(&words)?),
    })
}

fn handler(name: &str, resync: Resync) -> Action {
    let name = name.to_owned();
    Action::Handler { name, resync }
}

fn parse_source_action(words: &[&str]) -> Result<SourceAction> {
    Ok(match *words {
        ["lose", verb, key] => change(verb, key, Told::Lost)?,
        ["add" | "modify" | "delete", key] => change(words[0], key, Told::Yes)?,
        ["repeat", key] => SourceAction::Repeat(key.to_owned()),
        ["bookmark"] => SourceAction::Bookmark,
        ["reset"] => SourceAction::End(StreamEnd::GoodOrder),
        ["break"] => SourceAction::End(StreamEnd::Disconnected),
        ["error", fault] => SourceAction::End(StreamEnd::Error(parse_fault(fault)?)),
        ["expire"] => SourceAction::Expire,
        ["restore", version] => SourceAction::Restore(parse_number(version, '@')?),
        ["refuse", request, fault] => refuse(request, fault, "x1")?,
        ["refuse", request, fault, times] => refuse(request, fault, times)?,
        ["short", "watch"] => SourceAction::Short { times: 1 },
        ["short", "watch", times] => SourceAction::Short {
            times: parse_number(times, 'x')?,
        },
        ["cut", count] => SourceAction::Cut(count.parse()?),
        ["hold"] => SourceAction::Hold,
        ["release"] => SourceAction::Release,
        _ => bail!("there is no `{}`", words.join(" ")),
    })
}

fn change(verb: &str, key: &str, told: Told) -> Result<SourceAction> {
    let kind = match verb {
        "add" => ChangeKind::Add,
        "modify" => ChangeKind::Modify,
        "delete" => ChangeKind::Delete,
        _ => bail!("`{verb}` is no change"),
    };
    ensure!(key.contains('/'), "`{key}` is not namespace/name");
    let key = key.to_owned();
    Ok(SourceAction::Change { kind, key, told })
}

fn refuse(request: &str, fault: &str, times: &str) -> Result<SourceAction> {
    let request = match request {
        "list" => RequestKind::List,
        "page" => RequestKind::Page,
        "watch" => RequestKind::Watch,
        "watch-list" => RequestKind::WatchList,
        _ => bail!("`{request}` is no request"),
    };
    Ok(SourceAction::Refuse {
        request,
        fault: parse_fault(fault)?,
        times: parse_number(times, 'x')?,
    })
}

fn parse_fault(name: &str) -> Result<Fault> {
    Ok(match name {
        "too-large" => Fault::TooLarge,
        "connection" => Fault::Connection,
        code => Fault::Status(code.parse().context("no such fault")?),
    })
}

/// Reads `@7`, or `x7`.
fn parse_number<N: std::str::FromStr<Err = ParseIntError>>(word: &str, mark: char) -> Result<N> {
    let digits = word.strip_prefix(mark).unwrap_or(word);
    digits
        .parse()
        .with_context(|| format!("`{word}` is no number"))
}

/// Reads `31s`.
fn parse_duration(word: &str) -> Result<Duration> {
    let (number, unit) = match word.strip_suffix("ms") {
        Some(number) => (number, Duration::from_millis(1)),
        None => (word.trim_end_matches(['s', 'm']), unit_of(word)?),
    };
    let number: u32 = number.parse().context("no such duration")?;
    Ok(unit * number)
}

fn unit_of(word: &str) -> Result<Duration> {
    match word.chars().last() {
        Some('s') => Ok(Duration::from_secs(1)),
        Some('m') => Ok(Duration::from_secs(60)),
        _ => bail!("`{word}` has no unit"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_headers_and_steps() {
        let text = [
            "# a comment",
            "source: watch-list",
            "page: 2",
            "resync: 30s",
            "",
            "handler h1 resync 2m",
            "start",
            "lose delete default/a; reset",
            "step 1500ms",
            "settle",
        ];
        let script = Script::parse(&text.join("\n")).unwrap();
        assert_eq!(script.header.source, SourceKind::WatchList);
        assert_eq!(script.header.page, Some(2));
        assert_eq!(script.header.resync, Some(Duration::from_secs(30)));
        let resync = Resync::Every(Duration::from_secs(120));
        assert_eq!(script.steps[0].actions, [handler("h1", resync)]);
        assert_eq!(script.steps[2].actions.len(), 2);
        assert_eq!(script.steps[2].time, ACTION_TIME);
        assert_eq!(script.steps[3].time, Duration::from_millis(1500));
        assert_eq!(script.steps[4].time, SETTLE_TIME);
    }

    #[test]
    fn a_line_that_means_nothing_is_refused() {
        for line in [
            "jump",
            "add",
            "add nowhere",
            "lose reset x",
            "refuse watch no",
            "page: many",
            "colour: red",
            "add a/b;;",
            "step 5",
        ] {
            let error = Script::parse(line).unwrap_err();
            assert!(error.to_string().contains("line 1"), "{line}: {error:#}");
        }
    }

    #[test]
    fn a_fault_is_a_code_or_a_name() {
        let script =
            Script::parse("refuse watch-list connection x2\nrefuse list 429\nerror 410").unwrap();
        let action = |step: usize| &script.steps[step].actions[0];
        let refuse = |request, fault, times| {
            Action::Source(SourceAction::Refuse {
                request,
                fault,
                times,
            })
        };
        assert_eq!(
            *action(0),
            refuse(RequestKind::WatchList, Fault::Connection, 2)
        );
        assert_eq!(*action(1), refuse(RequestKind::List, Fault::Status(429), 1));
        let end = StreamEnd::Error(Fault::Status(410));
        assert_eq!(*action(2), Action::Source(SourceAction::End(end)));
    }
}
