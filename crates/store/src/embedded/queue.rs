//! Commits that wait for the writer, and the writer's turn.

use std::collections::VecDeque;

use super::writer::Request;

/// Commits that share one sync. The rest is the next group.
const GROUP_COMMITS_MAX: usize = 1024;

/// Room in the log for one group, in bytes; more only for a single commit that needs it.
const GROUP_BYTES_MAX: usize = 1024 * 1024;

/// Commits that wait, in the order they came.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: VecDeque<Request>,
    state: QueueState,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum QueueState {
    /// Nobody writes; whoever comes next starts the writer.
    #[default]
    Idle,
    /// The writer will come upon everything that waits.
    Writing,
    /// Nothing more is taken.
    Closed,
}

/// What to do about a commit that came.
#[derive(PartialEq, Eq)]
pub(crate) enum Pushed {
    /// The writer must be started.
    First,
    /// The writer will come upon it.
    Waiting,
    /// It was not taken.
    Refused,
}

impl Queue {
    /// Lets a commit wait.
    pub(crate) fn push(&mut self, request: Request) -> Pushed {
        let pushed = match self.state {
            QueueState::Closed => return Pushed::Refused,
            QueueState::Writing => Pushed::Waiting,
            QueueState::Idle => Pushed::First,
        };
        self.waiting.push_back(request);
        self.state = QueueState::Writing;
        pushed
    }

    /// The commits that are to share a sync; when there are none, nobody writes any more.
    pub(crate) fn take_group(&mut self) -> Vec<Request> {
        let mut bytes = 0;
        let fitting = self.waiting.iter().take(GROUP_COMMITS_MAX);
        let fitting = fitting.take_while(|request| {
            bytes += request.bytes_max();
            bytes <= GROUP_BYTES_MAX
        });
        let count = fitting.count().max(1).min(self.waiting.len());
        if count == 0 && self.state == QueueState::Writing {
            self.state = QueueState::Idle;
        }
        self.waiting.drain(..count).collect()
    }

    /// Takes nothing more; what waits is still written.
    pub(crate) fn close(&mut self) {
        self.state = QueueState::Closed;
    }

    /// The writer never came: those who wait learn it, and the next one starts it again.
    pub(crate) fn writer_never_came(&mut self) {
        self.waiting.clear();
        if self.state == QueueState::Writing {
            self.state = QueueState::Idle;
        }
    }

    /// The writer ended in the middle: those who wait learn it, and nobody starts it again.
    pub(crate) fn writer_failed(&mut self) {
        self.waiting.clear();
        self.state = QueueState::Closed;
    }
}
