//! Objects that are made from one template have the same labels: they share them.

use std::sync::Arc;

use super::{
    cursor::{Cursor, Next, unescape},
    header::Malformed,
};
use crate::Labels;

/// Label sets, and texts in them, that are kept to be shared. One that was pushed out of its place
/// by another is only not shared with the objects that come later.
const PLACES: usize = 512;
/// Bytes of a label set that is shared as a whole; a longer one shares only its texts.
const SHARED_SET_BYTES_MAX: usize = 1024;

/// Label sets that were seen lately, to be shared between objects. It never grows beyond its bound.
#[derive(Debug)]
pub struct LabelPool {
    sets: Vec<Option<SharedSet>>,
    texts: Vec<Option<Arc<str>>>,
}

#[derive(Debug)]
struct SharedSet {
    written: Box<[u8]>,
    labels: Labels,
}

impl LabelPool {
    /// The labels in this JSON object.
    pub fn labels(&mut self, written: &[u8]) -> Result<Labels, Malformed> {
        let place = place_of(written);
        match &self.sets[place] {
            Some(shared) if *shared.written == *written => return Ok(shared.labels.clone()),
            Some(_) | None => {}
        }
        let labels = self.read(written)?;
        if written.len() <= SHARED_SET_BYTES_MAX {
            self.sets[place] = Some(SharedSet {
                written: written.into(),
                labels: labels.clone(),
            });
        }
        Ok(labels)
    }

    fn read(&mut self, written: &[u8]) -> Result<Labels, Malformed> {
        let mut cursor = Cursor::new(written);
        let mut labels = Vec::new();
        let mut next = cursor.open(b'{', b'}')?;
        while next == Next::Another {
            let name = cursor.name()?;
            let name = std::str::from_utf8(&name).map_err(|_| Malformed::new("not UTF-8"))?;
            let value = unescape(cursor.string()?)?;
            labels.push((self.text(name), self.text(&value)));
            next = cursor.more(b'}')?;
        }
        Ok(labels.into_iter().collect())
    }

    fn text(&mut self, text: &str) -> Arc<str> {
        let place = &mut self.texts[place_of(text.as_bytes())];
        match place {
            Some(shared) if **shared == *text => Arc::clone(shared),
            Some(_) | None => Arc::clone(place.insert(text.into())),
        }
    }
}

impl Default for LabelPool {
    fn default() -> Self {
        Self {
            sets: std::iter::repeat_with(|| None).take(PLACES).collect(),
            texts: vec![None; PLACES],
        }
    }
}

/// Nobody gains by choosing texts for the same place: they only push out one another.
fn place_of(bytes: &[u8]) -> usize {
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(SPREAD).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    let hash = words.fold(bytes.len() as u64, mix);
    let hash = rest
        .iter()
        .fold(hash, |hash, byte| mix(hash, u64::from(*byte)));
    (hash >> 20) as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_labels_are_shared_and_different_ones_share_their_texts() {
        let mut pool = LabelPool::default();
        let first = pool.labels(br#"{"app":"web","zone":"a"}"#).unwrap();
        let same = pool.labels(br#"{"app":"web","zone":"a"}"#).unwrap();
        let other = pool.labels(br#"{"zone":"b","app":"web"}"#).unwrap();
        let at = |labels: &Labels| labels.get("app").unwrap().as_ptr();
        assert!(first.shares_with(&same));
        assert!(!first.shares_with(&other));
        assert_eq!(at(&first), at(&other));
        assert_eq!(other.get("zone"), Some("b"));
    }

    #[test]
    fn many_label_sets_stay_right_and_within_the_bound() {
        let mut pool = LabelPool::default();
        for number in 0..10_000 {
            let written = format!(r#"{{"n{number}":"v{number}","a\u002fb":""}}"#);
            let labels = pool.labels(written.as_bytes()).unwrap();
            let read: Vec<_> = labels.iter().collect();
            let (name, value) = (format!("n{number}"), format!("v{number}"));
            assert_eq!(read, [("a/b", ""), (&*name, &*value)]);
        }
        assert_eq!((pool.sets.len(), pool.texts.len()), (PLACES, PLACES));
    }

    #[test]
    fn labels_that_are_no_texts_are_refused() {
        let mut pool = LabelPool::default();
        for written in [r#"{"a":1}"#, r#"{"a":null}"#, r#"{"a":"b""#, r#"{"a" "b"}"#] {
            assert!(pool.labels(written.as_bytes()).is_err(), "{written}");
        }
    }
}
