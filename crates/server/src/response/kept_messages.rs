//! Messages of objects that many ask for, kept beside the objects and bounded for themselves.

use std::collections::HashMap;

use bytes::Bytes;
use listwatch_store::{Key, Revision};
use parking_lot::Mutex;

use crate::watch_cache::EncodingId;

/// Bytes that all messages take together. At the bound, those that nobody has asked for since the
/// last look go; while all are asked for, further ones are made for each request.
const BYTES_MAX: usize = 64 * 1024 * 1024;

/// Parts with a lock each, so that lists on several cores seldom meet.
const PARTS: usize = 16;

/// Bytes that a message takes beside its own.
const OVERHEAD: usize = 128;

/// One state of one object in one encoding.
pub(crate) struct Identity<'a> {
    pub(crate) key: &'a Key,
    pub(crate) revision: Revision,
    pub(crate) encoding: EncodingId,
}

/// All messages that are kept. Empty, and of no cost, until someone asks for protobuf.
pub(crate) struct KeptMessages {
    parts: [Mutex<Part>; PARTS],
    bytes_max: usize,
}

#[derive(Default)]
struct Part {
    /// Two objects written at one revision share a place, which the later one takes.
    messages: HashMap<(Revision, EncodingId), Kept>,
    bytes: usize,
    /// Messages that found no room since the last look.
    turned_away: usize,
}

struct Kept {
    key: Key,
    message: Bytes,
    demand: Demand,
}

/// Whether a message was asked for since the last look.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Demand {
    Recent,
    None,
}

impl Default for KeptMessages {
    fn default() -> Self {
        Self::with_limit(BYTES_MAX)
    }
}

impl KeptMessages {
    fn with_limit(bytes_max: usize) -> Self {
        Self {
            parts: Default::default(),
            bytes_max,
        }
    }

    /// The message of this state, if it is kept.
    pub(crate) fn get(&self, identity: &Identity<'_>) -> Option<Bytes> {
        let mut part = self.part(identity).lock();
        let kept = part.messages.get_mut(&identity.place())?;
        if kept.key != *identity.key {
            return None;
        }
        kept.demand = Demand::Recent;
        Some(kept.message.clone())
    }

    /// Keeps the message of this state, if there is room.
    pub(crate) fn keep(&self, identity: &Identity<'_>, message: &Bytes) {
        let mut part = self.part(identity).lock();
        let (length, bytes_max) = (message.len() + OVERHEAD, self.bytes_max / PARTS);
        if part.bytes + length > bytes_max {
            part.make_room();
            if part.bytes + length > bytes_max {
                return;
            }
        }
        let kept = Kept {
            key: identity.key.clone(),
            message: message.clone(),
            demand: Demand::Recent,
        };
        part.bytes += length;
        if let Some(replaced) = part.messages.insert(identity.place(), kept) {
            part.bytes -= replaced.length();
        }
    }

    fn part(&self, identity: &Identity<'_>) -> &Mutex<Part> {
        let place = identity.revision.get() % PARTS as u64;
        &self.parts[usize::try_from(place).expect("there are few parts")]
    }
}

impl Identity<'_> {
    fn place(&self) -> (Revision, EncodingId) {
        (self.revision, self.encoding)
    }
}

impl Kept {
    fn length(&self) -> usize {
        self.message.len() + OVERHEAD
    }
}

impl Part {
    /// Lets go of what nobody asks for. Looks at everything, and therefore only after as many were
    /// turned away.
    fn make_room(&mut self) {
        self.turned_away += 1;
        if self.turned_away < self.messages.len() {
            return;
        }
        self.turned_away = 0;
        self.messages
            .retain(|_, kept| std::mem::replace(&mut kept.demand, Demand::None) == Demand::Recent);
        self.bytes = self.messages.values().map(Kept::length).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENCODING: EncodingId = EncodingId::new(9);
    /// As long with its overhead as a part has room for four.
    const LENGTH: usize = 1024 - OVERHEAD;

    struct Scene {
        messages: KeptMessages,
        key: Key,
    }

    impl Scene {
        fn new() -> Self {
            Self {
                messages: KeptMessages::with_limit(4 * 1024 * PARTS),
                key: Key::new("/registry/things/a"),
            }
        }

        /// All states of one scene are in the same part.
        fn identity(&self, number: u64) -> Identity<'_> {
            Identity {
                key: &self.key,
                revision: Revision::new(number * PARTS as u64),
                encoding: ENCODING,
            }
        }

        fn keep(&self, number: u64) {
            let message = Bytes::from(vec![0; LENGTH]);
            self.messages.keep(&self.identity(number), &message);
        }

        fn has(&self, number: u64) -> bool {
            self.messages.get(&self.identity(number)).is_some()
        }
    }

    #[test]
    fn a_message_is_found_by_key_revision_and_encoding() {
        let scene = Scene::new();
        scene.keep(1);
        assert!(scene.has(1) && !scene.has(2));
        let other_key = Key::new("/registry/things/b");
        let identity = scene.identity(1);
        let key = &other_key;
        assert!(scene.messages.get(&Identity { key, ..identity }).is_none());
        let encoding = EncodingId::new(1);
        let identity = scene.identity(1);
        assert!(
            scene
                .messages
                .get(&Identity {
                    encoding,
                    ..identity
                })
                .is_none()
        );
    }

    #[test]
    fn what_is_asked_for_stays_and_nothing_goes_beyond_the_bound() {
        let scene = Scene::new();
        for round in 0..3 {
            for number in 0..8 {
                if !scene.has(number) {
                    scene.keep(number);
                }
            }
            let kept: Vec<u64> = (0..8).filter(|number| scene.has(*number)).collect();
            assert_eq!(kept, [0, 1, 2, 3], "round {round}");
        }
    }

    #[test]
    fn what_nobody_asks_for_makes_room() {
        let scene = Scene::new();
        (0..4).for_each(|number| scene.keep(number));
        for number in 100..112 {
            assert!(scene.has(3));
            scene.keep(number);
        }
        assert!(scene.has(3) && !scene.has(0));
        assert!((100..112).any(|number| scene.has(number)));
    }
}
