//! Query strings to pairs.

/// The decoded parameters of a request, in the order in which they were written.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

/// Parameters in one query. A client that sends more gets the first ones read.
const PARAMETERS_MAX: usize = 1_000;

impl Query {
    /// Decodes what follows the `?`. Broken escapes are kept as they are.
    pub(crate) fn parse(query: Option<&str>) -> Self {
        let pairs = query
            .unwrap_or_default()
            .split('&')
            .filter(|pair| !pair.is_empty());
        let decoded = pairs.take(PARAMETERS_MAX).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        });
        Self(decoded.collect())
    }

    /// The first value of a parameter.
    pub(crate) fn first(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.as_str())
    }

    /// All values of a parameter.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(found, _)| found == name)
            .map(|(_, value)| value.as_str())
    }

    /// The pairs, for those who know what they mean.
    pub(crate) fn typed(&self) -> listwatch_api::Query<'_> {
        listwatch_api::Query::new(&self.0)
    }
}

fn decode(text: &str) -> String {
    if !text.contains(['%', '+']) {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = (*first == b'%')
            .then(|| tail.get(..2).and_then(hex_byte))
            .flatten();
        rest = if escaped.is_some() { &tail[2..] } else { tail };
        bytes.push(escaped.unwrap_or(if *first == b'+' { b' ' } else { *first }));
    }
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn hex_byte(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_the_first_of_several_counts() {
        let query = Query::parse(Some("labelSelector=a%3Db+c&watch&limit=1&limit=2&x=%zz"));
        assert_eq!(query.first("labelSelector"), Some("a=b c"));
        assert_eq!(query.first("watch"), Some(""));
        assert_eq!(query.first("limit"), Some("1"));
        assert_eq!(query.first("x"), Some("%zz"));
        assert_eq!(query.first("absent"), None);
    }

    #[test]
    fn a_flood_of_parameters_is_cut() {
        let flood = "a=1&".repeat(PARAMETERS_MAX * 2);
        assert_eq!(Query::parse(Some(&flood)).0.len(), PARAMETERS_MAX);
    }
}
