//! Tables as bytes, row by row.

use jiff::Timestamp;
use serde_json::{Error, Map, Value};

use super::printer::Printer;
use crate::response::{
    members::Members,
    partial_metadata::{ListMetadata, MetaVersion, write_kind, write_members},
};

/// How much of its object a row carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowObject<'a> {
    /// Nothing.
    None,
    /// Its metadata.
    Metadata,
    /// All of it, as this kind.
    Whole {
        /// The object's `apiVersion`.
        api_version: &'a str,
        /// The object's kind.
        kind: &'a str,
    },
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
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    /// The columns and cells.
    pub printer: &'a Printer,
    /// The version of the document.
    pub version: MetaVersion,
    /// What comes with each row.
    pub row_object: RowObject<'a>,
    /// The time that ages are counted to.
    pub now: Timestamp,
}

impl<'a> Table<'a> {
    /// Writes a table of one row: the answer to a get, or the object of an event. A bookmark is
    /// an object with nothing but metadata.
    ///
    /// # Errors
    /// When `object` is not one JSON object; the buffer is then as it was.
    pub fn write_one(
        &self,
        object: &[u8],
        definitions: ColumnDefinitions,
        buffer: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let row = Row::of(object)?;
        let metadata = ListMetadata {
            resource_version: row.resource_version(),
            ..ListMetadata::default()
        };
        self.begin(&metadata, definitions, buffer);
        self.write_row(&row, buffer);
        buffer.extend_from_slice(END);
        Ok(())
    }

    /// Begins a table of many rows.
    pub fn begin_list(self, metadata: &ListMetadata<'_>, buffer: &mut Vec<u8>) -> TableList<'a> {
        self.begin(metadata, ColumnDefinitions::Included, buffer);
        TableList {
            table: self,
            separator: b"",
        }
    }

    fn begin(
        &self,
        metadata: &ListMetadata<'_>,
        definitions: ColumnDefinitions,
        buffer: &mut Vec<u8>,
    ) {
        write_kind("Table", self.version, buffer);
        metadata.write(buffer);
        buffer.extend_from_slice(br#","columnDefinitions":"#);
        match definitions {
            ColumnDefinitions::Included => write_json(self.printer.columns(), buffer),
            ColumnDefinitions::Omitted => buffer.extend_from_slice(b"null"),
        }
        buffer.extend_from_slice(br#","rows":["#);
    }

    fn write_row(&self, row: &Row<'_>, buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(br#"{"cells":"#);
        write_json(&self.printer.cells(&row.value, self.now), buffer);
        if let Some(condition) = self.printer.completion(&row.value) {
            buffer.extend_from_slice(br#","conditions":["#);
            write_json(&condition, buffer);
            buffer.push(b']');
        }
        buffer.extend_from_slice(br#","object":"#);
        match self.row_object {
            RowObject::None => buffer.extend_from_slice(b"null"),
            RowObject::Metadata => write_members(self.version, &row.members, buffer),
            RowObject::Whole { api_version, kind } => row.write_whole(api_version, kind, buffer),
        }
        buffer.push(b'}');
    }
}

/// A table of many rows, written one row at a time.
#[derive(Debug)]
#[must_use]
pub struct TableList<'a> {
    table: Table<'a>,
    separator: &'static [u8],
}

impl TableList<'_> {
    /// Writes the row of one object.
    ///
    /// # Errors
    /// When `object` is not one JSON object; the buffer is then as it was.
    pub fn row(&mut self, object: &[u8], buffer: &mut Vec<u8>) -> Result<(), Error> {
        let row = Row::of(object)?;
        buffer.extend_from_slice(self.separator);
        self.separator = b",";
        self.table.write_row(&row, buffer);
        Ok(())
    }

    /// Writes all that comes after the last row.
    pub fn end(self, buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(END);
    }
}

const END: &[u8] = b"]}";

/// An object as bytes to copy and as values to print.
struct Row<'a> {
    members: Members<'a>,
    value: Value,
}

impl<'a> Row<'a> {
    fn of(object: &'a [u8]) -> Result<Self, Error> {
        let members = Members::of(object)?;
        let mut value = Map::new();
        for (name, member) in members.iter() {
            let decoded = match name {
                "metadata" => printed_metadata(member.get())?,
                _ => serde_json::from_str(member.get())?,
            };
            value.insert(name.to_owned(), decoded);
        }
        let value = Value::Object(value);
        Ok(Self { members, value })
    }

    fn resource_version(&self) -> Option<&str> {
        self.value["metadata"]["resourceVersion"].as_str()
    }

    fn write_whole(&self, api_version: &str, kind: &str, buffer: &mut Vec<u8>) {
        buffer.extend_from_slice(br#"{"kind":"#);
        write_json(kind, buffer);
        buffer.extend_from_slice(br#","apiVersion":"#);
        write_json(api_version, buffer);
        let members = self.members.iter();
        for (name, value) in members.filter(|(name, _)| !["kind", "apiVersion"].contains(name)) {
            buffer.push(b',');
            write_json(name, buffer);
            buffer.push(b':');
            buffer.extend_from_slice(value.get().as_bytes());
        }
        buffer.push(b'}');
    }
}

/// Metadata without who owns which field: the larger half of it, and never printed.
fn printed_metadata(metadata: &str) -> Result<Value, Error> {
    let mut printed = Map::new();
    let members = Members::of(metadata.as_bytes())?;
    for (name, value) in members.iter().filter(|(name, _)| *name != "managedFields") {
        printed.insert(name.to_owned(), serde_json::from_str(value.get())?);
    }
    Ok(Value::Object(printed))
}

fn write_json(value: &(impl serde::Serialize + ?Sized), buffer: &mut Vec<u8>) {
    serde_json::to_writer(buffer, value).expect("JSON values encode into memory");
}

#[cfg(test)]
mod tests;
