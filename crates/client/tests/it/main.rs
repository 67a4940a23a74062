//! The client library on real sockets.

#![cfg(test)]

mod event_recorder;
mod leader_election;
mod proxy;
mod real_server;
