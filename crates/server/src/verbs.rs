//! One file tells one verb's story.

mod apply;
mod create;
mod delete;
mod delete_collection;
mod get;
mod kubelet;
mod list;
mod own_status;
mod part;
mod patch;
mod pod_actions;
mod review;
mod scale;
mod submitted;
mod update;
mod watch;
mod writer;

pub(crate) use create::create;
pub(crate) use delete::{delete, remove};
pub(crate) use delete_collection::delete_collection;
pub(crate) use get::get;
pub(crate) use kubelet::{needs_kubelet, without_kubelet};
pub(crate) use list::list;
pub(crate) use own_status::change_status;
pub(crate) use part::Part;
pub(crate) use patch::patch;
pub(crate) use scale::{scale_of, scaled};
pub(crate) use update::update;
pub(crate) use watch::watch;
