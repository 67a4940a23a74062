//! Is there room for one more?
//!
//! Who asks and whether they may comes with TLS and authentication; until then the server listens
//! on loopback only, and this module bounds what all clients together can make it hold.

mod fair_queue;
mod flow;
mod in_flight;
mod list_ages;
mod open_watches;

pub(crate) use flow::Flow;
pub(crate) use in_flight::{InFlight, Occupancy, Place, Refused, RequestKind};
pub(crate) use list_ages::ListAges;
pub(crate) use open_watches::{OpenWatches, WatchSlot};
