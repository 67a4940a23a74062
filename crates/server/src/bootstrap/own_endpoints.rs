//! Where the service `kubernetes` leads: to this server.
//!
//! Each server that starts writes down its own address. What others stored in another form is
//! theirs to keep.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};

use listwatch_api::object;
use listwatch_store::{Condition, KeyRange, Operation, Read, Store, Write};
use serde_json::{Value, json};

use super::creation;
use crate::{
    commit::{carry_over, object_key},
    registry::Registry,
    server::StartError,
    settings::Settings,
};

const NAMESPACE: &str = "default";
const NAME: &str = "kubernetes";

/// The members of both kinds that say where a service leads.
const LEADING: [&str; 3] = ["subsets", "endpoints", "ports"];

/// What is to be written so that the service leads here.
pub(super) async fn corrections(
    registry: &Registry,
    store: &dyn Store,
    (settings, listening): (&Settings, SocketAddr),
) -> Result<Vec<Operation>, StartError> {
    let own = own_address(listening);
    let mut operations = Vec::new();
    for (group, resource, wanted) in [
        ("", "endpoints", endpoints(own)),
        ("discovery.k8s.io", "endpointslices", slice(own)),
    ] {
        let definition = registry.find(group, "v1", resource);
        let definition = definition.expect("endpoints and slices are built in");
        let key = object_key(&definition, Some(NAMESPACE), NAME);
        let page = store.read(Read::newest(KeyRange::single(&key))).await;
        let page = page.map_err(|error| StartError::Store(error.to_string()))?;
        let Some(entry) = page.entries.into_iter().next() else {
            operations.push(creation(&definition, Some(NAMESPACE), wanted, settings));
            continue;
        };
        let Ok(stored) = serde_json::from_slice::<Value>(&entry.value) else {
            continue;
        };
        let mut next = wanted;
        carry_over(&definition, &stored, &mut next);
        if LEADING.iter().any(|it| stored.get(it) != next.get(it)) {
            operations.push(Operation {
                key,
                condition: Condition::Unchanged(entry.revision),
                write: Write::put(object::to_canonical(&next)),
            });
        }
    }
    Ok(operations)
}

/// Where others find a server that listens here. One that listens everywhere is where the
/// machine's traffic comes from; to learn that, nothing is sent.
fn own_address(listening: SocketAddr) -> SocketAddr {
    if !listening.ip().is_unspecified() {
        return listening;
    }
    let any = (IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
    let elsewhere = (IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 9);
    let asked = UdpSocket::bind(any).and_then(|socket| {
        socket.connect(elsewhere)?;
        socket.local_addr()
    });
    let ip = asked.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |asked| asked.ip());
    SocketAddr::new(ip, listening.port())
}

fn endpoints(own: SocketAddr) -> Value {
    json!({
        "kind": "Endpoints",
        "apiVersion": "v1",
        "metadata": {
            "name": NAME,
            "labels": {"endpointslice.kubernetes.io/skip-mirror": "true"},
        },
        "subsets": [{
            "addresses": [{"ip": own.ip().to_string()}],
            "ports": [{"name": "http", "port": own.port(), "protocol": "TCP"}],
        }],
    })
}

fn slice(own: SocketAddr) -> Value {
    let address_type = match own.ip() {
        IpAddr::V4(_) => "IPv4",
        IpAddr::V6(_) => "IPv6",
    };
    json!({
        "kind": "EndpointSlice",
        "apiVersion": "discovery.k8s.io/v1",
        "metadata": {
            "name": NAME,
            "labels": {"kubernetes.io/service-name": NAME},
        },
        "addressType": address_type,
        "endpoints": [{
            "addresses": [own.ip().to_string()],
            "conditions": {"ready": true},
        }],
        "ports": [{"name": "http", "port": own.port(), "protocol": "TCP"}],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_listens_everywhere_is_not_found_everywhere() {
        let everywhere = SocketAddr::from(([0, 0, 0, 0], 8080));
        let own = own_address(everywhere);
        assert!(!own.ip().is_unspecified());
        assert_eq!(own.port(), 8080);
        let here = SocketAddr::from(([10, 0, 0, 1], 8080));
        assert_eq!(own_address(here), here);
    }
}
