//! The words that a scenario is written in.

use std::time::Duration;

use bytes::Bytes;
use listwatch::{
    InitialEvents, RawEvent, SourceError,
    lister_watcher::{Bookmark, Unreadable},
    reflector::{ConsistencyCheck, Fill},
    source::scripted::RequestKind,
};

use super::world::{Reading, World};

impl World {
    /// Does what one line says and tells what it led to. What is divided by `;` happens at once.
    pub(crate) async fn obey(&mut self, line: &str) -> Vec<String> {
        for command in line.split(';') {
            let words: Vec<_> = command.split_whitespace().collect();
            match words.as_slice() {
                ["wait", duration] => return self.wait(read_duration(duration)).await,
                ["decoded"] => return vec![format!("[{}]", self.decoded.take().join(" "))],
                ["cache"] => return vec![self.cache_words()],
                ["open", "watches"] => return vec![self.source.open_watches().to_string()],
                ["status"] => return vec![self.status_words()],
                words => self.act(words),
            }
        }
        self.settle()
    }

    fn act(&mut self, words: &[&str]) {
        match words {
            ["settings", settings @ ..] => settings.iter().for_each(|setting| self.set(setting)),
            ["run" | "begin"] => self.start(),
            ["drop"] => self.drop_it(),
            ["stop"] => drop(self.stop.take()),
            ["close"] => self.queue.close(),
            ["read", "off"] => self.reading = Reading::Off,
            ["read", "on"] => self.reading = Reading::On,
            words => self.change(words),
        }
    }

    fn set(&mut self, setting: &str) {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        let settings = &mut self.settings;
        match name {
            "list" => settings.fill = Fill::List,
            "stream" => settings.fill = Fill::Stream,
            "check" => settings.consistency_check = ConsistencyCheck::Compare,
            "page" => settings.page_size = Some(value.parse().unwrap()),
            "deadline" => settings.bookmark_deadline = Some(read_duration(value)),
            "patience" => settings.internal_error_patience = read_duration(value),
            "timeout" => settings.watch_timeout_min = read_duration(value),
            "jitter" => settings.backoff.jitter = value.parse().unwrap(),
            "first" => settings.backoff.first = read_duration(value),
            "cap" => settings.backoff.cap = read_duration(value),
            _ => panic!("no such setting: {setting}"),
        }
    }

    fn change(&mut self, words: &[&str]) {
        let source = &self.source;
        match words {
            ["put", objects @ ..] => objects.iter().for_each(|object| {
                let (key, body) = object.split_once('=').unwrap_or((object, "ok"));
                source.put(key, body.to_owned());
            }),
            ["many", count] => (0..count.parse().unwrap()).for_each(|number: u32| {
                source.put(&format!("many/{number:04}"), "ok");
            }),
            ["unseen", "put", key] => drop(source.put_unseen(key, "ok")),
            ["unseen", "delete", key] => drop(source.delete_unseen(key)),
            ["delete", keys @ ..] => keys.iter().for_each(|key| drop(source.delete(key))),
            ["pass", count] => drop(source.pass_versions(count.parse().unwrap())),
            ["bookmark"] => source.bookmark(),
            ["send", event @ ..] => source.send(&self.event(event)),
            ["expire"] => source.expire_history(),
            ["checkpoint"] => self.checkpoint = Some(source.checkpoint()),
            ["restore"] => source.restore(self.checkpoint.clone().unwrap()),
            words => self.fault(words),
        }
    }

    fn fault(&self, words: &[&str]) {
        let source = &self.source;
        match words {
            ["end"] => source.end_watches(),
            ["break", error] => source.break_watches(read_error(error)),
            ["refuse", kind, error] => source.refuse(read_kind(kind), read_error(error), 1),
            ["refuse", kind, error, times] => {
                let times = times.trim_end_matches('x').parse().unwrap();
                source.refuse(read_kind(kind), read_error(error), times);
            }
            ["hold", kind] => source.hold(read_kind(kind)),
            ["release"] => source.release(),
            ["forgive"] => source.forgive(),
            ["source", "has", "no", "streams"] => {
                source.set_initial_events(InitialEvents::Unsupported);
            }
            ["source", "withholds", "the", "end"] => source.withhold_initial_events_end(),
            ["source", "pages", "everything"] => source.page_every_list(),
            ["source", "insists", "on", "pages", "of", size] => {
                source.force_pages_of(size.parse().unwrap());
            }
            ["source", "lists", "garbage"] => source.list_unreadable(unreadable()),
            ["source", "ignores", "timeouts"] => source.ignore_watch_timeouts(),
            ["source", "lists", "no", "versions"] => source.leave_out_list_versions(),
            _ => panic!("not understood: {words:?}"),
        }
    }

    fn event(&self, words: &[&str]) -> RawEvent {
        let version = |text: &str| listwatch::Version::parse(text).unwrap();
        match words {
            ["end-of-state"] => {
                RawEvent::Bookmark(Bookmark::InitialEventsEnd(self.source.version()))
            }
            ["bookmark", at] => RawEvent::Bookmark(Bookmark::Progress(version(at))),
            ["unreadable"] => RawEvent::Unreadable(unreadable()),
            _ => panic!("no such event: {words:?}"),
        }
    }

    fn cache_words(&self) -> String {
        let snapshot = self.cache.snapshot();
        let objects = snapshot.iter();
        let words =
            objects.map(|object| format!("{}@{}={}", object.key, object.version, object.body));
        words.collect::<Vec<_>>().join(" ")
    }

    fn status_words(&self) -> String {
        let status = self.status.as_ref().unwrap().borrow().clone();
        let version = status.version.as_ref();
        let version = version.map_or("nothing".to_owned(), ToString::to_string);
        let heard = status.last_heard.map(|heard| heard.elapsed().as_secs_f64());
        let heard = heard.map_or("never".to_owned(), |heard| format!("{heard:.1}s ago"));
        let counts = status.counts;
        format!(
            "{:?} at {version}, heard {heard}; lists {} watches {} relists {} events {} aside {} \
             errors {}",
            status.phase,
            counts.lists,
            counts.watches,
            counts.relists,
            counts.events,
            counts.set_aside,
            counts.errors,
        )
    }
}

fn unreadable() -> Unreadable {
    Unreadable {
        raw: Bytes::from_static(b"{"),
        reason: "no object".to_owned(),
    }
}

fn read_duration(text: &str) -> Duration {
    let (number, unit) = text.split_at(text.len() - 1);
    let number: f64 = number.parse().unwrap();
    match unit {
        "s" => Duration::from_secs_f64(number),
        "m" => Duration::from_secs_f64(60.0 * number),
        _ => panic!("no such unit: {text}"),
    }
}

fn read_kind(word: &str) -> RequestKind {
    match word {
        "list" => RequestKind::List,
        "page" => RequestKind::NextPage,
        "watch" => RequestKind::Watch,
        "stream" => RequestKind::StreamingList,
        _ => panic!("no such request: {word}"),
    }
}

fn read_error(word: &str) -> SourceError {
    let (word, after) = word.split_once('/').unwrap_or((word, "0s"));
    let retry_after = Some(read_duration(after)).filter(|after| !after.is_zero());
    let message = "scripted".to_owned();
    let reason = message.clone();
    match word {
        "expired" => SourceError::Expired { message },
        "too-large" => SourceError::TooLarge {
            message,
            retry_after,
        },
        "429" => SourceError::TooManyRequests {
            message,
            retry_after,
        },
        "no-connection" => SourceError::ConnectionRefused { reason },
        "disconnected" => SourceError::Disconnected { reason },
        "403" => SourceError::Denied { code: 403, message },
        "500" => SourceError::Internal { code: 500, message },
        "422" => SourceError::Refused { code: 422, message },
        "unreadable" => SourceError::Unreadable { reason },
        _ => panic!("no such error: {word}"),
    }
}
