//! Elections among real candidates on a real server.

mod one_leader;
mod terms;
mod work;

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::{
    Api,
    api::{Patch, PatchParams},
};
use listwatch::leader_election::{ElectionSettings, LeaderElector, OnDrop};
use serde_json::json;
use tokio::sync::watch;

use crate::{
    proxy::Proxy,
    real_server::{RealServer, client_of},
};

const LEASE: &str = "lock";

/// Longer than any test waits when all is well.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server with candidates for one lease.
struct Election {
    server: RealServer,
}

impl Election {
    async fn start() -> Self {
        Self {
            server: RealServer::start().await,
        }
    }

    fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.server.client(), "default")
    }

    fn candidate(&self, settings: ElectionSettings) -> LeaderElector {
        LeaderElector::new(self.leases(), LEASE, settings).unwrap()
    }

    async fn candidate_behind_a_proxy(&self, settings: ElectionSettings) -> (Proxy, LeaderElector) {
        let proxy = Proxy::start(self.server.address()).await;
        let leases = Api::namespaced(client_of(proxy.address()), "default");
        let elector = LeaderElector::new(leases, LEASE, settings).unwrap();
        (proxy, elector)
    }

    async fn spec(&self) -> LeaseSpec {
        self.leases().get(LEASE).await.unwrap().spec.unwrap()
    }

    /// Writes into the lease as any other program may.
    async fn patch(&self, patch: serde_json::Value) {
        let patch = Patch::Merge(patch);
        let options = PatchParams::default();
        self.leases().patch(LEASE, &options, &patch).await.unwrap();
    }

    async fn label(&self) {
        self.patch(json!({"metadata": {"labels": {"seen": "yes"}}}))
            .await;
    }
}

/// Renews fast and runs out fast: for tests in which a lease runs out or is renewed.
fn hasty(identity: &str) -> ElectionSettings {
    ElectionSettings {
        lease_duration: Duration::from_secs(1),
        renew_deadline: Duration::from_millis(700),
        retry_period: Duration::from_millis(50),
        random: fastrand::Rng::with_seed(1),
        ..ElectionSettings::new(identity)
    }
}

/// Tries fast but runs out after a minute: for tests in which no lease may run out.
fn lasting(identity: &str) -> ElectionSettings {
    ElectionSettings {
        lease_duration: Duration::from_secs(60),
        renew_deadline: Duration::from_secs(40),
        ..hasty(identity)
    }
}

/// Ends as if the process had been killed.
fn mortal(settings: ElectionSettings) -> ElectionSettings {
    ElectionSettings {
        on_drop: OnDrop::LetExpire,
        ..settings
    }
}

async fn sees(leader: &mut watch::Receiver<Option<Arc<str>>>, expected: Option<&str>) {
    let seen = leader.wait_for(|leader| leader.as_deref() == expected);
    tokio::time::timeout(PATIENCE, seen).await.unwrap().unwrap();
}
