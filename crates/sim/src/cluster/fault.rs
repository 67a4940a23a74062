//! What goes wrong, and when: chosen by the seed before anything runs.

use std::{fmt, time::Duration};

use super::line::Passage;

/// Servers in front of etcd, and members of etcd.
pub(super) const SERVERS: usize = 3;
/// Members of etcd.
pub(super) const MEMBERS: usize = 3;

/// How long one trouble and the calm after it take, where the run is long enough.
const SLOT: std::ops::Range<Duration> = Duration::from_secs(3)..Duration::from_secs(14);

/// How often everything is restarted in a long run.
const RESTART_INTERVAL: Duration = Duration::from_secs(60);

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A member of etcd is killed, and started again at the end.
    KillMember(usize),
    /// The same with whichever member leads then.
    KillLeader,
    /// All members but this one.
    KillMajority(usize),
    /// A member stands still.
    PauseMember(usize),
    /// The same with whichever member leads then.
    PauseLeader,
    /// No way between a member and the others, nor between it and the servers.
    IsolateMember(usize, Passage),
    /// The same with whichever member leads then.
    IsolateLeader(Passage),
    /// etcd forgets everything before its newest revision.
    Compact,
    /// A member writes its database anew.
    Defragment(usize),
    /// A server is killed, and started again at the end.
    KillServer(usize),
    /// A server stands still.
    PauseServer(usize),
    /// No way between a server and etcd.
    IsolateServer(usize, Passage),
    /// The same, and etcd forgets meanwhile what the server has not seen.
    CompactBehindServer(usize, Passage),
    /// No way between a server and one member.
    CutLine {
        /// The server.
        server: usize,
        /// The member.
        member: usize,
        /// How.
        passage: Passage,
    },
    /// All members and all servers are killed, and started again at the end.
    RestartEverything,
}

/// A fault and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedFault {
    /// When it begins, from the beginning of the run.
    pub begins: Duration,
    /// When it ends.
    pub ends: Duration,
    /// What goes wrong.
    pub fault: Fault,
}

/// Makes one fault of its kind.
type Choose = fn(&mut fastrand::Rng) -> Fault;

const ETCD: [Choose; 9] = [
    |random| Fault::KillMember(random.usize(..MEMBERS)),
    |_| Fault::KillLeader,
    |random| Fault::KillMajority(random.usize(..MEMBERS)),
    |random| Fault::PauseMember(random.usize(..MEMBERS)),
    |_| Fault::PauseLeader,
    |random| Fault::IsolateMember(random.usize(..MEMBERS), cut(random)),
    |random| Fault::IsolateLeader(cut(random)),
    |_| Fault::Compact,
    |random| Fault::Defragment(random.usize(..MEMBERS)),
];

const SERVER: [Choose; 5] = [
    |random| Fault::KillServer(random.usize(..SERVERS)),
    |random| Fault::PauseServer(random.usize(..SERVERS)),
    |random| Fault::IsolateServer(random.usize(..SERVERS), cut(random)),
    |random| Fault::CompactBehindServer(random.usize(..SERVERS), cut(random)),
    |random| Fault::CutLine {
        server: random.usize(..SERVERS),
        member: random.usize(..MEMBERS),
        passage: cut(random),
    },
];

fn cut(random: &mut fastrand::Rng) -> Passage {
    match random.bool() {
        true => Passage::Silent,
        false => Passage::Closed,
    }
}

impl Fault {
    /// How many kinds there are.
    pub const KINDS: usize = ETCD.len() + SERVER.len() + 1;

    /// What kind of fault it is, without where.
    pub fn kind(self) -> &'static str {
        match self {
            Self::KillMember(_) => "kill a member",
            Self::KillLeader => "kill the leader",
            Self::KillMajority(_) => "kill a majority",
            Self::PauseMember(_) => "pause a member",
            Self::PauseLeader => "pause the leader",
            Self::IsolateMember(..) => "isolate a member",
            Self::IsolateLeader(_) => "isolate the leader",
            Self::Compact => "compact",
            Self::Defragment(_) => "defragment",
            Self::KillServer(_) => "kill a server",
            Self::PauseServer(_) => "pause a server",
            Self::IsolateServer(..) => "isolate a server",
            Self::CompactBehindServer(..) => "compact behind a server",
            Self::CutLine { .. } => "cut a line",
            Self::RestartEverything => "restart everything",
        }
    }
}

/// The faults of a run, each kind at least once, in order of beginning.
///
/// What happens to etcd and what happens to servers are two sequences of their own, so that both
/// are in trouble at once. Only a restart of everything stands alone.
pub(super) fn schedule(duration: Duration, random: &mut fastrand::Rng) -> Vec<PlannedFault> {
    let restarts = (duration.as_secs() / RESTART_INTERVAL.as_secs()).max(1);
    let restarts = u32::try_from(restarts).unwrap_or(u32::MAX);
    let part = duration / (restarts + 1);
    let pause = (part / 3).min(SLOT.start * 2);
    let mut faults = Vec::new();
    for kinds in [&ETCD[..], &SERVER[..]] {
        let mut choices = Choices::new(kinds, restarts + 1);
        for number in 0..=restarts {
            let begins = part * number + if number == 0 { part / 20 } else { pause };
            choices.fill(begins..part * (number + 1), random, &mut faults);
        }
    }
    faults.extend((1..=restarts).map(|number| PlannedFault {
        begins: part * number,
        ends: part * number + pause / 3,
        fault: Fault::RestartEverything,
    }));
    faults.sort_by_key(|planned| planned.begins);
    faults
}

/// The kinds of one sequence: first each once, then any.
struct Choices<'a> {
    kinds: &'a [Choose],
    /// At least so many in each part of the run, so that each kind has its turn.
    per_part: u32,
    next: usize,
    order: Vec<usize>,
}

impl<'a> Choices<'a> {
    fn new(kinds: &'a [Choose], parts: u32) -> Self {
        let count = u32::try_from(kinds.len()).unwrap_or(u32::MAX);
        Self {
            kinds,
            per_part: count.div_ceil(parts),
            next: 0,
            order: (0..kinds.len()).collect(),
        }
    }

    fn choose(&mut self, random: &mut fastrand::Rng) -> Fault {
        if self.next == 0 {
            random.shuffle(&mut self.order);
        }
        let number = self.order.get(self.next).copied();
        self.next += 1;
        let number = number.unwrap_or_else(|| random.usize(..self.kinds.len()));
        self.kinds[number](random)
    }

    /// One fault after the other, with calm between them.
    fn fill(
        &mut self,
        time: std::ops::Range<Duration>,
        random: &mut fastrand::Rng,
        faults: &mut Vec<PlannedFault>,
    ) {
        let slot_max = (time.end - time.start) / self.per_part;
        let mut begins = time.start;
        loop {
            let wanted = SLOT.start + (SLOT.end - SLOT.start).mul_f64(random.f64().powi(2));
            let slot = wanted.min(slot_max);
            if begins + slot > time.end + Duration::from_millis(1) {
                return;
            }
            faults.push(PlannedFault {
                begins,
                ends: begins + slot.mul_f64(0.4 + 0.35 * random.f64()),
                fault: self.choose(random),
            });
            begins += slot;
        }
    }
}

impl fmt::Display for PlannedFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            begins,
            ends,
            fault,
        } = self;
        write!(
            formatter,
            "{:8.3} s to {:8.3} s  {fault:?}",
            begins.as_secs_f64(),
            ends.as_secs_f64()
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn planned(seconds: u64, seed: u64) -> Vec<PlannedFault> {
        let mut random = fastrand::Rng::with_seed(seed);
        schedule(Duration::from_secs(seconds), &mut random)
    }

    #[test]
    fn every_kind_has_its_turn_however_short_the_run() {
        for seconds in [20, 60, 600] {
            for seed in 0..50 {
                let faults = planned(seconds, seed);
                let kinds: BTreeSet<_> =
                    faults.iter().map(|planned| planned.fault.kind()).collect();
                assert_eq!(
                    kinds.len(),
                    Fault::KINDS,
                    "{seconds} s, seed {seed}: {faults:#?}"
                );
            }
        }
    }

    #[test]
    fn every_fault_ends_before_the_run_does() {
        for seed in 0..50 {
            for planned in planned(60, seed) {
                assert!(planned.begins < planned.ends, "{planned}");
                assert!(planned.ends < Duration::from_secs(60), "{planned}");
            }
        }
    }

    #[test]
    fn nothing_else_is_wrong_while_everything_is_restarted() {
        for seed in 0..50 {
            let faults = planned(600, seed);
            let is_restart = |planned: &&PlannedFault| planned.fault == Fault::RestartEverything;
            for restart in faults.iter().filter(is_restart) {
                for other in faults.iter().filter(|other| !is_restart(other)) {
                    let apart = other.ends <= restart.begins || restart.ends <= other.begins;
                    assert!(apart, "{restart} and {other}");
                }
            }
        }
    }
}
