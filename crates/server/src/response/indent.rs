//! Compact JSON to JSON for people, while it is sent.

/// A whole document, indented.
pub(crate) fn indented(json: &[u8]) -> Vec<u8> {
    let mut buffer = Vec::with_capacity(json.len() * 2);
    Indenter::default().push(json, &mut buffer);
    buffer
}

/// Breaks and indents JSON that comes in pieces, by two blanks a level.
#[derive(Debug, Default)]
pub(crate) struct Indenter {
    depth: usize,
    place: Place,
}

/// Where the next byte stands.
#[derive(Debug, Default, PartialEq, Eq)]
enum Place {
    /// Between tokens.
    #[default]
    Between,
    /// Right behind an opening bracket, which may be closed again at once.
    Opened,
    /// In a text.
    Text,
    /// In a text, behind a backslash.
    Escaped,
}

impl Indenter {
    /// Appends the piece, indented.
    pub(crate) fn push(&mut self, piece: &[u8], buffer: &mut Vec<u8>) {
        for byte in piece {
            self.byte(*byte, buffer);
        }
    }

    fn byte(&mut self, byte: u8, buffer: &mut Vec<u8>) {
        match self.place {
            Place::Text => {
                buffer.push(byte);
                self.place = match byte {
                    b'\\' => Place::Escaped,
                    b'"' => Place::Between,
                    _ => Place::Text,
                };
            }
            Place::Escaped => {
                buffer.push(byte);
                self.place = Place::Text;
            }
            Place::Opened | Place::Between => self.token(byte, buffer),
        }
    }

    fn token(&mut self, byte: u8, buffer: &mut Vec<u8>) {
        let closes = matches!(byte, b'}' | b']');
        if closes {
            self.depth = self.depth.saturating_sub(1);
        }
        // An empty object or list stays on its line.
        if closes != (self.place == Place::Opened) {
            self.new_line(buffer);
        }
        self.place = Place::Between;
        match byte {
            b'{' | b'[' => {
                buffer.push(byte);
                self.depth += 1;
                self.place = Place::Opened;
            }
            b',' => {
                buffer.push(byte);
                self.new_line(buffer);
            }
            b':' => buffer.extend_from_slice(b": "),
            b'"' => {
                buffer.push(byte);
                self.place = Place::Text;
            }
            b' ' | b'\n' | b'\r' | b'\t' => {}
            _ => buffer.push(byte),
        }
    }

    fn new_line(&self, buffer: &mut Vec<u8>) {
        buffer.push(b'\n');
        buffer.resize(buffer.len() + 2 * self.depth, b' ');
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn indents_as_serde_does_however_the_pieces_are_cut() {
        let value = json!({
            "a": {}, "b": [], "c": [1, -2.5, null, {"d": "x\"{\\"}], "e": {"f": true, "g": [[]]},
        });
        let compact = serde_json::to_vec(&value).unwrap();
        for size in 1..compact.len() {
            let mut indenter = Indenter::default();
            let mut buffer = Vec::new();
            compact
                .chunks(size)
                .for_each(|piece| indenter.push(piece, &mut buffer));
            assert_eq!(String::from_utf8(buffer).unwrap(), format!("{value:#}"));
        }
    }
}
