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

pub use columns::Column;
pub use document::{ColumnDefinitions, RowObject, Table, TableList};
pub use printer::Printer;

#[cfg(test)]
mod test_rows;
