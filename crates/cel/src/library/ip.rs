//! Network addresses and ranges of them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Function, fail, unfit};
use crate::error::EvaluationError;
use crate::value::{Outcome, Value};

/// An address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(IpAddr);

/// A range of addresses: those that share the first bits of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.prefix)
    }
}

impl Address {
    /// Reads an address, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some((address, zone)) = text.split_once('%')
            && !zone.is_empty()
            && address.parse::<Ipv6Addr>().is_ok()
        {
            return Err(format!(
                "IP address {text:?} with zone value is not allowed"
            ));
        }
        let address: IpAddr = text.parse().map_err(|_| {
            let why = complaint(text);
            format!(
                "IP Address {text:?} parse error during conversion from string: \
                ParseAddr({text:?}): {why}"
            )
        })?;
        if is_mapped(address) {
            return Err(format!("IPv4-mapped IPv6 address {text:?} is not allowed"));
        }
        Ok(Self(address))
    }

    pub(crate) fn size(self) -> u64 {
        if self.0.is_ipv4() { 4 } else { 16 }
    }
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

/// Why a text is no address.
fn complaint(text: &str) -> &'static str {
    if !text.contains(['.', ':']) {
        return "unable to parse IP";
    }
    if text.contains(':') {
        return "each colon-separated field must have at least one digit";
    }
    let parts: Vec<&str> = text.split('.').collect();
    if parts
        .iter()
        .any(|part| part.chars().any(|character| !character.is_ascii_digit()))
    {
        return "unexpected character";
    }
    if parts.iter().any(|part| part.is_empty()) {
        return "IPv4 field must have at least one digit";
    }
    if parts
        .iter()
        .any(|part| part.len() > 1 && part.starts_with('0'))
    {
        return "IPv4 field has octet with leading zero";
    }
    if parts.iter().any(|part| part.parse::<u8>().is_err()) {
        return "IPv4 field has value >255";
    }
    if parts.len() < 4 {
        "IPv4 address too short"
    } else {
        "IPv4 address too long"
    }
}

impl Network {
    /// Reads a range, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let shown = |why: &str| {
            format!(
                "network address parse error during conversion from string: \
                    netip.ParsePrefix({text:?}): {why}"
            )
        };
        let (address, prefix) = text.rsplit_once('/').ok_or_else(|| shown("no '/'"))?;
        let address: IpAddr = address
            .parse()
            .map_err(|_| shown(&format!("ParseAddr({address:?}): {}", complaint(address))))?;
        let plain = !prefix.is_empty()
            && prefix.bytes().all(|byte| byte.is_ascii_digit())
            && (prefix.len() == 1 || !prefix.starts_with('0'));
        if !plain {
            return Err(shown(&format!("bad bits after slash: {prefix:?}")));
        }
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let prefix: u8 = match prefix.parse() {
            Ok(prefix) if prefix <= bits => prefix,
            _ => return Err(shown("prefix length out of range")),
        };
        if is_mapped(address) {
            return Err(format!("IPv4-mapped IPv6 address {text:?} is not allowed"));
        }
        Ok(Self { address, prefix })
    }

    fn contains(self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4()
            && masked(self.address, self.prefix) == masked(address, self.prefix)
    }

    pub(crate) fn size(self) -> u64 {
        u64::from(self.prefix).div_ceil(8)
    }
}

fn masked(address: IpAddr, prefix: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
        }
    }
}

pub(super) fn implementation(overload: &str) -> Option<Function> {
    Some(match overload {
        "string_to_ip" => |arguments| {
            Ok(Value::Ip(
                address(arguments)?.map_err(EvaluationError::failed)?,
            ))
        },
        "is_ip" => |arguments| Ok(Value::Bool(address(arguments)?.is_ok())),
        "ip_is_canonical" => |arguments| {
            let address = address(arguments)?.map_err(EvaluationError::failed)?;
            Ok(Value::Bool(
                arguments[0].as_text() == Some(address.to_string().as_str()),
            ))
        },
        "ip_family" => |arguments| match arguments {
            [Value::Ip(address)] => Ok(Value::Int(if address.0.is_ipv4() { 4 } else { 6 })),
            _ => unfit(),
        },
        "ip_is_unspecified" => |arguments| tested(arguments, |address| address.is_unspecified()),
        "ip_is_loopback" => |arguments| tested(arguments, |address| address.is_loopback()),
        "ip_is_link_local_multicast" => |arguments| tested(arguments, is_link_local_multicast),
        "ip_is_link_local_unicast" => |arguments| tested(arguments, is_link_local_unicast),
        "ip_is_global_unicast" => |arguments| tested(arguments, is_global_unicast),
        other => return network_implementation(other),
    })
}

fn network_implementation(overload: &str) -> Option<Function> {
    Some(match overload {
        "string_to_cidr" => |arguments| match network(arguments)? {
            Ok(network) => Ok(Value::Cidr(network)),
            Err(why) => fail(format!(
                "network address parse error during conversion from string: {why}"
            )),
        },
        "is_cidr" => |arguments| Ok(Value::Bool(network(arguments)?.is_ok())),
        "cidr_ip" => |arguments| match arguments {
            [Value::Cidr(network)] => Ok(Value::Ip(Address(network.address))),
            _ => unfit(),
        },
        "cidr_masked" => |arguments| match arguments {
            [Value::Cidr(network)] => Ok(Value::Cidr(Network {
                address: masked(network.address, network.prefix),
                ..*network
            })),
            _ => unfit(),
        },
        "cidr_prefix_length" => |arguments| match arguments {
            [Value::Cidr(network)] => Ok(Value::Int(i64::from(network.prefix))),
            _ => unfit(),
        },
        "cidr_contains_ip_string" | "cidr_contains_ip_ip" => contains_address,
        "cidr_contains_cidr_string" | "cidr_contains_cidr" => contains_network,
        _ => return None,
    })
}

fn address(arguments: &[Value<'_>]) -> Result<Result<Address, String>, EvaluationError> {
    match arguments {
        [Value::String(text)] => Ok(Address::parse(text)),
        _ => unfit(),
    }
}

fn network(arguments: &[Value<'_>]) -> Result<Result<Network, String>, EvaluationError> {
    match arguments {
        [Value::String(text)] => Ok(Network::parse(text)),
        _ => unfit(),
    }
}

fn tested<'a>(arguments: &[Value<'a>], test: fn(IpAddr) -> bool) -> Outcome<'a> {
    match arguments {
        [Value::Ip(address)] => Ok(Value::Bool(test(address.0))),
        _ => unfit(),
    }
}

fn is_link_local_multicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.octets()[..3] == [224, 0, 0],
        IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
    }
}

fn is_link_local_unicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.segments()[0] & 0xffc0 == 0xfe80,
    }
}

fn is_global_unicast(address: IpAddr) -> bool {
    let broadcast = address == IpAddr::V4(Ipv4Addr::BROADCAST);
    !broadcast
        && !address.is_unspecified()
        && !address.is_loopback()
        && !address.is_multicast()
        && !is_link_local_unicast(address)
}

fn contains_address<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    match arguments {
        [Value::Cidr(network), Value::Ip(address)] => Ok(Value::Bool(network.contains(address.0))),
        [Value::Cidr(network), Value::String(text)] => match Address::parse(text) {
            Ok(address) => Ok(Value::Bool(network.contains(address.0))),
            Err(_) => unfit(),
        },
        _ => unfit(),
    }
}

fn contains_network<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let (network, other) = match arguments {
        [Value::Cidr(network), Value::Cidr(other)] => (network, *other),
        [Value::Cidr(network), Value::String(text)] => match Network::parse(text) {
            Ok(other) => (network, other),
            Err(why) => {
                return fail(format!(
                    "network address parse error during conversion from string: {why}"
                ));
            }
        },
        _ => return unfit(),
    };
    Ok(Value::Bool(
        network.prefix <= other.prefix && network.contains(other.address),
    ))
}
