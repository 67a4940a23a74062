//! Requests that differ only in numbers: rendered once, then copied and overwritten.
//!
//! `#NUMBER#` is the object's number, `#GROUP##` that number modulo 100, `#REPEAT#` how often the
//! request has been sent. All become eight digits, so the length never changes. A row of `~`
//! becomes text that no other object has.

use std::sync::LazyLock;

/// Groups that objects are spread over.
pub(crate) const GROUPS: u64 = 100;
/// What becomes text of the object's own.
pub(crate) const PADDING: char = '~';

/// What stands in the text for each number.
const NUMBER: &str = "#NUMBER#";
const GROUP: &str = "#GROUP##";
const REPEAT: &str = "#REPEAT#";
const WIDTH: usize = 8;

/// Text that does not repeat itself, of which each object gets a piece.
static TEXT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut random = fastrand::Rng::with_seed(7);
    let letters = std::iter::repeat_with(|| random.alphanumeric() as u8);
    letters.take(TEXT_BYTES).collect()
});
const TEXT_BYTES: usize = 4 << 20;
/// How far apart the pieces of neighbours begin; a prime, so that few ever begin at one place.
const TEXT_STEP: u64 = 7_919;

/// A text with places for numbers, in one or several sizes.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    variants: Vec<Variant>,
}

#[derive(Clone, Debug)]
struct Variant {
    text: Vec<u8>,
    places: Vec<(usize, Place)>,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Number,
    Group,
    Repeat,
    /// As many bytes of the object's own.
    Padding(usize),
}

impl Template {
    /// Finds the places.
    pub(crate) fn new(text: &str) -> Self {
        Self {
            variants: vec![Variant::new(text)],
        }
    }

    /// The same request in several forms, of which each object has one.
    pub(crate) fn join(templates: impl Iterator<Item = Self>) -> Self {
        Self {
            variants: templates.flat_map(|it| it.variants).collect(),
        }
    }

    /// Replaces what `output` holds by the text with these numbers in it.
    pub(crate) fn fill(&self, number: u64, repeat: u64, output: &mut Vec<u8>) {
        let variant = &self.variants[number as usize % self.variants.len()];
        variant.fill(number, repeat, output);
    }
}

impl Variant {
    fn new(text: &str) -> Self {
        let find = |token, place| text.match_indices(token).map(move |(at, _)| (at, place));
        let mut places: Vec<(usize, Place)> = find(NUMBER, Place::Number)
            .chain(find(GROUP, Place::Group))
            .chain(find(REPEAT, Place::Repeat))
            .collect();
        if let Some(at) = text.find(PADDING) {
            let rest = text[at..].trim_start_matches(PADDING);
            let length = (text.len() - at - rest.len()).min(TEXT_BYTES / 2);
            places.push((at, Place::Padding(length)));
        }
        Self {
            text: text.into(),
            places,
        }
    }

    fn fill(&self, number: u64, repeat: u64, output: &mut Vec<u8>) {
        output.clear();
        output.extend_from_slice(&self.text);
        for (at, place) in &self.places {
            let digits = &mut output[*at..];
            match place {
                Place::Number => write_digits(digits, number),
                Place::Group => write_digits(digits, number % GROUPS),
                Place::Repeat => write_digits(digits, repeat),
                Place::Padding(length) => {
                    let from = (number * TEXT_STEP) as usize % (TEXT_BYTES - length);
                    digits[..*length].copy_from_slice(&TEXT[from..from + length]);
                }
            }
        }
    }
}

fn write_digits(place: &mut [u8], mut value: u64) {
    for digit in place[..WIDTH].iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &Template, number: u64, repeat: u64) -> String {
        let mut output = b"what was there".to_vec();
        template.fill(number, repeat, &mut output);
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn every_place_gets_its_number() {
        let template = Template::new("name-#NUMBER# of #GROUP## again #NUMBER#: #REPEAT#");
        let text = filled(&template, 1234, 7);
        assert_eq!(text, "name-00001234 of 00000034 again 00001234: 00000007");
    }

    #[test]
    fn every_object_has_text_of_its_own() {
        let template = Template::new("<~~~~~~~~~~~~>");
        let (one, other) = (filled(&template, 1, 0), filled(&template, 2, 0));
        assert_eq!(one, filled(&template, 1, 9));
        assert!(one != other && !one.contains(PADDING));
        assert!(one.len() == 14 && one.starts_with('<') && one.ends_with('>'));
    }

    #[test]
    fn objects_take_turns_with_the_forms() {
        let template = Template::join(["a#NUMBER#", "b#NUMBER#"].map(Template::new).into_iter());
        assert_eq!(filled(&template, 4, 0), "a00000004");
        assert_eq!(filled(&template, 5, 0), "b00000005");
    }
}
