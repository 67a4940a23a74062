//! How the server under test is set up: as usual, or so that its bounds are reached at once.

use std::time::Duration;

use listwatch_server::{Settings, watch_cache::CacheLimits};
use listwatch_store::{EmbeddedOptions, MemoryHistory};

/// About what a change takes that is kept in memory.
const CHANGE_BYTES: usize = 500;

/// What a seed asks of a server in this process.
#[derive(Clone, Debug)]
pub struct Circumstances {
    /// How much the watch cache holds.
    pub cache: CacheSize,
    /// How much of the past a store in memory keeps.
    pub past: Past,
    /// How long the server keeps streams open.
    pub streams: StreamLife,
}

/// How much a watch cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheSize {
    /// More than a run needs.
    Usual,
    /// Less than a second of a busy run.
    Small,
    /// So little that watchers keep falling back on the store.
    Tiny,
}

/// How much of the past a store keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// All that a run makes: nobody is told that something has expired.
    Whole,
    /// So many changes: who was away for longer is told to list again.
    Changes(u32),
    /// So little that going back far fails.
    Short,
}

/// How long a server keeps a stream open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamLife {
    /// Longer than a run.
    Long,
    /// A moment only.
    Short,
}

impl Circumstances {
    /// As most users have it.
    pub fn usual() -> Self {
        Self {
            cache: CacheSize::Usual,
            past: Past::Whole,
            streams: StreamLife::Long,
        }
    }

    pub(super) fn random(random: &mut fastrand::Rng) -> Self {
        let mut rarely = || random.u8(0..3) == 0;
        Self {
            cache: if rarely() {
                CacheSize::Tiny
            } else {
                CacheSize::Usual
            },
            past: if rarely() { Past::Short } else { Past::Whole },
            streams: if rarely() {
                StreamLife::Short
            } else {
                StreamLife::Long
            },
        }
    }

    /// The server's settings. Bookmarks come more often than usual: a run is short.
    pub(crate) fn settings(&self) -> Settings {
        let defaults = Settings::default();
        Settings {
            bookmark_interval: Duration::from_millis(200),
            watch_lifetime_min: match self.streams {
                StreamLife::Long => defaults.watch_lifetime_min,
                StreamLife::Short => Duration::from_millis(300),
            },
            cache: match self.cache {
                CacheSize::Usual => defaults.cache,
                CacheSize::Small => CacheLimits {
                    history_events_max: 100,
                    history_bytes_max: 100_000,
                    ..defaults.cache
                },
                CacheSize::Tiny => CacheLimits {
                    history_events_max: 20,
                    history_bytes_max: 10_000,
                    group_log_events_max: 4,
                    shared_frames_events_max: 4,
                    shared_frames_bytes_max: 4_000,
                    ..defaults.cache
                },
            },
            ..defaults
        }
    }

    /// What the command can be told of this.
    pub(crate) fn command_options(&self) -> &'static [&'static str] {
        match self.past {
            Past::Whole => &["--bookmark-seconds", "1"],
            Past::Changes(_) | Past::Short => {
                &["--bookmark-seconds", "1", "--history-bytes", "65536"]
            }
        }
    }

    /// How much a store in memory keeps.
    pub(crate) fn memory_history(&self) -> MemoryHistory {
        let defaults = MemoryHistory::default();
        match self.past {
            Past::Whole => defaults,
            Past::Changes(most) => MemoryHistory {
                bytes_max: most as usize * CHANGE_BYTES,
                ..defaults
            },
            Past::Short => MemoryHistory {
                bytes_max: 60_000,
                ..defaults
            },
        }
    }

    /// How much the embedded store keeps, and how it is cut.
    pub(crate) fn embedded_options(&self) -> EmbeddedOptions {
        let mut options = EmbeddedOptions::default();
        match self.past {
            Past::Whole => {}
            Past::Changes(most) => {
                options.history_age = Duration::ZERO;
                options.history_changes = most as usize;
            }
            Past::Short => {
                options.history_age = Duration::ZERO;
                options.history_changes = 100;
            }
        }
        if self.cache == CacheSize::Tiny {
            options.tail_bytes = 4_000;
            options.segment_bytes = 64 * 1024;
        }
        options
    }
}
