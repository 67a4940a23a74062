//! The client library as its users meet it.

#![cfg(test)]

mod etcd_source;
mod controller;
mod event_recorder;
mod following;
mod kubernetes_source;
mod leader_election;
mod proxy;
mod real_server;
mod recording;
mod reflector;
mod several_servers;
