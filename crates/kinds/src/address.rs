//! Fields that are IP addresses or ranges of them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::field::Field;

/// What is said of a text that is no address.
const IS_NO_ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const IS_NO_RANGE: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/// An address family, as services name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `IPv4`.
    V4,
    /// `IPv6`.
    V6,
}

impl Family {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }

    /// The other one.
    pub(crate) fn other(self) -> Self {
        match self {
            Self::V4 => Self::V6,
            Self::V6 => Self::V4,
        }
    }

    /// The family that this word names.
    pub(crate) fn named(word: &str) -> Option<Self> {
        [Self::V4, Self::V6]
            .into_iter()
            .find(|family| family.word() == word)
    }

    /// The family of an address.
    pub fn of(text: &str) -> Option<Self> {
        parse(text).map(|address| match unmapped(address) {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        })
    }
}

/// A range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    address: IpAddr,
    bits: u8,
}

impl Range {
    /// The range that a text states, zeroes in front of numbers being ignored.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        let address = parse(address)?;
        if bits.is_empty() || !bits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let bits: u8 = bits.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        (bits <= most).then_some(Self { address, bits })
    }

    /// The lowest address.
    pub(crate) fn first(self) -> IpAddr {
        match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX
                    .checked_shl(128 - u32::from(self.bits))
                    .unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
            }
        }
    }

    /// Whether all addresses of `other` are in this one, and it has more.
    pub(crate) fn strictly_contains(self, other: Self) -> bool {
        let same_family = self.address.is_ipv4() == other.address.is_ipv4();
        let widened = Self {
            address: other.address,
            bits: self.bits,
        };
        same_family && other.bits > self.bits && widened.first() == self.first()
    }

    /// The family of its addresses.
    pub(crate) fn family(self) -> Family {
        if self.address.is_ipv4() {
            Family::V4
        } else {
            Family::V6
        }
    }

    /// The range as it should be written.
    pub(crate) fn canonical(self) -> String {
        format!("{}/{}", self.first(), self.bits)
    }
}

impl<'v> Field<'v, '_> {
    /// Demands an address as older kinds take it: not written as it should be, but clear. What was
    /// there `before` stays good.
    pub(crate) fn address_or_kept(&self, before: &[serde_json::Value]) {
        if !before.iter().any(|known| known == self.text()) {
            self.clear_address();
        }
    }

    /// Demands an address whose meaning is clear.
    pub(crate) fn clear_address(&self) {
        let text = self.text();
        let Some(address) = parse(text) else {
            return self.invalid_value(text, IS_NO_ADDRESS);
        };
        if text.parse::<IpAddr>().is_err() {
            self.invalid_value(text, "must not have leading 0s");
        }
        if is_mapped(address) {
            self.invalid_value(text, "must not be an IPv4-mapped IPv6 address");
        }
    }

    /// Demands an address as it should be written.
    pub(crate) fn canonical_address(&self) {
        if !self.passes(|field| field.clear_address()) {
            return;
        }
        let canonical = parse(self.text()).map(|address| address.to_string());
        if let Some(canonical) = canonical.filter(|canonical| canonical != self.text()) {
            self.invalid(&format!("must be in canonical form (\"{canonical}\")"));
        }
    }

    /// Demands a range as older kinds take it; `text` is the field's, or what is left of it.
    pub(crate) fn clear_range(&self, text: &str) {
        let Some(range) = Range::parse(text) else {
            return self.invalid_value(text, IS_NO_RANGE);
        };
        let (address, bits) = text.split_once('/').unwrap_or((text, ""));
        if address.parse::<IpAddr>().is_err() || (bits.len() > 1 && bits.starts_with('0')) {
            self.invalid_value(text, "must not have leading 0s in IP or prefix length");
        } else if is_mapped(range.address) {
            self.invalid_value(text, "must not have an IPv4-mapped IPv6 address");
        } else if range.address != range.first() {
            self.invalid_value(text, "must not have bits set beyond the prefix length");
        }
    }

    /// Demands a range as it should be written.
    pub(crate) fn canonical_range(&self) {
        if !self.passes(|field| field.clear_range(field.text())) {
            return;
        }
        let canonical = Range::parse(self.text()).map(Range::canonical);
        if let Some(canonical) = canonical.filter(|canonical| canonical != self.text()) {
            self.invalid(&format!("must be in canonical form (\"{canonical}\")"));
        }
    }

    /// Demands an address that others can reach.
    pub(crate) fn reachable_address(&self) {
        let text = self.text();
        let Some(address) = parse(text).map(unmapped) else {
            return self.invalid_value(text, "must be a valid IP address");
        };
        let (link_local, link_local_multicast) = match address {
            IpAddr::V4(address) => {
                let octets = address.octets();
                (address.is_link_local(), octets[..3] == [224, 0, 0])
            }
            IpAddr::V6(address) => {
                let first = address.segments()[0];
                (first & 0xffc0 == 0xfe80, first & 0xff0f == 0xff02)
            }
        };
        if address.is_unspecified() {
            self.invalid_value(text, &format!("may not be unspecified ({text})"));
        }
        if address.is_loopback() {
            self.invalid_value(
                text,
                "may not be in the loopback range (127.0.0.0/8, ::1/128)",
            );
        }
        if link_local {
            let range = "may not be in the link-local range (169.254.0.0/16, fe80::/10)";
            self.invalid_value(text, range);
        }
        if link_local_multicast {
            let range = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)";
            self.invalid_value(text, range);
        }
    }
}

/// What is odd about an address that older kinds take, for the writer to hear.
pub(crate) fn address_warning(field: &str, text: &str) -> Option<String> {
    let address = parse(text)?;
    let canonical = unmapped(address).to_string();
    if text.parse::<IpAddr>().is_err() || is_mapped(address) {
        return Some(format!(
            "{field}: non-standard IP address {text:?} is invalid: use {canonical:?}"
        ));
    }
    (address.is_ipv6() && canonical != text).then(|| {
        format!(
            "{field}: IPv6 address {text:?} should be in RFC 5952 canonical format ({canonical:?})"
        )
    })
}

/// What is odd about a range that older kinds take, for the writer to hear.
pub(crate) fn range_warnings(field: &str, text: &str) -> Vec<String> {
    let Some(range) = Range::parse(text) else {
        return Vec::new();
    };
    let canonical = range.canonical();
    let mut warnings = Vec::new();
    if range.address != range.first() {
        let whole = if range.address.is_ipv4() { 32 } else { 128 };
        let one = format!("{}/{whole}", range.address);
        warnings.push(format!(
            "{field}: CIDR value {text:?} is ambiguous in this context (should be {canonical:?} or \
             {one:?}?)"
        ));
    }
    if warnings.is_empty() && range.address.is_ipv6() && canonical != text {
        warnings.push(format!(
            "{field}: IPv6 CIDR value {text:?} should be in RFC 5952 canonical format \
             ({canonical:?})"
        ));
    }
    warnings
}

/// The address that a text states, zeroes in front of numbers being ignored.
pub(crate) fn parse(text: &str) -> Option<IpAddr> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    let (head, last) = text
        .rsplit_once(':')
        .map_or(("", text), |(head, last)| (head, last));
    let octets: Vec<&str> = last.split('.').collect();
    if octets.len() != 4 {
        return None;
    }
    let mut plain = Vec::with_capacity(4);
    for octet in octets {
        let is_number = !octet.is_empty() && octet.bytes().all(|byte| byte.is_ascii_digit());
        plain.push(octet.parse::<u8>().ok().filter(|_| is_number)?.to_string());
    }
    let plain = plain.join(".");
    let whole = if head.is_empty() {
        plain
    } else {
        format!("{head}:{plain}")
    };
    whole.parse().ok()
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

fn unmapped(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(inner) => inner.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeroes_in_front_are_read_over() {
        assert_eq!(parse("010.001.0.7"), parse("10.1.0.7"));
        assert_eq!(parse("::ffff:01.2.3.4"), parse("::ffff:1.2.3.4"));
        assert_eq!(parse("10.1.0"), None);
        assert_eq!(parse("10.1.0.+7"), None);
        assert_eq!(parse("10.1.0.256"), None);
        assert_eq!(Family::of("::ffff:1.2.3.4"), Some(Family::V4));
    }

    #[test]
    fn a_range_contains_smaller_ones_of_its_own_family() {
        let contains = |outer: &str, inner: &str| {
            Range::parse(outer)
                .unwrap()
                .strictly_contains(Range::parse(inner).unwrap())
        };
        assert!(contains("10.0.0.0/8", "10.1.0.0/16"));
        assert!(contains("0.0.0.0/0", "10.1.0.0/16"));
        assert!(contains("::/0", "fd00::/8"));
        assert!(!contains("10.0.0.0/8", "10.0.0.0/8"));
        assert!(!contains("10.0.0.0/8", "11.0.0.0/16"));
        assert!(!contains("::/0", "10.0.0.0/8"));
        assert_eq!(Range::parse("10.0.0.0/33"), None);
        assert_eq!(Range::parse("10.0.0.0/-1"), None);
    }

    #[test]
    fn what_is_odd_about_a_range_is_told() {
        assert_eq!(
            range_warnings("f", "10.0.0.1/8"),
            [
                "f: CIDR value \"10.0.0.1/8\" is ambiguous in this context (should be \
              \"10.0.0.0/8\" \
              or \"10.0.0.1/32\"?)"
            ]
        );
        assert_eq!(range_warnings("f", "10.0.0.0/8"), Vec::<String>::new());
    }
}
