//! The parameters of a request's URL, already percent-decoded.

use std::time::Duration;

use crate::go_text;
use crate::status::Status;

/// The parameters in the order in which they came. Of a repeated one the first counts.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    pairs: &'a [(String, String)],
}

impl<'a> Query<'a> {
    /// These names and values.
    pub fn new(pairs: &'a [(String, String)]) -> Self {
        Self { pairs }
    }

    /// The first value of a parameter.
    pub fn first(&self, name: &str) -> Option<&'a str> {
        self.all(name).next()
    }

    /// Every value of a parameter.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let named = self.pairs.iter().filter(move |(key, _)| key == name);
        named.map(|(_, value)| value.as_str())
    }

    /// A switch: anything but `0` and `false` turns it on, also nothing (`?watch`).
    pub fn flag(&self, name: &str) -> Option<bool> {
        let value = self.first(name)?;
        Some(value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// Whether a switch is there and on.
    pub fn is_on(&self, name: &str) -> bool {
        self.flag(name) == Some(true)
    }

    /// A whole number.
    pub fn integer(&self, name: &str) -> Result<Option<i64>, Status> {
        let number = self.first(name).map(go_text::parse_signed).transpose();
        number.map_err(Status::bad_request)
    }

    /// How long the request may take at most, from `timeout`. Zero means the server's own limit.
    pub fn timeout(&self) -> Result<Option<Duration>, Status> {
        let text = match self.first("timeout") {
            None | Some("") => return Ok(None),
            Some(text) => text,
        };
        match go_text::parse_duration(text) {
            Ok(Duration::ZERO) => Ok(None),
            Ok(timeout) => Ok(Some(timeout)),
            Err(error) => Err(Status::bad_request(format!(
                "invalid timeout specified in the request URL - {error}"
            ))),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// `a=b&c` as pairs, for the tests of everything that reads a query.
    pub(crate) fn pairs(text: &str) -> Vec<(String, String)> {
        let parts = text.split('&').filter(|part| !part.is_empty());
        let split = parts.map(|part| part.split_once('=').unwrap_or((part, "")));
        split
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    #[test]
    fn a_switch_is_off_only_for_zero_and_false() {
        let pairs = pairs("a=0&b=FALSE&c&d=no&e=1&e=0");
        let query = Query::new(&pairs);
        let flags = ["a", "b", "c", "d", "e", "f"].map(|name| query.flag(name));
        let on = Some(true);
        assert_eq!(flags, [Some(false), Some(false), on, on, on, None]);
    }

    #[test]
    fn a_bad_timeout_is_refused() {
        let pairs = pairs("timeout=abc");
        let status = Query::new(&pairs).timeout().unwrap_err();
        let expected = "invalid timeout specified in the request URL - \
                        time: invalid duration \"abc\"";
        assert_eq!(
            (status.message.as_str(), status.http_code()),
            (expected, 400)
        );
    }

    #[test]
    fn a_timeout_of_zero_is_none() {
        for (text, expected) in [
            ("timeout=0", None),
            ("timeout=2s", Some(2)),
            ("timeout=", None),
        ] {
            let pairs = pairs(text);
            let timeout = Query::new(&pairs).timeout().unwrap();
            assert_eq!(timeout, expected.map(Duration::from_secs), "{text}");
        }
    }
}
