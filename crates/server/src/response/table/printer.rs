//! Which printer belongs to which resource.

use std::{
    iter,
    sync::{Arc, LazyLock},
};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    access, admission, basics, cluster,
    columns::{Column, ResourceColumns, built_in},
    custom::CustomColumn,
    devices, endpoints, events,
    field::Field,
    flow_control, jobs, kinds, network, pods, scaling, storage, workloads,
};

/// Makes the cells of one built-in resource.
pub(super) type Cells = fn(Field<'_>, Timestamp) -> Vec<Value>;

/// The printers of one group of kinds, by `resource.group`.
pub(super) type Printers = &'static [(&'static str, Cells)];

/// Every group of kinds.
const GROUPS: &[Printers] = &[
    basics::PRINTERS,
    pods::PRINTERS,
    workloads::PRINTERS,
    jobs::PRINTERS,
    scaling::PRINTERS,
    network::PRINTERS,
    endpoints::PRINTERS,
    storage::PRINTERS,
    cluster::PRINTERS,
    events::PRINTERS,
    access::PRINTERS,
    admission::PRINTERS,
    flow_control::PRINTERS,
    kinds::PRINTERS,
    devices::PRINTERS,
];

/// A row of cells, from values of any type that JSON has.
macro_rules! cells {
    ($($cell:expr),* $(,)?) => { vec![$(serde_json::Value::from($cell)),*] };
}
pub(super) use cells;

/// How objects of one resource become rows.
#[derive(Debug)]
pub struct Printer {
    columns: Vec<Column>,
    source: Source,
    completion: Completion,
}

#[derive(Debug)]
enum Source {
    BuiltIn(Cells),
    /// The name, then one cell for each of these.
    Custom(Vec<CustomColumn>),
}

/// Why nothing more is to be expected of an object, if so.
type Completion = fn(Field<'_>) -> Option<&'static str>;

static BUILT_IN: LazyLock<Vec<(&'static str, Arc<Printer>)>> = LazyLock::new(|| {
    let printer = |resource: ResourceColumns| Printer {
        columns: resource.columns,
        source: Source::BuiltIn(cells_of(resource.key)),
        completion: completion_of(resource.key),
    };
    built_in()
        .map(|resource| (resource.key, Arc::new(printer(resource))))
        .collect()
});

static NAME_AND_AGE: LazyLock<Arc<Printer>> = LazyLock::new(|| {
    Arc::new(Printer {
        columns: vec![Column::name(), Column::age()],
        source: Source::BuiltIn(basics::name_and_age),
        completion: |_| None,
    })
});

fn cells_of(key: &str) -> Cells {
    let mut printers = GROUPS.iter().flat_map(|group| group.iter());
    let printer = printers.find(|(candidate, _)| *candidate == key);
    printer
        .expect("a test holds columns and printers together")
        .1
}

fn completion_of(key: &str) -> Completion {
    match key {
        "pods" => pods::completion,
        _ => |_| None,
    }
}

impl Printer {
    /// The printer of a built-in resource; name and age for any other.
    pub fn for_resource(group: &str, resource: &str) -> Arc<Self> {
        let names_resource = |key: &str| match key.split_once('.') {
            Some((name, rest)) => name == resource && rest == group,
            None => key == resource && group.is_empty(),
        };
        let mut printers = BUILT_IN.iter();
        match printers.find(|(key, _)| names_resource(key)) {
            Some((_, printer)) => Arc::clone(printer),
            None => Arc::clone(&NAME_AND_AGE),
        }
    }

    /// The printer of the `scale` subresource of any resource.
    pub fn for_scale() -> Arc<Self> {
        Self::for_resource("autoscaling", "scales")
    }

    /// The printer of a custom kind, from the `additionalPrinterColumns` of its version; name and
    /// age without any.
    pub fn for_custom_resource(additional_columns: &Value) -> Self {
        let entries = additional_columns.as_array().into_iter().flatten();
        let (mut columns, custom): (Vec<_>, Vec<_>) = entries.map(CustomColumn::read).unzip();
        let source = if columns.is_empty() {
            columns.push(Column::age());
            Source::BuiltIn(basics::name_and_age)
        } else {
            Source::Custom(custom)
        };
        columns.insert(0, Column::name());
        Self {
            columns,
            source,
            completion: |_| None,
        }
    }

    /// The heads of the columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The cells of one object, as many as there are columns.
    pub fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let object_field = Field::of(object);
        match &self.source {
            Source::BuiltIn(cells) => cells(object_field, now),
            Source::Custom(columns) => {
                let name = Value::from(object_field.name());
                let others = columns.iter().map(|column| column.cell(object, now));
                iter::once(name).chain(others).collect()
            }
        }
    }

    /// The condition of the row of an object that will not change any more.
    pub fn completion(&self, object: &Value) -> Option<Value> {
        let reason = (self.completion)(Field::of(object))?;
        Some(json!({
            "type": "Completed",
            "status": "True",
            "reason": reason,
            "message": "Nothing of it runs any more.",
        }))
    }
}

#[cfg(test)]
mod tests;
