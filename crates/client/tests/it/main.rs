//! The client library on real sockets.

#![cfg(test)]

mod leader_election;
mod proxy;
mod real_server;
