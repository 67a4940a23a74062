//! Chance.

use std::{ops::Range, sync::Arc, time::Duration};

use parking_lot::Mutex;

/// Where random numbers come from: the system, or a seed that a test chose.
#[derive(Clone, Debug)]
pub struct Random(Source);

#[derive(Clone, Debug)]
enum Source {
    System,
    Seeded(Arc<Mutex<fastrand::Rng>>),
}

impl Random {
    /// The system's random numbers, fit for identifiers.
    pub fn system() -> Self {
        Self(Source::System)
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
        let digits = u128::from_be_bytes(bytes);
        let text = format!("{digits:032x}");
        let parts = [
            &text[..8],
            &text[8..12],
            &text[12..16],
            &text[16..20],
            &text[20..],
        ];
        parts.join("-")
    }

    fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        match &self.0 {
            Source::System => {
                getrandom::fill(&mut bytes).expect("the system has random numbers to give");
            }
            Source::Seeded(generator) => generator.lock().fill(&mut bytes),
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_of_version_four() {
        let uuid = Random::seeded(1).uuid();
        assert_eq!(uuid.len(), 36);
        assert_eq!(&uuid[14..15], "4");
        assert!(matches!(&uuid[19..20], "8" | "9" | "a" | "b"), "{uuid}");
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
