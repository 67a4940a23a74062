//! What a scenario finds: numbers with a unit, and the bar that they are held to.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::plot::Point;

/// One number of one scenario.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) struct Measure {
    /// What was measured, in the words of the table.
    pub(crate) scenario: String,
    /// How much, the server and its store together.
    pub(crate) value: f64,
    /// How much of it was a store's that is a process of its own.
    pub(crate) store: Option<f64>,
    /// Of what.
    pub(crate) unit: Unit,
    /// What is expected of it.
    pub(crate) bar: Option<Bar>,
}

/// What a number counts.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) enum Unit {
    /// Less is better.
    Seconds,
    /// Less is better, and none is best: seconds more than without.
    Difference,
    /// Less is better.
    Bytes,
    /// More is better.
    PerSecond,
    /// More is better.
    BytesPerSecond,
    /// Less is better: bytes held for each byte of data.
    Times,
    /// Neither is better.
    Count,
    /// Neither is better.
    Percent,
}

/// What is expected of a number.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) enum Bar {
    /// So many times better than the peer.
    Better(f64),
    /// The other at most this many times as dear, its store apart.
    Within(f64),
    /// At most this, in the measure's own unit.
    Below(f64),
    /// At least this, in the measure's own unit.
    AtLeast(f64),
}

/// What a group of scenarios has found on one server.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Findings {
    /// In the order of the table.
    pub(crate) measures: Vec<Measure>,
    /// What is plotted.
    pub(crate) points: Vec<Point>,
    /// What a reader should know beside the numbers, each a sentence without its end.
    pub(crate) notes: Vec<String>,
}

impl Findings {
    /// Adds a time.
    pub(crate) fn time(&mut self, scenario: impl Into<String>, value: Duration) -> &mut Measure {
        self.add(scenario, value.as_secs_f64(), Unit::Seconds)
    }

    /// Adds a number of bytes.
    pub(crate) fn bytes(&mut self, scenario: impl Into<String>, value: f64) -> &mut Measure {
        self.add(scenario, value, Unit::Bytes)
    }

    /// Adds anything.
    pub(crate) fn add(
        &mut self,
        scenario: impl Into<String>,
        value: f64,
        unit: Unit,
    ) -> &mut Measure {
        self.measures.push(Measure {
            scenario: scenario.into(),
            value,
            store: None,
            unit,
            bar: None,
        });
        self.measures.last_mut().expect("it has just been added")
    }
}

impl Measure {
    /// Says what is expected of it.
    pub(crate) fn bar(&mut self, bar: Bar) {
        self.bar = Some(bar);
    }

    /// How many times better than the other, if either can be.
    pub(crate) fn times_better(&self, other: &Self) -> Option<f64> {
        let ratio = match self.unit {
            Unit::Seconds | Unit::Bytes | Unit::Times => other.value / self.value,
            Unit::PerSecond | Unit::BytesPerSecond => self.value / other.value,
            Unit::Difference | Unit::Count | Unit::Percent => return None,
        };
        ratio.is_finite().then_some(ratio)
    }

    /// How many times as dear the other is, if it can be, the stores of both apart.
    pub(crate) fn dearer_alone(&self, other: &Self) -> Option<f64> {
        let alone = |measure: &Self| Self {
            value: measure.value - measure.store.unwrap_or(0.0),
            ..measure.clone()
        };
        alone(self).times_better(&alone(other))
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let text = self.unit.text(self.value);
        match self.store {
            Some(store) if store > 0.0 => format!("{text} (etcd {})", self.unit.text(store)),
            Some(_) | None => text,
        }
    }

    /// What is expected, for people.
    pub(crate) fn bar_text(&self) -> String {
        match self.bar {
            None => String::new(),
            Some(Bar::Better(times)) => format!("{times} ×"),
            Some(Bar::Within(times)) => format!("< {times}"),
            Some(Bar::Below(value)) => format!("< {}", self.unit.text(value)),
            Some(Bar::AtLeast(value)) => format!("≥ {}", self.unit.text(value)),
        }
    }

    /// Whether it is as expected; a bar against a peer that is missing is neither.
    pub(crate) fn meets_bar(&self, peer: Option<&Self>) -> Option<bool> {
        match self.bar? {
            Bar::Better(times) => Some(self.times_better(peer?)? >= times),
            Bar::Within(times) => Some(self.dearer_alone(peer?)? < times),
            Bar::Below(value) => Some(self.value < value),
            Bar::AtLeast(value) => Some(self.value >= value),
        }
    }
}

impl Unit {
    /// A number of this unit with three digits or more.
    pub(crate) fn text(self, value: f64) -> String {
        let magnitude = value.abs();
        match self {
            Self::Seconds if magnitude >= 1.0 => format!("{value:.2} s"),
            Self::Seconds if magnitude >= 1e-3 => format!("{} ms", three_digits(value * 1e3)),
            Self::Seconds => format!("{} µs", three_digits(value * 1e6)),
            Self::Difference => Self::Seconds.text(value),
            Self::Bytes if magnitude >= 1e6 => format!("{} MB", three_digits(value / 1e6)),
            Self::Bytes => format!("{} KB", three_digits(value / 1e3)),
            Self::BytesPerSecond => format!("{} MB/s", three_digits(value / 1e6)),
            Self::PerSecond => format!("{}/s", thousands(value)),
            Self::Times => format!("{value:.2}"),
            Self::Count => thousands(value),
            Self::Percent => format!("{value:.2} %"),
        }
    }
}

fn three_digits(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => thousands(value),
        medium if medium >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A whole number with commas.
fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::from(if value < -0.5 { "-" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_in_the_unit_that_people_read() {
        let cases = [
            (Unit::Seconds, 1.234_5, "1.23 s"),
            (Unit::Seconds, 0.012_34, "12.3 ms"),
            (Unit::Seconds, 0.000_001_234, "1.23 µs"),
            (Unit::Bytes, 38_000_000.0, "38.0 MB"),
            (Unit::Bytes, 2_840.0, "2.84 KB"),
            (Unit::PerSecond, 1_234_567.0, "1,234,567/s"),
            (Unit::BytesPerSecond, 1.2e9, "1,200 MB/s"),
            (Unit::Count, 12.0, "12"),
            (Unit::Percent, 99.96, "99.96 %"),
            (Unit::Times, 1.2, "1.20"),
        ];
        for (unit, value, text) in cases {
            assert_eq!(unit.text(value), text);
        }
        assert_eq!(thousands(-1_234.0), "-1,234");
    }

    fn measure(unit: Unit, value: f64) -> Measure {
        Findings::default().add("it", value, unit).clone()
    }

    #[test]
    fn less_time_and_more_work_are_better() {
        let times = |unit, ours, theirs| measure(unit, ours).times_better(&measure(unit, theirs));
        assert_eq!(times(Unit::Seconds, 1.0, 10.0), Some(10.0));
        assert_eq!(times(Unit::PerSecond, 10.0, 1.0), Some(10.0));
        assert_eq!(times(Unit::Count, 10.0, 1.0), None);
        assert_eq!(times(Unit::Seconds, 0.0, 1.0), None);
    }

    #[test]
    fn a_bar_is_held_against_the_peer_or_against_the_number() {
        let mut ours = measure(Unit::Seconds, 0.004);
        assert_eq!(ours.meets_bar(None), None);
        ours.bar(Bar::Below(0.005));
        assert_eq!(ours.meets_bar(None), Some(true));
        assert_eq!(ours.bar_text(), "< 5.00 ms");
        ours.bar(Bar::Better(10.0));
        assert_eq!(ours.meets_bar(None), None);
        let meets = |theirs| ours.meets_bar(Some(&measure(Unit::Seconds, theirs)));
        assert_eq!((meets(0.05), meets(0.03)), (Some(true), Some(false)));
    }

    #[test]
    fn what_a_store_took_by_itself_is_told_and_can_be_left_out() {
        let mut ours = measure(Unit::Seconds, 0.002);
        ours.bar(Bar::Within(1.2));
        let mut theirs = measure(Unit::Seconds, 0.010);
        assert_eq!(ours.meets_bar(Some(&theirs)), Some(false));
        theirs.store = Some(0.008);
        assert_eq!(ours.meets_bar(Some(&theirs)), Some(true));
        assert_eq!(theirs.text(), "10.0 ms (etcd 8.00 ms)");
    }
}
