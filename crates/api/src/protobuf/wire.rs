//! The wire format: numbered fields, each with its length or its end in itself.

use super::ProtobufError;

/// The value of one field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Wire<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    /// A group, which Kubernetes never writes; it has been read over.
    Group,
    Fixed32,
}

impl<'a> Wire<'a> {
    pub(super) fn varint(self, field: &str) -> Result<u64, ProtobufError> {
        match self {
            Self::Varint(value) => Ok(value),
            _ => Err(self.unexpected(field)),
        }
    }

    pub(super) fn double(self, field: &str) -> Result<f64, ProtobufError> {
        match self {
            Self::Fixed64(bits) => Ok(f64::from_bits(bits)),
            _ => Err(self.unexpected(field)),
        }
    }

    pub(super) fn bytes(self, field: &str) -> Result<&'a [u8], ProtobufError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(self.unexpected(field)),
        }
    }

    pub(super) fn text(self, field: &str) -> Result<&'a str, ProtobufError> {
        std::str::from_utf8(self.bytes(field)?)
            .map_err(|_| ProtobufError::new(format!("proto: field {field} is not valid UTF-8")))
    }

    fn unexpected(self, field: &str) -> ProtobufError {
        let wire_type = match self {
            Self::Varint(_) => 0,
            Self::Fixed64(_) => 1,
            Self::Bytes(_) => 2,
            Self::Group => 3,
            Self::Fixed32 => 5,
        };
        ProtobufError::new(format!(
            "proto: wrong wireType = {wire_type} for field {}",
            go_name(field)
        ))
    }
}

/// The name of a field in Go, which refusals tell.
fn go_name(field: &str) -> String {
    let mut letters = field.chars();
    match (field, letters.next()) {
        ("metadata", _) => "ObjectMeta".to_owned(),
        (_, Some(first)) => first.to_ascii_uppercase().to_string() + letters.as_str(),
        (_, None) => String::new(),
    }
}

/// Reads the fields of a message one after the other.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    /// What refusals call the message, where it has a name.
    name: Option<&'a str>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(message: &'a [u8]) -> Self {
        Self {
            rest: message,
            name: None,
        }
    }

    /// Reads a message of a type with this name.
    pub(super) fn named(name: &'a str, message: &'a [u8]) -> Self {
        Self {
            rest: message,
            name: Some(name),
        }
    }

    /// The number and value of the next field.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Wire<'a>)>, ProtobufError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (number, wire_type) = self.tag()?;
        let wire = match wire_type {
            3 => {
                self.skip_group()?;
                Wire::Group
            }
            4 => return Err(self.refusal("wiretype end group for non-group")),
            _ => self.value(wire_type)?,
        };
        Ok(Some((number, wire)))
    }

    /// The next of several numbers that stand together.
    pub(super) fn next_packed(&mut self) -> Result<Option<u64>, ProtobufError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        self.varint().map(Some)
    }

    fn tag(&mut self) -> Result<(u32, u64), ProtobufError> {
        let tag = self.varint()?;
        let wire_type = tag & 7;
        match u32::try_from(tag >> 3) {
            Ok(number) if (1..=i32::MAX.cast_unsigned()).contains(&number) => {
                Ok((number, wire_type))
            }
            _ => {
                let what = format!("illegal tag {} (wire type {wire_type})", tag >> 3);
                Err(self.refusal(&what))
            }
        }
    }

    fn refusal(&self, what: &str) -> ProtobufError {
        ProtobufError::new(match self.name {
            Some(name) => format!("proto: {name}: {what}"),
            None => format!("proto: {what}"),
        })
    }

    fn value(&mut self, wire_type: u64) -> Result<Wire<'a>, ProtobufError> {
        match wire_type {
            0 => self.varint().map(Wire::Varint),
            1 => {
                let (bytes, rest) = self.rest.split_first_chunk().ok_or_else(truncated)?;
                self.rest = rest;
                Ok(Wire::Fixed64(u64::from_le_bytes(*bytes)))
            }
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| truncated())?;
                let (bytes, rest) = self.rest.split_at_checked(length).ok_or_else(truncated)?;
                self.rest = rest;
                Ok(Wire::Bytes(bytes))
            }
            5 => {
                self.rest = self.rest.get(4..).ok_or_else(truncated)?;
                Ok(Wire::Fixed32)
            }
            _ => Err(ProtobufError::new(format!(
                "proto: illegal wireType {wire_type}"
            ))),
        }
    }

    fn skip_group(&mut self) -> Result<(), ProtobufError> {
        let mut open = 1_usize;
        while open > 0 {
            match self.tag()?.1 {
                3 => open += 1,
                4 => open -= 1,
                wire_type => {
                    self.value(wire_type)?;
                }
            }
        }
        Ok(())
    }

    fn varint(&mut self) -> Result<u64, ProtobufError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.rest.split_first().ok_or_else(truncated)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(ProtobufError::new("proto: integer overflow"))
    }
}

/// The bytes that a number takes.
pub(super) fn varint_length(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

fn truncated() -> ProtobufError {
    ProtobufError::new("unexpected EOF")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(message: &[u8]) -> Result<Vec<(u32, Wire<'_>)>, String> {
        let mut reader = Reader::new(message);
        let mut fields = Vec::new();
        while let Some(field) = reader.next().map_err(|error| error.to_string())? {
            fields.push(field);
        }
        Ok(fields)
    }

    #[test]
    fn every_wire_type_is_read() {
        let message = [
            &[0x08, 0xac, 0x02][..],
            &[0x11, 1, 0, 0, 0, 0, 0, 0, 0],
            &[0x1a, 2, b'h', b'i'],
            &[0x23, 0x2b, 0x08, 0x01, 0x2c, 0x24],
            &[0x2d, 1, 2, 3, 4],
        ];
        let expected = vec![
            (1, Wire::Varint(300)),
            (2, Wire::Fixed64(1)),
            (3, Wire::Bytes(b"hi")),
            (4, Wire::Group),
            (5, Wire::Fixed32),
        ];
        assert_eq!(fields(&message.concat()), Ok(expected));
    }

    #[test]
    fn the_largest_number_is_read_and_a_longer_one_refused() {
        let largest = [&[0x08][..], &[0xff; 9], &[0x01]].concat();
        assert_eq!(fields(&largest), Ok(vec![(1, Wire::Varint(u64::MAX))]));
        let longer = [&[0x08][..], &[0xff; 10], &[0x01]].concat();
        assert_eq!(fields(&longer).unwrap_err(), "proto: integer overflow");
    }

    #[test]
    fn bytes_that_end_too_early_are_refused() {
        for message in [
            &[0x08][..],
            &[0x09, 1, 2],
            &[0x0a, 2, b'h'],
            &[
                0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
            ],
            &[0x0b, 0x08, 0x01],
            &[0x0d, 1],
            &[0x80],
        ] {
            assert_eq!(
                fields(message).unwrap_err(),
                "unexpected EOF",
                "{message:?}"
            );
        }
    }

    #[test]
    fn tags_that_mean_nothing_are_refused() {
        let refusal = |message: &[u8]| fields(message).unwrap_err();
        assert_eq!(refusal(&[0x00]), "proto: illegal tag 0 (wire type 0)");
        assert_eq!(refusal(&[0x0e]), "proto: illegal wireType 6");
        assert_eq!(refusal(&[0x0c]), "proto: wiretype end group for non-group");
    }
}
