//! Watches open at one time, in all and per client.

use std::{collections::HashMap, net::IpAddr, sync::Arc};

use parking_lot::Mutex;

/// Counts open watches and refuses those beyond its bounds.
#[derive(Debug)]
pub(crate) struct OpenWatches {
    in_all_max: usize,
    per_client_max: usize,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    in_all: usize,
    by_client: HashMap<IpAddr, usize>,
}

/// A place among the open watches, free again when dropped.
#[derive(Debug)]
pub(crate) struct WatchSlot {
    watches: Arc<OpenWatches>,
    client: IpAddr,
}

impl OpenWatches {
    /// Room for so many in all, and for so many of one client.
    pub(crate) fn new(in_all_max: usize, per_client_max: usize) -> Arc<Self> {
        Arc::new(Self {
            in_all_max,
            per_client_max,
            counts: Mutex::default(),
        })
    }

    /// A place for a watch of this client, or `None` when it or the server has all it may have.
    pub(crate) fn open(self: &Arc<Self>, client: IpAddr) -> Option<WatchSlot> {
        let mut counts = self.counts.lock();
        let of_client = counts.by_client.get(&client).copied().unwrap_or_default();
        if counts.in_all >= self.in_all_max || of_client >= self.per_client_max {
            return None;
        }
        counts.in_all += 1;
        counts.by_client.insert(client, of_client + 1);
        Some(WatchSlot {
            watches: Arc::clone(self),
            client,
        })
    }
}

impl Drop for WatchSlot {
    fn drop(&mut self) {
        let mut counts = self.watches.counts.lock();
        counts.in_all -= 1;
        if let Some(of_client) = counts.by_client.get_mut(&self.client) {
            *of_client -= 1;
            if *of_client == 0 {
                counts.by_client.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_cannot_take_every_place() {
        let watches = OpenWatches::new(3, 2);
        let [one, other]: [IpAddr; 2] = [[127, 0, 0, 1].into(), [127, 0, 0, 2].into()];
        let held = [watches.open(one), watches.open(one)];
        assert!(held.iter().all(Option::is_some));
        assert!(watches.open(one).is_none(), "the client's own bound");
        let last = watches.open(other);
        assert!(last.is_some());
        assert!(watches.open(other).is_none(), "the bound of all");
        drop(held);
        drop(last);
        assert_eq!(watches.counts.lock().in_all, 0);
        assert!(
            watches.counts.lock().by_client.is_empty(),
            "no client is remembered for ever"
        );
    }
}
