//! The controllers of one server and their life: start, lead, stop.

use std::sync::Arc;

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use listwatch::{
    ElectionSettings, EventRecorder, LeaderElector, event_recorder::Reporter, wall_clock::WallClock,
};
use listwatch_server::ServerHandle;
use tokio::{
    sync::watch,
    task::{JoinHandle, JoinSet},
};

use crate::{
    choice::{Choice, Name},
    disruption,
    garbage_collector::{self, GarbageCollector},
    inventory::Inventory,
    namespace::{self, NamespaceController},
    namespace_contents::{self, Provided},
    objects::Objects,
    services::Services,
    simulated_nodes::SimulatedNodes,
    storage_protection::{self, Protected},
    workloads::Workloads,
};

/// What the controllers call themselves in `managedFields` and events.
const USER_AGENT: &str = "listwatch-controllers";

/// The lease by which servers on one store agree on who runs the controllers.
const LEASE: (&str, &str) = ("kube-system", "listwatch-controllers");

/// What controllers are to do.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which of them run.
    pub choice: Choice,
    /// Whether other servers share the store.
    pub standing: Standing,
    /// How many nodes are simulated, on which pods are placed and live. Nothing is run.
    pub simulated_nodes: u32,
    /// Where the times come from that are written down.
    pub clock: WallClock,
}

/// Whether other servers share the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// This server has the store for itself.
    Alone,
    /// One of several: the one that holds the lease runs the controllers.
    Candidate {
        /// Tells this server from the others.
        identity: String,
    },
}

/// The controllers that a server runs beside answering requests.
///
/// They are stopped before the server is, so that what they have begun is finished. If this is
/// dropped instead, they end where they are.
pub struct Controllers {
    stop: watch::Sender<Phase>,
    running: Option<JoinHandle<()>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    Stopping,
}

/// Tells a part of the controllers when to stop.
#[derive(Clone)]
pub(crate) struct Stop(watch::Receiver<Phase>);

impl Default for Settings {
    fn default() -> Self {
        Self {
            choice: Choice::default(),
            standing: Standing::Alone,
            simulated_nodes: 0,
            clock: WallClock::system(),
        }
    }
}

impl Controllers {
    /// Starts them on a server that runs. Must be called on a Tokio runtime.
    pub fn start(server: ServerHandle, settings: Settings) -> Self {
        let stop = watch::Sender::new(Phase::Running);
        let is_idle = settings.choice.is_empty() && settings.simulated_nodes == 0;
        let running = (!is_idle).then(|| {
            let client = listwatch_in_process::client_named(server.clone(), USER_AGENT);
            let team = Team {
                server,
                client,
                settings,
            };
            tokio::spawn(team.run(Stop(stop.subscribe())))
        });
        Self { stop, running }
    }

    /// Finishes what is being worked on, and gives up the lead.
    pub async fn stop(mut self) {
        self.stop.send_replace(Phase::Stopping);
        if let Some(running) = self.running.take()
            && let Err(error) = running.await
        {
            tracing::error!("the controllers ended badly: {error}");
        }
    }
}

impl Drop for Controllers {
    fn drop(&mut self) {
        if let Some(running) = &self.running {
            running.abort();
        }
    }
}

impl Stop {
    /// Waits until it is time to stop. Cancel safe.
    pub(crate) async fn requested(&mut self) {
        // A dropped sender means that nobody waits for a good end.
        let _ = self.0.wait_for(|phase| *phase == Phase::Stopping).await;
    }
}

/// All that run.
struct Team {
    server: ServerHandle,
    client: Client,
    settings: Settings,
}

impl Team {
    async fn run(self, stop: Stop) {
        match &self.settings.standing {
            Standing::Alone => self.work(stop).await,
            Standing::Candidate { identity } => self.work_while_leading(identity, stop).await,
        }
    }

    async fn work_while_leading(&self, identity: &str, mut stop: Stop) {
        let (namespace, name) = LEASE;
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), namespace);
        let elector = LeaderElector::new(leases, name, ElectionSettings::new(identity))
            .expect("the settings of the election are sound");
        loop {
            let leadership = tokio::select! {
                biased;
                () = stop.requested() => return,
                leadership = elector.campaign() => leadership,
            };
            let Ok(leadership) = leadership.inspect_err(|error| tracing::error!("{error}")) else {
                return;
            };
            tracing::info!(identity, "this server runs the controllers");
            let ended = tokio::select! {
                biased;
                loss = leadership.lost() => Err(loss),
                () = self.work(stop.clone()) => Ok(()),
            };
            if let Err(error) = leadership.release().await {
                tracing::warn!("other servers have to wait for the lease to run out: {error}");
            }
            match ended {
                Ok(()) => return,
                Err(loss) => tracing::warn!("another server may run the controllers: {loss}"),
            }
        }
    }

    /// Runs those that were chosen until told to stop.
    async fn work(&self, stop: Stop) {
        let mut tasks = JoinSet::new();
        tasks.spawn(self.work_on_all_kinds(stop.clone()));
        for (name, provided) in [
            (Name::ServiceAccount, Provided::ServiceAccount),
            (Name::RootCa, Provided::RootCertificate),
        ] {
            if self.settings.choice.includes(name) {
                let (server, client) = (self.server.clone(), self.client.clone());
                tasks.spawn(namespace_contents::run(
                    server,
                    client,
                    provided,
                    stop.clone(),
                ));
            }
        }
        if self.settings.choice.includes(Name::StorageProtection) {
            for protected in Protected::ALL {
                let objects = Objects::new(self.client.clone());
                let server = self.server.clone();
                let run = storage_protection::run(server, objects, protected, stop.clone());
                tasks.spawn(run);
            }
        }
        if self.settings.choice.includes(Name::Disruption) {
            let tools = (self.client.clone(), self.settings.clock.clone());
            tasks.spawn(disruption::run(self.server.clone(), tools, stop.clone()));
        }
        self.spawn_workloads(&stop, &mut tasks);
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended {
                tracing::error!("a controller ended badly: {error}");
            }
        }
    }

    fn spawn_workloads(&self, stop: &Stop, tasks: &mut JoinSet<()>) {
        let Settings {
            choice,
            simulated_nodes,
            clock,
            ..
        } = &self.settings;
        let has_workloads = Name::WORKLOADS.iter().any(|name| choice.includes(*name));
        if !has_workloads && *simulated_nodes == 0 {
            return;
        }
        let workloads = Workloads::new(&self.server, self.client.clone(), clock.clone());
        // The built-in kinds are there for as long as the server is.
        let Some(workloads) = workloads else {
            return;
        };
        workloads.spawn(choice, stop, tasks);
        if let Some(services) = Services::new(&self.server, Arc::clone(&workloads)) {
            services.spawn(choice, stop, tasks);
        }
        if *simulated_nodes > 0 {
            SimulatedNodes::new(workloads, *simulated_nodes).spawn(stop, tasks);
        }
    }

    /// Runs the two that have to do with every kind, on one inventory.
    fn work_on_all_kinds(&self, stop: Stop) -> impl Future<Output = ()> + Send + use<> {
        let choice = &self.settings.choice;
        let namespaces = choice
            .includes(Name::Namespace)
            .then(namespace::Attention::new);
        let garbage = choice
            .includes(Name::GarbageCollector)
            .then(garbage_collector::Attention::new);
        let (server, client) = (self.server.clone(), self.client.clone());
        let clock = self.settings.clock.clone();
        async move {
            if namespaces.is_none() && garbage.is_none() {
                return;
            }
            let inventory = Inventory::new(server, |inventory| {
                let namespaces = namespaces.iter().map(|it| it.observer(inventory));
                let garbage = garbage.iter().map(|it| it.observer(inventory));
                namespaces.chain(garbage).collect()
            });
            // Workers must not see an inventory that is being taken apart.
            let done = watch::Sender::new(Phase::Running);
            let mut tasks = JoinSet::new();
            let mut workers = JoinSet::new();
            tasks.spawn(Arc::clone(&inventory).run(Stop(done.subscribe())));
            let objects = Objects::new(client.clone());
            if let Some(attention) = namespaces {
                let controller = NamespaceController {
                    inventory: Arc::clone(&inventory),
                    client: client.clone(),
                    objects: objects.clone(),
                    clock,
                };
                workers.spawn(controller.run(attention, stop.clone()));
            }
            if let Some(attention) = garbage {
                let tools = (objects, event_recorder(client));
                let collector = GarbageCollector::new(inventory, attention, tools);
                workers.spawn(collector.run(stop));
            }
            while workers.join_next().await.is_some() {}
            done.send_replace(Phase::Stopping);
            while tasks.join_next().await.is_some() {}
        }
    }
}

fn event_recorder(client: Client) -> EventRecorder {
    let reporter = Reporter {
        controller: "garbage-collector-controller".to_owned(),
        instance: USER_AGENT.to_owned(),
    };
    EventRecorder::start(client, reporter, Default::default())
}
