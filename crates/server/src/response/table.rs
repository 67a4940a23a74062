//! Objects as rows for people: the `meta.k8s.io` Table that kubectl prints.
//!
//! A [`Printer`] knows the columns of one resource and makes the cells of one object; a [`Table`]
//! writes them as the documents that get, list and watch answer with.

mod columns;
mod document;
mod field;
mod printed;
mod printer;
mod text;

mod basics;
mod pods;
mod workloads;
mod jobs;
mod scaling;
mod network;
mod endpoints;
mod storage;
mod cluster;
mod events;
mod access;
mod admission;
mod flow_control;
mod kinds;
mod devices;
mod custom;
mod json_path;

pub use document::{ColumnDefinitions, RowObject, Table, TableList};
pub use printer::Printer;

#[cfg(test)]
mod test_rows;
