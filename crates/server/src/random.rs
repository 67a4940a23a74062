//! Chance.

use std::{ops::Range, sync::Arc, time::Duration};

use parking_lot::Mutex;

/// Where random numbers come from: the system, or a seed that a test chose.
#[derive(Clone, Debug)]
pub struct Random(Source);

#[derive(Clone, Debug)]
enum Source {
    System(Arc<Mutex<Reserve>>),
    Seeded(Arc<Mutex<fastrand::Rng>>),
}

/// Bytes taken from the system together, so that most requests need not call it. None of them is
/// given out twice.
#[derive(Debug)]
struct Reserve {
    bytes: [u8; RESERVE_BYTES],
    used: usize,
}

/// Where the two digits of each byte of a UUID stand in its text.
const UUID_PLACES: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/// Enough for the identifiers of some sixty requests.
const RESERVE_BYTES: usize = 1024;

impl Random {
    /// The system's random numbers, fit for identifiers.
    pub fn system() -> Self {
        let reserve = Reserve {
            bytes: [0; RESERVE_BYTES],
            used: RESERVE_BYTES,
        };
        Self(Source::System(Arc::new(Mutex::new(reserve))))
    }

    /// The same numbers for the same seed.
    pub fn seeded(seed: u64) -> Self {
        Self(Source::Seeded(Arc::new(Mutex::new(
            fastrand::Rng::with_seed(seed),
        ))))
    }

    /// A number in `0..bound`.
    pub fn below(&self, bound: usize) -> usize {
        // 64 bits of chance make the bias of the multiplication too small to notice.
        let bits = u64::from_le_bytes(self.bytes());
        let scaled = (u128::from(bits) * bound as u128) >> 64;
        usize::try_from(scaled).expect("less than the bound")
    }

    /// A duration in the range.
    pub fn duration(&self, range: Range<Duration>) -> Duration {
        let span = range.end.saturating_sub(range.start);
        let millis = usize::try_from(span.as_millis())
            .unwrap_or(usize::MAX)
            .max(1);
        range.start + Duration::from_millis(self.below(millis) as u64)
    }

    /// A random (version 4) UUID in its usual text form.
    pub fn uuid(&self) -> String {
        let mut bytes: [u8; 16] = self.bytes();
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        let digit = |digit: u8| b"0123456789abcdef"[usize::from(digit)];
        let mut text = [b'-'; 36];
        for (place, byte) in UUID_PLACES.into_iter().zip(bytes) {
            text[place] = digit(byte >> 4);
            text[place + 1] = digit(byte & 0x0f);
        }
        let text = std::str::from_utf8(&text).expect("digits and dashes are text");
        text.to_owned()
    }

    fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        match &self.0 {
            Source::System(reserve) => reserve.lock().fill(&mut bytes),
            Source::Seeded(generator) => generator.lock().fill(&mut bytes),
        }
        bytes
    }
}

impl Reserve {
    fn fill(&mut self, wanted: &mut [u8]) {
        if self.bytes.len() - self.used < wanted.len() {
            getrandom::fill(&mut self.bytes).expect("the system has random numbers to give");
            self.used = 0;
        }
        let given = self.used..self.used + wanted.len();
        self.used = given.end;
        wanted.copy_from_slice(&self.bytes[given.clone()]);
        self.bytes[given].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_uuid_is_of_version_four() {
        let uuid = Random::seeded(1).uuid();
        assert_eq!(uuid.len(), 36);
        assert_eq!(&uuid[14..15], "4");
        assert!(matches!(&uuid[19..20], "8" | "9" | "a" | "b"), "{uuid}");
        let groups: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(groups, [8, 4, 4, 4, 12]);
    }

    #[test]
    fn nothing_of_the_reserve_is_given_twice() {
        let random = Random::system();
        let given: HashSet<String> = (0..1_000).map(|_| random.clone().uuid()).collect();
        assert_eq!(given.len(), 1_000);
    }

    #[test]
    fn the_same_seed_tells_the_same_story() {
        assert_eq!(Random::seeded(7).uuid(), Random::seeded(7).uuid());
        assert_ne!(Random::system().uuid(), Random::system().uuid());
    }

    #[test]
    fn numbers_stay_below_their_bound() {
        let random = Random::seeded(3);
        assert!((0..1_000).all(|_| random.below(27) < 27));
    }
}
