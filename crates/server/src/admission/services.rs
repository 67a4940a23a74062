//! What services get from the cluster: addresses in its range, and ports on its nodes.
//!
//! Each address and port in use is an entry of its own in the store, which is written and removed
//! together with the service that has it. So no two services ever have the same, whichever servers
//! made them, and nothing leaks.

mod claims;
mod ranges;

use std::collections::BTreeSet;

use listwatch_api::{FieldError, GroupKind, Status};
use listwatch_kinds::service::allocation::{self, AddressWish, Choice, NodePortWish};
use listwatch_store::{Key, Operation};
use serde_json::{Value, json};

use self::claims::{Claim, Pool};
use crate::{
    commit::{Persistence, metadata_text},
    registry::Definition,
    server::Server,
};

pub(crate) use claims::address_object;
pub use ranges::{AddressRange, PortRange, ServiceAddresses};

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
        match fill(&pool, before.unwrap_or(&Value::Null), service) {
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

/// Gives a service what it asks for; `before` is null for a new one.
fn fill(pool: &Pool<'_>, before: &Value, service: &mut Value) -> Result<(), Refusal> {
    allocation::settle(service, before, &pool.families()).map_err(Refusal::Invalid)?;
    let wish = allocation::wish(service, before);
    for wanted in &wish.addresses {
        let address = choose_address(pool, service, wanted)?;
        allocation::grant_address(service, wanted, &address);
    }
    let mut chosen = BTreeSet::new();
    for wanted in &wish.node_ports {
        let port = choose_port(pool, &chosen, wanted)?;
        chosen.insert(port);
        allocation::grant_node_port(service, wanted, port);
    }
    if let Some(choice) = wish.health_port {
        let held = allocation::node_ports(service).into_iter().collect();
        let port = choose_health_port(pool, &held, &choice)?;
        service["spec"]["healthCheckNodePort"] = json!(port);
    }
    Ok(())
}

fn choose_address(
    pool: &Pool<'_>,
    service: &Value,
    wanted: &AddressWish,
) -> Result<String, Refusal> {
    match &wanted.choice {
        Choice::This(address) => {
            let refused = pool.refuse_address(wanted.family, address);
            refused.map_err(|why| {
                Refusal::Invalid(vec![allocation::refuse_address(service, address, &why)])
            })?;
            Ok(address.clone())
        }
        Choice::Any => pool.free_address(wanted.family).ok_or_else(|| {
            let name = metadata_text(service, "name").unwrap_or_default();
            Refusal::Exhausted(format!(
                "failed to allocate a serviceIP for Service {name:?}: range is full"
            ))
        }),
    }
}

fn choose_port(
    pool: &Pool<'_>,
    chosen: &BTreeSet<i64>,
    wanted: &NodePortWish,
) -> Result<i64, Refusal> {
    match wanted.choice {
        Choice::This(port) => {
            let refused = match chosen.contains(&port) {
                true => Err(allocation::PORT_TAKEN.to_owned()),
                false => pool.refuse_port(port),
            };
            refused.map_err(|why| {
                Refusal::Invalid(vec![allocation::refuse_node_port(wanted.index, port, &why)])
            })?;
            Ok(port)
        }
        Choice::Any => pool.free_port(chosen).ok_or_else(|| {
            Refusal::Exhausted("failed to allocate a nodePort: range is full".to_owned())
        }),
    }
}

fn choose_health_port(
    pool: &Pool<'_>,
    held: &BTreeSet<i64>,
    choice: &Choice<i64>,
) -> Result<i64, Refusal> {
    match choice {
        Choice::This(port) => {
            let refused = pool.refuse_port(*port);
            refused.map_err(|why| {
                let what = "failed to allocate requested HealthCheck NodePort";
                Refusal::Exhausted(format!("{what} {port}: {why}"))
            })?;
            Ok(*port)
        }
        Choice::Any => pool.free_port(held).ok_or_else(|| {
            let what = "failed to allocate a HealthCheck NodePort";
            Refusal::Exhausted(format!("{what} 0: range is full"))
        }),
    }
}
