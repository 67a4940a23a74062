//! The server tested from outside.

#![cfg(test)]

mod client;
mod running;
mod faulty_store;

mod scenes;
mod paths;
mod freshness;
mod watching;
mod representations;
mod transport;
mod connections;
mod writing;
mod service_accounts;
mod deleting;
mod conversions;
mod documents;
mod etcd_store;
mod shutdown;
mod limits;
mod failing_store;
mod replica_store;
mod replicas;
mod foreign_values;
mod unreadable_values;
mod homes;
mod services;
mod recorded_kinds;
mod pod_actions;
mod surroundings;
mod webhooks;
mod policies;
mod quotas;
mod losing_the_store;
mod bad_input;
mod custom_kinds;
mod api_services;
mod conversion_webhooks;
mod golden;
mod protobuf;
mod cbor;
mod watch_cache;
mod without_kubelet;
