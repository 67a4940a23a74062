//! The Kubernetes API over HTTP.
//!
//! The modules are listed in the order in which a request meets them.

mod listener;
mod respond;
mod request;
mod access;
mod verbs;
mod documents;
mod discovery;
mod openapi;
pub mod registry;
mod admission;
mod service_accounts;
mod webhook_client;
mod commit;
mod custom;
mod upkeep;
mod api_services;
mod policy_status;
pub mod watch_cache;
pub mod response;
mod metrics;
mod server;
mod handle;
mod bootstrap;
mod lifecycle;
mod turn;
mod settings;
pub mod clock;
pub mod random;

pub use admission::{AddressRange, PortRange, ServiceAddresses};
pub use handle::{AnswerBody, ServerHandle, ServerStopped};
pub use server::{RunningServer, StartError};
pub use settings::{PodAccounts, Settings};
