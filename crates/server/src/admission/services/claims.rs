//! Which addresses and ports are in use, and by whom.

use std::{collections::BTreeSet, fmt, net::Ipv4Addr, ops::RangeInclusive, str::FromStr};

use listwatch_api::{Status, object};
use listwatch_kinds::service::allocation::{self, Family};
use listwatch_store::{Condition, Key, KeyRange, Operation, Write};
use serde_json::{Value, json};

use super::Allocation;
use crate::{
    commit::{Persistence, metadata_text, stamp_new},
    random::Random,
    registry::{Definition, Registry},
    server::Server,
    watch_cache::KindCache,
};

/// The ports on nodes that services may have.
const NODE_PORTS: RangeInclusive<i64> = 30_000..=32_767;

/// How many ports at the beginning are left to those who name one.
const NAMED_PORTS: i64 = 86;

/// Where it is written which ports are in use.
const PORT_PREFIX: &str = "/registry/ranges/servicenodeports/";

/// The addresses that services may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    network: Ipv4Addr,
    bits: u8,
}

impl AddressRange {
    /// What a cluster has whose master says nothing else.
    pub const DEFAULT: Self = Self {
        network: Ipv4Addr::new(10, 0, 0, 0),
        bits: 16,
    };

    /// The address that the API itself has.
    pub fn first(self) -> Ipv4Addr {
        self.at(1)
    }

    pub(super) fn family(self) -> Family {
        Family::V4
    }

    /// How many addresses there are between that of the network and that of everybody.
    fn usable(self) -> u32 {
        ((1_u64 << (32 - self.bits)) - 2) as u32
    }

    fn at(self, place: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.network.to_bits() + place)
    }

    fn contains(self, address: Ipv4Addr) -> bool {
        let place = address.to_bits().wrapping_sub(self.network.to_bits());
        (1..=self.usable()).contains(&place)
    }

    /// How many addresses at the beginning are left to those who name one.
    fn named(self) -> u32 {
        let size = self.usable() + 2;
        match size {
            0..=16 => 0,
            _ => (size / 16).clamp(16, 256),
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
        let wrong = || format!("{text:?} is no range of IPv4 addresses, such as 10.0.0.0/16");
        let (network, bits) = text.split_once('/').ok_or_else(wrong)?;
        let network: Ipv4Addr = network.parse().map_err(|_| wrong())?;
        let bits: u8 = bits.parse().map_err(|_| wrong())?;
        if !(8..=30).contains(&bits) {
            return Err(format!("{text:?} must have between 8 and 30 bits"));
        }
        let network = Ipv4Addr::from_bits(network.to_bits() & (u32::MAX << (32 - bits)));
        Ok(Self { network, bits })
    }
}

/// Something that only one service can have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Claim {
    Address(String),
    Port(i64),
}

fn address_key(address: &str) -> Key {
    Key::new(format!("/registry/ipaddresses/{address}"))
}

impl Claim {
    fn key(&self) -> Key {
        match self {
            Self::Address(address) => address_key(address),
            Self::Port(port) => Key::new(format!("{PORT_PREFIX}{port}")),
        }
    }

    pub(super) fn release(self) -> Operation {
        Operation {
            key: self.key(),
            condition: Condition::Any,
            write: Write::Delete,
        }
    }

    pub(super) fn write(self, server: &Server, service: &Value) -> Operation {
        let settings = &server.settings;
        let value = match &self {
            Self::Address(address) => {
                let part = |name| metadata_text(service, name).unwrap_or_default();
                let holder = (part("namespace"), part("name"));
                let mut object = address_object(address, holder);
                let given = (&settings.clock, &settings.random);
                stamp_new(&addresses(&server.registry), &mut object, None, given);
                object::to_canonical(&object)
            }
            Self::Port(_) => {
                let metadata = &service["metadata"];
                let holder = json!({"namespace": metadata["namespace"], "name": metadata["name"]});
                object::to_canonical(&holder)
            }
        };
        Operation {
            key: self.key(),
            condition: Condition::Absent,
            write: Write::put(value),
        }
    }
}

/// The object that tells which service has an address.
pub(crate) fn address_object(address: &str, (namespace, name): (&str, &str)) -> Value {
    json!({
        "kind": "IPAddress",
        "apiVersion": "networking.k8s.io/v1",
        "metadata": {
            "name": address,
            "labels": {
                "ipaddress.kubernetes.io/ip-family": "IPv4",
                "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
            },
        },
        "spec": {
            "parentRef": {"resource": "services", "namespace": namespace, "name": name},
        },
    })
}

fn addresses(registry: &Registry) -> std::sync::Arc<Definition> {
    registry
        .find("networking.k8s.io", "v1", "ipaddresses")
        .expect("addresses are built in")
}

/// What a service has that nobody else may have.
pub(super) fn held_by(service: &Value) -> BTreeSet<Claim> {
    let addresses =
        allocation::addresses(service).map(|address| Claim::Address(address.to_owned()));
    let ports = allocation::node_ports(service).into_iter().map(Claim::Port);
    addresses.chain(ports).collect()
}

/// What there is to be had.
pub(super) struct Pool<'a> {
    pub(super) range: AddressRange,
    random: &'a Random,
    addresses: KindCache,
    taken: &'a BTreeSet<Key>,
    /// What the store said, once somebody else was faster.
    ports_in_use: BTreeSet<Key>,
    persistence: Persistence,
}

impl<'a> Pool<'a> {
    pub(super) async fn open(allocation: &Allocation<'a>) -> Result<Self, Status> {
        let server = allocation.server;
        let is_port = |key: &&Key| key.as_bytes().starts_with(PORT_PREFIX.as_bytes());
        let ports_in_use = match allocation.taken.iter().find(is_port) {
            Some(_) => {
                let range = KeyRange::prefix(PORT_PREFIX.as_bytes());
                server.committer.keys(range).await?
            }
            None => BTreeSet::new(),
        };
        Ok(Self {
            range: server.settings.service_addresses,
            random: &server.settings.random,
            addresses: server.cache(&addresses(&server.registry))?,
            taken: allocation.taken,
            ports_in_use,
            persistence: allocation.persistence,
        })
    }

    /// Why a service cannot have this address.
    pub(super) fn refuse_address(&self, address: &str) -> Result<(), String> {
        let is_ours = address
            .parse()
            .is_ok_and(|address| self.range.contains(address));
        if !is_ours {
            return Err(allocation::ADDRESS_OUT_OF_RANGE.to_owned());
        }
        if self.taken.contains(&address_key(address)) {
            return Err(allocation::ADDRESS_TAKEN.to_owned());
        }
        Ok(())
    }

    /// An address that nobody seems to have.
    pub(super) fn free_address(&self) -> Option<String> {
        if self.persistence == Persistence::DryRun {
            return Some(self.range.network.to_string());
        }
        let (named, usable) = (self.range.named(), self.range.usable());
        let places = self.places_between(named + 1, usable);
        let reserved = self.places_between(1, named);
        let addresses = places
            .chain(reserved)
            .map(|place| self.range.at(place).to_string());
        let mut free = addresses.filter(|address| self.is_free(address));
        free.next()
    }

    /// The places from the first to the last, beginning anywhere.
    fn places_between(&self, first: u32, last: u32) -> impl Iterator<Item = u32> + use<> {
        let count = (last + 1).saturating_sub(first);
        let start = match count {
            0 => 0,
            _ => self.random.below(count as usize) as u32,
        };
        (0..count).map(move |step| first + (start + step) % count)
    }

    fn is_free(&self, address: &str) -> bool {
        let key = address_key(address);
        !self.taken.contains(&key) && self.addresses.cached(&key).is_none()
    }

    /// Why a service cannot have this port.
    pub(super) fn refuse_port(&self, port: i64) -> Result<(), String> {
        if !NODE_PORTS.contains(&port) {
            let (first, last) = (NODE_PORTS.start(), NODE_PORTS.end());
            return Err(allocation::port_out_of_range(&format!("{first}-{last}")));
        }
        if self.taken.contains(&Claim::Port(port).key()) {
            return Err(allocation::PORT_TAKEN.to_owned());
        }
        Ok(())
    }

    /// A port that nobody seems to have.
    pub(super) fn free_port(&self, chosen: &BTreeSet<i64>) -> Option<i64> {
        let (first, last) = (*NODE_PORTS.start() as u32, *NODE_PORTS.end() as u32);
        let named = NAMED_PORTS as u32;
        let places = self.places_between(first + named, last);
        let reserved = self.places_between(first, first + named - 1);
        let mut ports = places.chain(reserved).map(i64::from);
        ports.find(|port| {
            let key = Claim::Port(*port).key();
            let is_taken = self.taken.contains(&key) || self.ports_in_use.contains(&key);
            !is_taken && !chosen.contains(port)
        })
    }
}
