//! From which addresses and ports services are given theirs.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use listwatch_kinds::service::allocation::Family;

/// The addresses that services may have: of one family, or of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceAddresses {
    primary: AddressRange,
    secondary: Option<AddressRange>,
}

impl ServiceAddresses {
    /// What a cluster has whose master says nothing else.
    pub const DEFAULT: Self = Self {
        primary: AddressRange {
            network: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0)),
            bits: 16,
        },
        secondary: None,
    };

    /// The range of the family that services have when they ask for none.
    pub fn primary(self) -> AddressRange {
        self.primary
    }

    /// The ranges, that of the preferred family first.
    pub fn ranges(self) -> impl Iterator<Item = AddressRange> {
        [Some(self.primary), self.secondary].into_iter().flatten()
    }
}

impl FromStr for ServiceAddresses {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut ranges = text.split(',').map(|range| range.trim().parse());
        let wanted = "one range of addresses or two, such as 10.0.0.0/16 or 10.0.0.0/16,fd00::/112";
        let primary: AddressRange = ranges.next().ok_or(wanted)??;
        let secondary: Option<AddressRange> = ranges.next().transpose()?;
        if ranges.next().is_some() {
            return Err("there must not be more than two ranges".to_owned());
        }
        if secondary.is_some_and(|range| range.family() == primary.family()) {
            return Err("two ranges must be of different families, IPv4 and IPv6".to_owned());
        }
        Ok(Self { primary, secondary })
    }
}

/// A range of addresses of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    network: IpAddr,
    bits: u8,
}

impl AddressRange {
    /// The address that the API itself has.
    pub fn first(self) -> IpAddr {
        self.at(1)
    }

    pub(crate) fn family(self) -> Family {
        match self.network {
            IpAddr::V4(_) => Family::V4,
            IpAddr::V6(_) => Family::V6,
        }
    }

    pub(super) fn network(self) -> IpAddr {
        self.network
    }

    /// How many addresses there are behind that of the network; IPv4 has one for everybody at the
    /// end, which nobody gets.
    pub(super) fn usable(self) -> u64 {
        match self.network {
            IpAddr::V4(_) => (1 << (32 - self.bits)) - 2,
            IpAddr::V6(_) => u64::MAX >> (self.bits - 64),
        }
    }

    pub(super) fn at(self, place: u64) -> IpAddr {
        match self.network {
            IpAddr::V4(network) => Ipv4Addr::from_bits(network.to_bits() + place as u32).into(),
            IpAddr::V6(network) => {
                Ipv6Addr::from_bits(network.to_bits() + u128::from(place)).into()
            }
        }
    }

    pub(super) fn contains(self, address: IpAddr) -> bool {
        let place = match (address, self.network) {
            (IpAddr::V4(address), IpAddr::V4(network)) => {
                u128::from(address.to_bits().wrapping_sub(network.to_bits()))
            }
            (IpAddr::V6(address), IpAddr::V6(network)) => {
                address.to_bits().wrapping_sub(network.to_bits())
            }
            _ => return false,
        };
        (1..=u128::from(self.usable())).contains(&place)
    }

    /// How many addresses at the beginning are left to those who name one.
    pub(super) fn named(self) -> u64 {
        match self.usable() {
            0..=15 => 0,
            usable => ((usable / 16) + 1).clamp(16, 256),
        }
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.network, self.bits)
    }
}

impl FromStr for AddressRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no range of addresses, such as 10.0.0.0/16");
        let (network, bits) = text.split_once('/').ok_or_else(wrong)?;
        let network: IpAddr = network.parse().map_err(|_| wrong())?;
        let bits: u8 = bits.parse().map_err(|_| wrong())?;
        let (fewest, most) = match network {
            IpAddr::V4(_) => (8, 30),
            IpAddr::V6(_) => (64, 126),
        };
        if !(fewest..=most).contains(&bits) {
            return Err(format!(
                "{text:?} must have between {fewest} and {most} bits"
            ));
        }
        let network = match network {
            IpAddr::V4(network) => {
                Ipv4Addr::from_bits(network.to_bits() & (u32::MAX << (32 - bits))).into()
            }
            IpAddr::V6(network) => {
                Ipv6Addr::from_bits(network.to_bits() & (u128::MAX << (128 - bits))).into()
            }
        };
        Ok(Self { network, bits })
    }
}

/// The ports on nodes that services may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    first: u16,
    last: u16,
}

impl PortRange {
    /// What a cluster has whose master says nothing else.
    pub const DEFAULT: Self = Self {
        first: 30_000,
        last: 32_767,
    };

    pub(super) fn first(self) -> u16 {
        self.first
    }

    pub(super) fn last(self) -> u16 {
        self.last
    }

    pub(super) fn contains(self, port: i64) -> bool {
        (i64::from(self.first)..=i64::from(self.last)).contains(&port)
    }

    /// How many ports at the beginning are left to those who name one.
    pub(super) fn named(self) -> u64 {
        match u64::from(self.last - self.first) + 1 {
            0..=16 => 0,
            size => (size / 32).clamp(16, 128),
        }
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.first, self.last)
    }
}

impl FromStr for PortRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no range of ports, such as 30000-32767");
        let (first, last) = text.split_once('-').ok_or_else(wrong)?;
        let first: u16 = first.trim().parse().map_err(|_| wrong())?;
        let last: u16 = last.trim().parse().map_err(|_| wrong())?;
        match 0 < first && first <= last {
            true => Ok(Self { first, last }),
            false => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_gives_addresses_behind_that_of_its_network() {
        let small: AddressRange = "10.7.0.9/28".parse().unwrap();
        assert_eq!(small.to_string(), "10.7.0.0/28");
        assert_eq!((small.usable(), small.named()), (14, 0));
        let holds = |text: &str| small.contains(text.parse().unwrap());
        assert!(holds("10.7.0.1") && holds("10.7.0.14"));
        assert!(!holds("10.7.0.0") && !holds("10.7.0.15") && !holds("fd00::1"));
        let wide: AddressRange = "fd00::5/64".parse().unwrap();
        assert_eq!(wide.to_string(), "fd00::/64");
        assert_eq!((wide.usable(), wide.named()), (u64::MAX, 256));
        assert_eq!(wide.first().to_string(), "fd00::1");
        assert_eq!(wide.at(u64::MAX).to_string(), "fd00::ffff:ffff:ffff:ffff");
        let usual = ServiceAddresses::DEFAULT.primary();
        assert_eq!((usual.usable(), usual.named()), (65_534, 256));
        let least: AddressRange = "fd00::/112".parse().unwrap();
        assert_eq!((least.usable(), least.named()), (65_535, 256));
    }

    #[test]
    fn two_ranges_are_of_two_families() {
        let both: ServiceAddresses = "fd00::/112,10.0.0.0/16".parse().unwrap();
        let shown: Vec<String> = both.ranges().map(|range| range.to_string()).collect();
        assert_eq!(shown, ["fd00::/112", "10.0.0.0/16"]);
        let refused = [
            "",
            "10.0.0.0",
            "10.0.0.0/4",
            "fd00::/48",
            "10.0.0.0/16,10.1.0.0/16",
            "10.0.0.0/16,fd00::/112,fd01::/112",
        ];
        for text in refused {
            assert!(text.parse::<ServiceAddresses>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_range_of_ports_leaves_some_to_those_who_name_one() {
        assert_eq!(PortRange::DEFAULT.named(), 86);
        let few: PortRange = "30000-30003".parse().unwrap();
        assert_eq!((few.named(), few.to_string().as_str()), (0, "30000-30003"));
        for text in ["", "1", "0-5", "9-3", "1-70000", "a-b"] {
            assert!(text.parse::<PortRange>().is_err(), "{text}");
        }
    }
}
