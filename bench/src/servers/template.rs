//! Requests that differ only in numbers: rendered once, then copied and overwritten.
//!
//! `#NUMBER#` is the object's number, `#GROUP##` that number modulo 100, `#REPEAT#` how often the
//! request has been sent. All become eight digits, so the length never changes.

/// Groups that objects are spread over.
pub(crate) const GROUPS: u64 = 100;

/// What stands in the text for each number.
const NUMBER: &str = "#NUMBER#";
const GROUP: &str = "#GROUP##";
const REPEAT: &str = "#REPEAT#";
const WIDTH: usize = 8;

/// A text with places for numbers.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    text: Vec<u8>,
    places: Vec<(usize, Place)>,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Number,
    Group,
    Repeat,
}

impl Template {
    /// Finds the places.
    pub(crate) fn new(text: &str) -> Self {
        let find = |token, place| text.match_indices(token).map(move |(at, _)| (at, place));
        let places = find(NUMBER, Place::Number)
            .chain(find(GROUP, Place::Group))
            .chain(find(REPEAT, Place::Repeat))
            .collect();
        Self {
            text: text.into(),
            places,
        }
    }

    /// Replaces what `output` holds by the text with these numbers in it.
    pub(crate) fn fill(&self, number: u64, repeat: u64, output: &mut Vec<u8>) {
        output.clear();
        output.extend_from_slice(&self.text);
        for (at, place) in &self.places {
            let value = match place {
                Place::Number => number,
                Place::Group => number % GROUPS,
                Place::Repeat => repeat,
            };
            write_digits(&mut output[*at..*at + WIDTH], value);
        }
    }
}

fn write_digits(place: &mut [u8], mut value: u64) {
    for digit in place.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_gets_its_number() {
        let template = Template::new("name-#NUMBER# of #GROUP## again #NUMBER#: #REPEAT#");
        let mut output = b"what was there".to_vec();
        template.fill(1234, 7, &mut output);
        let text = String::from_utf8(output).unwrap();
        assert_eq!(text, "name-00001234 of 00000034 again 00001234: 00000007");
        assert_eq!(text.len(), template.text.len());
    }
}
