//! How far a copy is: a bar on a terminal, a line every few seconds elsewhere.

use std::{
    convert::Infallible,
    io::{self, IsTerminal, Write},
    time::Duration,
};

use tokio::time::{Instant, sleep};

use super::engine::Observed;

const BAR_INTERVAL: Duration = Duration::from_millis(200);
const LINE_INTERVAL: Duration = Duration::from_secs(5);
const BAR_LETTERS: u64 = 20;

/// How far a copy is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) stage: Stage,
    /// Of the stage; what an earlier run did counts as done.
    pub(crate) done: u64,
    pub(crate) total: u64,
    /// What was done when the stage began.
    pub(crate) done_before: u64,
    /// How often everything had to be looked at again.
    pub(crate) starts_over: u64,
}

/// What a copy is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Looking at both stores.
    #[default]
    Opening,
    /// Writing the objects of one revision.
    Copying,
    /// Writing what changed since.
    Following,
    /// Reading both.
    Comparing,
}

/// Where progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// On one line, again and again.
    Bar,
    /// On a new line each time.
    Lines,
}

impl Progress {
    /// Begins a stage.
    pub(crate) fn begin(&mut self, stage: Stage, done: u64, total: u64) {
        (self.stage, self.done, self.total) = (stage, done, total);
        self.done_before = done;
    }

    /// The line to show so long after the stage began.
    fn line(&self, manner: Manner, elapsed: Duration) -> String {
        let verb = match self.stage {
            Stage::Opening => return "opening both places".to_owned(),
            Stage::Following => {
                let changes = grouped(self.done);
                return format!("following   {changes} changes since");
            }
            Stage::Copying => "copying  ",
            Stage::Comparing => "comparing",
        };
        let (done, total) = (self.done.min(self.total), self.total.max(1));
        let share = done * 100 / total;
        let bar = match manner {
            Manner::Lines => String::new(),
            Manner::Bar => {
                let filled = (done * BAR_LETTERS / total) as usize;
                let empty = BAR_LETTERS as usize - filled;
                format!("[{}{}]  ", "#".repeat(filled), ".".repeat(empty))
            }
        };
        let (done, all) = (grouped(done), grouped(self.total));
        let speed = self.speed(elapsed);
        format!("{verb}   {bar}{share:>3}%  {done} of {all}{speed}")
    }

    /// How fast it goes, and when it will end.
    fn speed(&self, elapsed: Duration) -> String {
        let milliseconds = elapsed.as_millis().max(1) as u64;
        let rate = (self.done - self.done_before) * 1000 / milliseconds;
        if rate == 0 {
            return String::new();
        }
        let left = self.total.saturating_sub(self.done).div_ceil(rate);
        let left = shown_duration(Duration::from_secs(left));
        format!("  {}/s  {left} left", grouped(rate))
    }
}

impl Manner {
    /// What suits standard error.
    pub(crate) fn of_standard_error() -> Self {
        match io::stderr().is_terminal() {
            true => Self::Bar,
            false => Self::Lines,
        }
    }

    /// Removes the bar, so that other lines can follow.
    pub(crate) fn clear(self) {
        if self == Self::Bar {
            eprint!("\r\x1b[K");
        }
    }

    fn show(self, line: &str) {
        match self {
            Self::Bar => eprint!("\r{line}\x1b[K"),
            Self::Lines => eprintln!("{line}"),
        }
        // Who cannot see the progress can see the end.
        let _ = io::stderr().flush();
    }
}

/// Shows the progress until it is dropped.
pub(crate) async fn show(observed: &Observed, manner: Manner) -> Infallible {
    let interval = match manner {
        Manner::Bar => BAR_INTERVAL,
        Manner::Lines => LINE_INTERVAL,
    };
    let mut shown = Progress::default();
    let mut begun = Instant::now();
    loop {
        sleep(interval).await;
        let progress = observed.progress.borrow().clone();
        if progress.starts_over != shown.starts_over {
            manner.clear();
            eprintln!("{STARTED_OVER}");
        }
        if progress.stage != shown.stage || progress.starts_over != shown.starts_over {
            begun = Instant::now() - interval;
        }
        match observed.waiting.borrow().clone() {
            Some(reason) => manner.show(&format!("waiting: {reason}")),
            None => manner.show(&progress.line(manner, begun.elapsed())),
        }
        shown = progress;
    }
}

const STARTED_OVER: &str = "the source no longer knows the revision that was being copied, or the \
     target differs: looking at every object again, and writing only what differs";

/// A number with its thousands apart.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time for people.
pub(crate) fn shown_duration(duration: Duration) -> String {
    match duration.as_secs() {
        0..10 if duration.subsec_millis() > 0 => format!("{:.1} s", duration.as_secs_f64()),
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h", seconds.div_ceil(3600)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_share_rate_and_remaining_time() {
        let mut progress = Progress::default();
        let elapsed = Duration::from_secs(2);
        assert_eq!(progress.line(Manner::Bar, elapsed), "opening both places");
        progress.begin(Stage::Copying, 100, 3_100);
        progress.done = 1_100;
        let line = progress.line(Manner::Lines, elapsed);
        assert_eq!(line, "copying      35%  1,100 of 3,100  500/s  4 s left");
        let bar = progress.line(Manner::Bar, elapsed);
        assert!(bar.contains("[#######.............]"), "{bar}");
        assert!(bar.len() <= 80, "{bar}");
    }

    #[test]
    fn nothing_to_copy_is_no_division_by_zero() {
        let mut progress = Progress::default();
        progress.begin(Stage::Comparing, 0, 0);
        let line = progress.line(Manner::Lines, Duration::ZERO);
        assert_eq!(line, "comparing     0%  0 of 0");
    }

    #[test]
    fn times_and_numbers_are_for_people() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(shown_duration(Duration::from_millis(1_250)), "1.2 s");
        assert_eq!(shown_duration(Duration::from_secs(119)), "119 s");
        assert_eq!(shown_duration(Duration::from_secs(121)), "3 min");
        assert_eq!(shown_duration(Duration::from_secs(7_201)), "3 h");
    }
}
