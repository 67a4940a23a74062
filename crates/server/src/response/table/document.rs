//! Tables as bytes, row by row.

use std::sync::Arc;

use bytes::BufMut;
use jiff::Timestamp;
use listwatch_api::{
    ResourceVersion,
    media_type::MetaVersion,
    object::{Header, StoredObject, to_canonical},
};
use serde_json::Value;

use super::{printed, printer::Printer};
use crate::response::partial_metadata::{ListMetadata, append_head, append_object};

/// How much of its object a row carries.
#[derive(Clone, Debug)]
pub enum RowObject {
    /// Nothing.
    None,
    /// Its metadata.
    Metadata,
    /// All of it.
    Whole,
    /// All of it, with these members for its kind and version.
    WithHeader(Arc<[u8]>),
}

/// Whether a document says what its columns are. A watch says so only in its first event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnDefinitions {
    /// With the columns.
    Included,
    /// With `null`.
    Omitted,
}

/// How one request wants its tables.
#[derive(Clone, Debug)]
pub struct Table {
    /// The columns and cells.
    pub printer: Arc<Printer>,
    /// The version of the document.
    pub version: MetaVersion,
    /// What comes with each row.
    pub row_object: RowObject,
    /// The time that ages are counted to.
    pub now: Timestamp,
}

impl Table {
    /// Appends a table of one row: the answer to a get, or the object of an event. A bookmark is
    /// an object with nothing but metadata.
    pub fn append_one(
        &self,
        object: &StoredObject,
        resource_version: ResourceVersion,
        definitions: ColumnDefinitions,
        buffer: &mut impl BufMut,
    ) {
        let metadata = ListMetadata::complete(resource_version);
        self.append_head(&metadata, definitions, buffer);
        self.append_row(object, resource_version, buffer);
        buffer.put_slice(END);
    }

    /// Begins a table of many rows.
    pub fn begin_list(self, metadata: &ListMetadata<'_>, buffer: &mut impl BufMut) -> TableList {
        self.append_head(metadata, ColumnDefinitions::Included, buffer);
        TableList {
            table: self,
            separator: b"",
        }
    }

    fn append_head(
        &self,
        metadata: &ListMetadata<'_>,
        definitions: ColumnDefinitions,
        buffer: &mut impl BufMut,
    ) {
        append_head("Table", self.version, metadata, buffer);
        buffer.put_slice(br#","columnDefinitions":"#);
        match definitions {
            ColumnDefinitions::Included => {
                serde_json::to_writer(buffer.writer(), self.printer.columns())
                    .expect("columns are texts and a number, and a buffer takes every write");
            }
            ColumnDefinitions::Omitted => buffer.put_slice(b"null"),
        }
        buffer.put_slice(br#","rows":["#);
    }

    fn append_row(
        &self,
        object: &StoredObject,
        resource_version: ResourceVersion,
        buffer: &mut impl BufMut,
    ) {
        let value = printed::decode(object.value());
        buffer.put_slice(br#"{"cells":"#);
        buffer.put_slice(&to_canonical(&Value::Array(
            self.printer.cells(&value, self.now),
        )));
        if let Some(condition) = self.printer.completion(&value) {
            buffer.put_slice(br#","conditions":"#);
            buffer.put_slice(&to_canonical(&Value::Array(vec![condition])));
        }
        buffer.put_slice(br#","object":"#);
        match &self.row_object {
            RowObject::None => buffer.put_slice(b"null"),
            RowObject::Metadata => append_object(self.version, object, resource_version, buffer),
            RowObject::Whole => object.append(Header::Stored, resource_version, buffer),
            RowObject::WithHeader(members) => {
                object.append(Header::Replaced(members), resource_version, buffer);
            }
        }
        buffer.put_u8(b'}');
    }
}

/// A table of many rows, written one row at a time.
#[derive(Debug)]
#[must_use]
pub struct TableList {
    table: Table,
    separator: &'static [u8],
}

impl TableList {
    /// Appends the row of one object.
    pub fn row(
        &mut self,
        object: &StoredObject,
        resource_version: ResourceVersion,
        buffer: &mut impl BufMut,
    ) {
        buffer.put_slice(self.separator);
        self.separator = b",";
        self.table.append_row(object, resource_version, buffer);
    }

    /// Appends all that comes after the last row.
    pub fn end(self, buffer: &mut impl BufMut) {
        buffer.put_slice(END);
    }
}

const END: &[u8] = b"]}";

#[cfg(test)]
mod tests;
