//! Which printer belongs to which resource.

use std::sync::LazyLock;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    access, admission, basics, cluster,
    columns::{Column, built_in},
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
    cells: Cells,
    completion: Completion,
}

/// Why nothing more is to be expected of an object, if so.
type Completion = fn(Field<'_>) -> Option<&'static str>;

static BUILT_IN: LazyLock<Vec<(&'static str, Printer)>> = LazyLock::new(|| {
    let printers = built_in().filter_map(|resource| {
        let printer = Printer {
            columns: resource.columns,
            cells: cells_of(resource.key)?,
            completion: completion_of(resource.key),
        };
        Some((resource.key, printer))
    });
    printers.collect()
});

static NAME_AND_AGE: LazyLock<Printer> = LazyLock::new(|| Printer {
    columns: vec![Column::name(), Column::age()],
    cells: basics::name_and_age,
    completion: |_| None,
});

fn cells_of(key: &str) -> Option<Cells> {
    let mut printers = GROUPS.iter().flat_map(|group| group.iter());
    printers
        .find(|(candidate, _)| *candidate == key)
        .map(|(_, cells)| *cells)
}

fn completion_of(key: &str) -> Completion {
    match key {
        "pods" => pods::completion,
        _ => |_| None,
    }
}

impl Printer {
    /// The printer of a built-in resource; name and age for any other.
    pub fn for_resource(group: &str, resource: &str) -> &'static Self {
        let names_resource = |key: &str| match key.split_once('.') {
            Some((name, rest)) => name == resource && rest == group,
            None => key == resource && group.is_empty(),
        };
        let mut printers = BUILT_IN.iter();
        match printers.find(|(key, _)| names_resource(key)) {
            Some((_, printer)) => printer,
            None => &NAME_AND_AGE,
        }
    }

    /// The printer of the `scale` subresource of any resource.
    pub fn for_scale() -> &'static Self {
        Self::for_resource("autoscaling", "scales")
    }

    /// The heads of the columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The cells of one object, as many as there are columns.
    pub fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        (self.cells)(Field::of(object), now)
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
