//! Which addresses and ports are in use, and by whom.

use std::{collections::BTreeSet, net::IpAddr};

use listwatch_api::{Status, object};
use listwatch_kinds::service::allocation::{self, Family};
use listwatch_store::{Condition, Key, KeyRange, Operation, Write};
use serde_json::{Value, json};

use super::{
    Allocation,
    ranges::{AddressRange, PortRange},
};
use crate::{
    commit::{Persistence, metadata_text, stamp_new},
    random::Random,
    registry::{Definition, Registry},
    server::Server,
    watch_cache::KindCache,
};

/// Where it is written which ports are in use.
const PORT_PREFIX: &str = "/registry/ranges/servicenodeports/";

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
    let family = Family::of(address).map_or("", Family::word);
    json!({
        "kind": "IPAddress",
        "apiVersion": "networking.k8s.io/v1",
        "metadata": {
            "name": address,
            "labels": {
                "ipaddress.kubernetes.io/ip-family": family,
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
    let canonical = |text: &str| match text.parse::<IpAddr>() {
        Ok(address) => address.to_string(),
        Err(_) => text.to_owned(),
    };
    let addresses = allocation::addresses(service).map(|it| Claim::Address(canonical(it)));
    let ports = allocation::node_ports(service).into_iter().map(Claim::Port);
    addresses.chain(ports).collect()
}

/// What there is to be had.
pub(super) struct Pool<'a> {
    ranges: Vec<AddressRange>,
    ports: PortRange,
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
        let settings = &server.settings;
        Ok(Self {
            ranges: settings.service_addresses.ranges().collect(),
            ports: settings.node_ports,
            random: &settings.random,
            addresses: server.cache(&addresses(&server.registry))?,
            taken: allocation.taken,
            ports_in_use,
            persistence: allocation.persistence,
        })
    }

    /// The families of addresses that there are, the one to prefer first.
    pub(super) fn families(&self) -> Vec<Family> {
        self.ranges.iter().map(|range| range.family()).collect()
    }

    fn range(&self, family: Family) -> Option<AddressRange> {
        let mut ranges = self.ranges.iter();
        ranges.find(|range| range.family() == family).copied()
    }

    /// Why a service cannot have this address.
    pub(super) fn refuse_address(&self, family: Family, address: &str) -> Result<(), String> {
        let range = self.range(family);
        let address: Option<IpAddr> = address.parse().ok();
        let Some(address) = address.filter(|it| range.is_some_and(|range| range.contains(*it)))
        else {
            return Err(allocation::ADDRESS_OUT_OF_RANGE.to_owned());
        };
        if self.taken.contains(&address_key(&address.to_string())) {
            return Err(allocation::ADDRESS_TAKEN.to_owned());
        }
        Ok(())
    }

    /// An address that nobody seems to have.
    pub(super) fn free_address(&self, family: Family) -> Option<String> {
        let range = self.range(family)?;
        if self.persistence == Persistence::DryRun {
            return Some(range.network().to_string());
        }
        let (named, usable) = (range.named(), range.usable());
        let places = self.places_between(named + 1, usable);
        let reserved = self.places_between(1, named);
        let addresses = places.chain(reserved);
        let addresses = addresses.map(|place| range.at(place).to_string());
        let mut free = addresses.filter(|address| self.is_free(address));
        free.next()
    }

    /// The places from the first to the last, beginning anywhere.
    fn places_between(&self, first: u64, last: u64) -> impl Iterator<Item = u64> + use<> {
        let count = match last >= first {
            true => last - first + 1,
            false => 0,
        };
        let start = match count {
            0 => 0,
            _ => self.random.below(count as usize) as u64,
        };
        let before_the_end = start..count;
        let places = before_the_end.chain(0..start);
        places.map(move |place| first + place)
    }

    fn is_free(&self, address: &str) -> bool {
        let key = address_key(address);
        !self.taken.contains(&key) && self.addresses.cached(&key).is_none()
    }

    /// Why a service cannot have this port.
    pub(super) fn refuse_port(&self, port: i64) -> Result<(), String> {
        if !self.ports.contains(port) {
            return Err(allocation::port_out_of_range(&self.ports.to_string()));
        }
        if self.taken.contains(&Claim::Port(port).key()) {
            return Err(allocation::PORT_TAKEN.to_owned());
        }
        Ok(())
    }

    /// A port that nobody seems to have.
    pub(super) fn free_port(&self, chosen: &BTreeSet<i64>) -> Option<i64> {
        let (first, last) = (self.ports.first().into(), self.ports.last().into());
        let named = self.ports.named();
        let places = self.places_between(first + named, last);
        let reserved = self.places_between(first, (first + named).saturating_sub(1));
        let mut ports = places.chain(reserved).map(|port| port as i64);
        ports.find(|port| {
            let key = Claim::Port(*port).key();
            let is_taken = self.taken.contains(&key) || self.ports_in_use.contains(&key);
            !is_taken && !chosen.contains(port)
        })
    }
}
