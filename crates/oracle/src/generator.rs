//! Scripts from a seed.
//!
//! A generated script keeps to what both sides do at the same moment of virtual time: retries are
//! spread by chance, so between two lines `settle` there are only as many of them as fit. And it
//! keeps away from the policies that differ by choice; scripts written by hand show those. A wild
//! script keeps to nothing: only its end can be compared.

use clap::ValueEnum;
use fastrand::Rng;

use crate::script::SourceKind;

const KEYS: [&str; 4] = ["default/a", "default/b", "other/a", "other/c"];
const HANDLERS: [&str; 3] = ["h1", "h2", "h3"];

/// Retries between two lines `settle`. Backing off so often takes 50 seconds at most.
const RETRIES_MAX: usize = 5;

/// Lines `settle` in which all that a wild script has refused is asked for.
const WILD_SETTLES: usize = 15;

/// What to keep to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mood {
    /// Both sides do the same, step by step.
    Careful,
    /// Any fault comes at any time, and both sides come to the same end.
    Wild,
}

/// The script of a seed.
pub(crate) fn generate(seed: u64, mood: Mood) -> String {
    let mut rng = Rng::with_seed(seed);
    let mut generator = Generator {
        source: match rng.bool() {
            true => SourceKind::List,
            false => SourceKind::WatchList,
        },
        rng,
        mood,
        lines: Vec::new(),
        retries: RETRIES_MAX,
        weather: Weather::Stormy,
        resyncs: Resyncs::Off,
        paging: Paging::Off,
    };
    generator.header();
    generator.beginning();
    for _ in 0..generator.rng.usize(5..30) {
        generator.step();
    }
    generator.ending();
    generator.lines.join("\n")
}

struct Generator {
    rng: Rng,
    mood: Mood,
    source: SourceKind,
    lines: Vec<String>,
    /// How many more there may be before the next `settle`.
    retries: usize,
    weather: Weather,
    resyncs: Resyncs,
    paging: Paging,
}

/// Whether lists come in pages, which ours and client-go do not expect in all the same cases after
/// a list was refused.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Paging {
    On,
    Off,
}

/// Whether handlers are told everything again, which comes by another rhythm than client-go's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Resyncs {
    On,
    Off,
}

/// Whether there is a watch that has been open for long.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weather {
    Calm,
    Stormy,
}

impl Generator {
    fn header(&mut self) {
        if self.source == SourceKind::WatchList {
            self.say("source: watch-list");
            self.say("bookmark: after state");
        }
        if self.one_in(5) {
            let size = self.rng.u8(1..4);
            self.say(format!("page: {size}"));
            self.paging = Paging::On;
        }
        if self.mood == Mood::Wild && self.one_in(3) {
            self.say("queue: compressing");
        }
        if self.one_in(3) {
            self.say("expired: at start");
        }
        if self.one_in(4) {
            self.say("resync: 67s");
            self.resyncs = Resyncs::On;
        }
    }

    /// Some objects, some handlers, perhaps a source that refuses the first requests.
    fn beginning(&mut self) {
        for _ in 0..self.rng.usize(..4) {
            self.change();
        }
        if self.one_in(4) {
            self.refuse(&["500", "403", "503", "429", "connection"]);
        }
        if self.one_in(8) {
            self.say("refuse page 410");
        }
        for handler in &HANDLERS[..self.rng.usize(..3)] {
            self.say(format!("handler {handler}"));
        }
        self.say("start");
        if self.rng.bool() {
            self.settle();
        }
    }

    /// Time for all retries, so that the log ends with the whole truth.
    fn ending(&mut self) {
        if self.mood == Mood::Wild {
            self.say("release; unblock h1; unblock h2; unblock h3");
            for _ in 0..WILD_SETTLES {
                self.settle();
            }
            self.say("expire; error 410");
        }
        self.settle();
        self.settle();
    }

    fn step(&mut self) {
        if self.mood == Mood::Wild && self.one_in(4) {
            return self.wild_fault();
        }
        match self.rng.u8(..100) {
            0..38 => self.change(),
            38..46 => self.burst(),
            46..54 => {
                let change = self.next_change();
                self.say(format!("lose {change}"));
            }
            54..57 => {
                let key = self.pick(&KEYS);
                self.say(format!("modify {key}; repeat {key}"));
            }
            57..61 if self.weather == Weather::Calm => self.say("bookmark"),
            57..78 => self.fault(),
            78..82 => self.of_handler("handler"),
            82..84 => self.of_handler("remove"),
            84..90 if self.weather == Weather::Calm => self.slow_handler(),
            _ => self.settle(),
        }
    }

    fn settle(&mut self) {
        self.say("settle");
        self.retries = RETRIES_MAX;
        self.weather = Weather::Calm;
    }

    fn change(&mut self) {
        let change = self.next_change();
        self.say(change);
    }

    fn next_change(&mut self) -> String {
        let verb = self.pick(&["add", "modify", "modify", "delete"]);
        format!("{verb} {}", self.pick(&KEYS))
    }

    fn burst(&mut self) {
        let count = self.rng.usize(2..5);
        let changes: Vec<String> = (0..count).map(|_| self.next_change()).collect();
        self.say(changes.join("; "));
    }

    fn of_handler(&mut self, verb: &str) {
        let handler = self.pick(&HANDLERS);
        self.say(format!("{verb} {handler}"));
    }

    /// A handler that takes its time over a few changes, and is perhaps removed meanwhile.
    fn slow_handler(&mut self) {
        let handler = self.pick(&HANDLERS);
        self.say(format!("block {handler}"));
        for _ in 0..self.rng.usize(1..6) {
            match self.one_in(3) {
                true => self.burst(),
                false => self.change(),
            }
        }
        if self.one_in(4) {
            self.say(format!("remove {handler}"));
        }
        self.say(format!("unblock {handler}"));
    }

    /// Something that costs retries, or a change if there may be no more of them.
    fn fault(&mut self) {
        if self.retries < 2 {
            return self.change();
        }
        self.retries -= 2;
        match self.rng.u8(..20) {
            0..4 => self.say("reset"),
            4..6 if self.weather == Weather::Calm => self.say("break"),
            4..9 => {
                let fault = self.pick(&["410", "429", "500"]);
                self.say(format!("error {fault}"));
            }
            9..13 => {
                let expire = self.pick(&["expire", "expire; reset", "expire; error 410"]);
                self.say(expire);
            }
            13..16 => self.refuse(&["500", "403", "503", "429", "connection"]),
            16..18 => self.say("short watch"),
            _ => self.rare_fault(),
        }
        self.weather = Weather::Stormy;
    }

    /// Any fault at any time.
    fn wild_fault(&mut self) {
        let faults = [
            "400",
            "403",
            "404",
            "410",
            "422",
            "429",
            "500",
            "503",
            "504",
            "too-large",
            "connection",
        ];
        let times = self.rng.u8(1..4);
        match self.rng.u8(..12) {
            0 => self.say("break"),
            1 => self.say("reset; reset"),
            2 => self.say("bookmark"),
            3 => self.say(format!("restore @{}", self.lines.len() / 2)),
            4 => self.say(format!("cut {times}")),
            5 => self.say("hold"),
            6 => self.say("release"),
            7 => self.of_handler("block"),
            8 => self.of_handler("unblock"),
            9 => {
                let fault = self.pick(&faults[3..]);
                self.say(format!("error {fault}"));
            }
            _ => {
                let request = self.pick(&["list", "page", "watch", "watch-list"]);
                let fault = self.pick(&faults);
                self.say(format!("refuse {request} {fault} x{times}"));
            }
        }
    }

    fn rare_fault(&mut self) {
        match (self.source, self.paging, self.resyncs) {
            (SourceKind::List, Paging::Off, _) => self.refuse_version(),
            (SourceKind::WatchList, _, Resyncs::Off) => self.hold(),
            (SourceKind::List, Paging::On, _) | (SourceKind::WatchList, _, Resyncs::On) => {
                self.say("reset");
            }
        }
    }

    fn refuse(&mut self, faults: &[&'static str]) {
        let request = self.pick(&["list", "watch", "watch-list"]);
        let fault = self.pick(faults);
        let times = self.rng.usize(1..=self.retries.clamp(1, 3));
        self.retries = self.retries.saturating_sub(times);
        self.say(format!("refuse {request} {fault} x{times}"));
    }

    fn refuse_version(&mut self) {
        let request = self.pick(&["list", "watch"]);
        let fault = self.pick(&["410", "too-large"]);
        self.say(format!("refuse {request} {fault}"));
    }

    /// A state that is streamed slowly, while it changes.
    fn hold(&mut self) {
        self.say("hold");
        self.say("expire; error 410");
        self.settle();
        for _ in 0..self.rng.usize(..6) {
            match self.one_in(4) {
                true => self.burst(),
                false => self.change(),
            }
        }
        if self.one_in(3) {
            let end = self.pick(&["reset", "break"]);
            self.say(end);
            self.change();
        }
        self.say("release");
        self.settle();
    }

    fn pick(&mut self, words: &[&'static str]) -> &'static str {
        words[self.rng.usize(..words.len())]
    }

    fn one_in(&mut self, count: u8) -> bool {
        self.rng.u8(..count) == 0
    }

    fn say(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Script;

    #[test]
    fn a_seed_makes_one_script_that_can_be_read() {
        for seed in 0..500 {
            for mood in [Mood::Careful, Mood::Wild] {
                let script = generate(seed, mood);
                assert_eq!(script, generate(seed, mood));
                Script::parse(&script).unwrap();
            }
        }
    }

    #[test]
    fn seeds_make_different_scripts() {
        assert_ne!(generate(1, Mood::Careful), generate(2, Mood::Careful));
        assert_ne!(generate(1, Mood::Careful), generate(1, Mood::Wild));
    }
}
