//! What services get from the cluster: addresses in its range, and ports on its nodes.
//!
//! Each address and port in use is an entry of its own in the store, which is written and removed
//! together with the service that has it. So no two services ever have the same, whichever servers
//! made them, and nothing leaks.

mod claims;
mod fields;

use std::collections::BTreeSet;

use listwatch_api::{FieldError, FieldPath, GroupKind, Status};
use listwatch_store::{Key, Operation};
use serde_json::{Value, json};

use self::{
    claims::{Claim, Pool},
    fields::{Type, families, ports, type_of},
};
use crate::{
    commit::{Persistence, metadata_text},
    registry::Definition,
    server::Server,
};

pub use claims::AddressRange;
pub(crate) use claims::address_object;

/// The kind, as messages name it.
const SERVICE: GroupKind<'static> = GroupKind {
    group: "",
    kind: "Service",
};

/// Whether objects of this kind get something from the cluster.
pub(crate) fn concerns(definition: &Definition) -> bool {
    definition.group.is_empty() && &*definition.resource == "services"
}

/// What a service is given something for.
pub(crate) struct Allocation<'a> {
    /// The server that gives it.
    pub server: &'a Server,
    /// Keys that turned out to be taken when somebody tried to write them.
    pub taken: &'a BTreeSet<Key>,
    /// Whether it is written at all.
    pub persistence: Persistence,
}

impl Allocation<'_> {
    /// Gives a new or changed service what it asks for, and says what is to be written with it.
    pub(crate) async fn allocate(
        &self,
        before: Option<&Value>,
        service: &mut Value,
    ) -> Result<Vec<Operation>, Status> {
        let pool = Pool::open(self).await?;
        match before {
            None => fields::normalize_new(service),
            Some(before) => fields::normalize_change(before, service),
        }
        match fill(&pool, before, service) {
            Ok(()) => Ok(self.operations(before, service)),
            Err(Refusal::Exhausted(why)) => Err(Status::internal(&why)),
            Err(Refusal::Invalid(errors)) => {
                let name = metadata_text(service, "name").unwrap_or_default();
                Err(Status::invalid(SERVICE, name, &errors))
            }
        }
    }

    /// What is to be written when a service goes.
    pub(crate) fn release(service: &Value) -> Vec<Operation> {
        let held = claims::held_by(service);
        held.into_iter().map(Claim::release).collect()
    }

    fn operations(&self, before: Option<&Value>, service: &Value) -> Vec<Operation> {
        let held = before.map(claims::held_by).unwrap_or_default();
        let wanted = claims::held_by(service);
        let claimed = wanted.difference(&held).cloned();
        let claimed = claimed.map(|claim| claim.write(self.server, service));
        let released = held.difference(&wanted).cloned().map(Claim::release);
        claimed.chain(released).collect()
    }
}

/// Why a service does not get what it asks for.
enum Refusal {
    Invalid(Vec<FieldError>),
    Exhausted(String),
}

fn fill(pool: &Pool<'_>, before: Option<&Value>, service: &mut Value) -> Result<(), Refusal> {
    let kind = type_of(service);
    if kind != Type::ExternalName {
        families(pool.range.family(), service).map_err(Refusal::Invalid)?;
        fill_addresses(pool, before, service)?;
    }
    if matches!(kind, Type::NodePort | Type::LoadBalancer) {
        fill_ports(pool, before, service)?;
    }
    if fields::needs_health_check(service) {
        fill_health_check(pool, before, service)?;
    }
    Ok(())
}

fn fill_addresses(
    pool: &Pool<'_>,
    before: Option<&Value>,
    service: &mut Value,
) -> Result<(), Refusal> {
    let stated: Vec<String> = fields::texts(&service["spec"]["clusterIPs"]);
    if stated.first().is_some_and(|first| first == "None") {
        return Ok(());
    }
    let held = before.map(claims::held_by).unwrap_or_default();
    let name = metadata_text(service, "name").unwrap_or_default();
    match stated.first() {
        Some(address) => {
            let claim = Claim::Address(address.clone());
            if address.parse::<std::net::IpAddr>().is_err() || held.contains(&claim) {
                return Ok(());
            }
            let refused = pool.refuse_address(address);
            refused.map_err(|why| {
                let field = FieldPath::new("spec").child("clusterIPs");
                let detail = format!("failed to allocate IP {address}: {why}");
                let stated = json!(stated);
                Refusal::Invalid(vec![FieldError::invalid(&field, &stated, &detail)])
            })
        }
        None => {
            let address = pool.free_address().ok_or_else(|| {
                let why = "range is full";
                Refusal::Exhausted(format!(
                    "failed to allocate a serviceIP for Service {name:?}: {why}"
                ))
            })?;
            service["spec"]["clusterIP"] = json!(address);
            service["spec"]["clusterIPs"] = json!([address]);
            Ok(())
        }
    }
}

fn fill_ports(pool: &Pool<'_>, before: Option<&Value>, service: &mut Value) -> Result<(), Refusal> {
    let held = before.map(claims::held_by).unwrap_or_default();
    let allocates = fields::allocates_ports(service);
    let mut chosen = BTreeSet::new();
    for place in 0..ports(service).len() {
        let port = &ports(service)[place];
        let number = port["port"].as_i64().unwrap_or_default();
        let same_number = |other: &&Value| other["port"].as_i64() == Some(number);
        let stated = fields::node_port(port).or_else(|| {
            let mut others = ports(service).iter().filter(same_number);
            others.find_map(fields::node_port)
        });
        let node_port = match stated {
            Some(stated) => {
                let is_held = held.contains(&Claim::Port(stated)) || chosen.contains(&stated);
                let refused = match is_held {
                    true => Ok(()),
                    false => pool.refuse_port(stated),
                };
                refused.map_err(|why| {
                    let field = FieldPath::new("spec").child("ports").index(place);
                    let field = field.child("nodePort");
                    Refusal::Invalid(vec![FieldError::invalid(&field, stated, &why)])
                })?;
                stated
            }
            None if !allocates => continue,
            None => pool.free_port(&chosen).ok_or_else(|| {
                Refusal::Exhausted("failed to allocate a nodePort: range is full".to_owned())
            })?,
        };
        chosen.insert(node_port);
        service["spec"]["ports"][place]["nodePort"] = json!(node_port);
    }
    Ok(())
}

fn fill_health_check(
    pool: &Pool<'_>,
    before: Option<&Value>,
    service: &mut Value,
) -> Result<(), Refusal> {
    let held = before.map(claims::held_by).unwrap_or_default();
    let chosen: BTreeSet<i64> = ports(service)
        .iter()
        .filter_map(fields::node_port)
        .collect();
    match fields::health_check_port(service) {
        Some(stated) if held.contains(&Claim::Port(stated)) => Ok(()),
        Some(stated) => pool.refuse_port(stated).map_err(|why| {
            let what = "failed to allocate requested HealthCheck NodePort";
            Refusal::Exhausted(format!("{what} {stated}: {why}"))
        }),
        None => {
            let port = pool.free_port(&chosen).ok_or_else(|| {
                let what = "failed to allocate a HealthCheck NodePort";
                Refusal::Exhausted(format!("{what} 0: range is full"))
            })?;
            service["spec"]["healthCheckNodePort"] = json!(port);
            Ok(())
        }
    }
}
