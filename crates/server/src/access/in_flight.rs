//! Requests being answered at one time, and those that wait to be.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{sync::oneshot, time::timeout};

use super::{
    fair_queue::{FairQueue, Ticket},
    flow::Flow,
};

/// Reads and writes have rooms of their own, so that neither starves the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// Changes nothing.
    Read,
    /// May change something.
    Write,
}

/// Room for requests. One that finds none waits, in turn with those of other clients.
#[derive(Debug)]
pub(crate) struct InFlight {
    reads: Arc<Room>,
    writes: Arc<Room>,
}

/// Why a request got no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// As many wait as may.
    QueueFull,
    /// None became free in time.
    TimeOut,
}

/// How full a room is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Occupancy {
    /// Requests being answered.
    pub(crate) in_flight: usize,
    /// Requests that wait.
    pub(crate) waiting: usize,
}

#[derive(Debug)]
struct Room {
    places: usize,
    waiting_max: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    in_flight: usize,
    /// Empty while a place is free.
    queue: FairQueue<oneshot::Sender<Place>>,
}

/// A place among the requests in flight, somebody else's when dropped.
#[derive(Debug)]
pub(crate) struct Place(Arc<Room>);

/// A request in the queue, which leaves it when dropped.
struct Waiting<'a> {
    room: &'a Room,
    ticket: Ticket,
    called: oneshot::Receiver<Place>,
}

impl InFlight {
    /// Room for so many reads and so many writes, and for so many of each to wait.
    pub(crate) fn new(reads_max: usize, writes_max: usize, waiting_max: usize) -> Self {
        Self {
            reads: Room::new(reads_max, waiting_max),
            writes: Room::new(writes_max, waiting_max),
        }
    }

    /// A place for a request, if one is free.
    pub(crate) fn take(&self, kind: RequestKind) -> Option<Place> {
        self.room(kind).take()
    }

    /// A place for a request when its turn has come.
    pub(crate) async fn wait(
        &self,
        kind: RequestKind,
        flow: Flow,
        patience: Duration,
    ) -> Result<Place, Refused> {
        self.room(kind).wait(flow, patience).await
    }

    /// How many requests of this kind there are now.
    pub(crate) fn occupancy(&self, kind: RequestKind) -> Occupancy {
        let state = self.room(kind).state.lock();
        Occupancy {
            in_flight: state.in_flight,
            waiting: state.queue.len(),
        }
    }

    fn room(&self, kind: RequestKind) -> &Arc<Room> {
        match kind {
            RequestKind::Read => &self.reads,
            RequestKind::Write => &self.writes,
        }
    }
}

impl Room {
    fn new(places: usize, waiting_max: usize) -> Arc<Self> {
        let state = State {
            in_flight: 0,
            queue: FairQueue::new(),
        };
        Arc::new(Self {
            places,
            waiting_max,
            state: Mutex::new(state),
        })
    }

    fn take(self: &Arc<Self>) -> Option<Place> {
        let mut state = self.state.lock();
        (state.in_flight < self.places).then(|| {
            state.in_flight += 1;
            Place(Arc::clone(self))
        })
    }

    async fn wait(self: &Arc<Self>, flow: Flow, patience: Duration) -> Result<Place, Refused> {
        let mut waiting = match self.enter(flow)? {
            Entered::Room(place) => return Ok(place),
            Entered::Queue(waiting) => waiting,
        };
        match timeout(patience, &mut waiting.called).await {
            Ok(called) => called.map_err(|_| Refused::QueueFull),
            Err(_) => Err(Refused::TimeOut),
        }
    }

    /// Takes a place in the room, or else in the queue.
    fn enter(self: &Arc<Self>, flow: Flow) -> Result<Entered<'_>, Refused> {
        let mut state = self.state.lock();
        if state.in_flight < self.places {
            state.in_flight += 1;
            return Ok(Entered::Room(Place(Arc::clone(self))));
        }
        // Who is displaced hears of it by losing the sender.
        if state.queue.len() >= self.waiting_max && state.queue.displace(flow).is_none() {
            return Err(Refused::QueueFull);
        }
        let (call, called) = oneshot::channel();
        let ticket = state.queue.push(flow, call);
        Ok(Entered::Queue(Waiting {
            room: self,
            ticket,
            called,
        }))
    }
}

enum Entered<'a> {
    Room(Place),
    Queue(Waiting<'a>),
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        // A place that was given in the meantime is dropped with the receiver, and given on.
        self.room.state.lock().queue.remove(self.ticket);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let next = {
            let mut state = self.0.state.lock();
            let next = state.queue.pop();
            if next.is_none() {
                state.in_flight -= 1;
            }
            next
        };
        if let Some(call) = next {
            // One that is gone by now drops the place, which gives it to the one behind.
            let _ = call.send(Self(Arc::clone(&self.0)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::{FutureExt, future::join_all};
    use tokio::time::Instant;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(15);

    fn flow(number: u8) -> Flow {
        Flow::new([127, 0, 0, number].into(), None)
    }

    fn empty() -> Occupancy {
        Occupancy {
            in_flight: 0,
            waiting: 0,
        }
    }

    #[test]
    fn a_full_house_of_reads_leaves_room_for_writes() {
        let rooms = InFlight::new(1, 1, 1);
        let place = rooms.take(RequestKind::Read);
        assert!(place.is_some() && rooms.take(RequestKind::Read).is_none());
        assert!(rooms.take(RequestKind::Write).is_some());
        drop(place);
        assert!(rooms.take(RequestKind::Read).is_some());
        assert_eq!(rooms.occupancy(RequestKind::Read), empty());
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_gets_the_place_that_becomes_free() {
        let room = Room::new(1, 2);
        let place = room.take().unwrap();
        let mut first = pin!(room.wait(flow(1), PATIENCE));
        let mut second = pin!(room.wait(flow(1), PATIENCE));
        assert!(first.as_mut().now_or_never().is_none());
        assert!(second.as_mut().now_or_never().is_none());
        drop(place);
        assert!(room.take().is_none(), "nobody passes those who wait");
        let place = first.await.unwrap();
        assert!(second.as_mut().now_or_never().is_none());
        drop(place);
        drop(second.await.unwrap());
        assert_eq!(room.state.lock().in_flight, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_ends_when_its_time_is_over() {
        let room = Room::new(1, 2);
        let place = room.take().unwrap();
        let begun = Instant::now();
        let refused = room.wait(flow(1), PATIENCE).await.unwrap_err();
        assert_eq!((refused, begun.elapsed()), (Refused::TimeOut, PATIENCE));
        assert_eq!(room.state.lock().queue.len(), 0);
        drop(place);
        assert!(room.take().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_queue_refuses_at_once_and_the_longest_line_gives_way() {
        let room = Room::new(1, 2);
        let _place = room.take().unwrap();
        let mut first = pin!(room.wait(flow(1), PATIENCE));
        let mut second = pin!(room.wait(flow(1), PATIENCE));
        assert!(first.as_mut().now_or_never().is_none());
        assert!(second.as_mut().now_or_never().is_none());
        let third = room.wait(flow(1), PATIENCE).now_or_never();
        assert_eq!(third.unwrap().unwrap_err(), Refused::QueueFull);
        let mut other = pin!(room.wait(flow(2), PATIENCE));
        assert!(other.as_mut().now_or_never().is_none());
        assert_eq!(second.await.unwrap_err(), Refused::QueueFull);
        assert!(first.as_mut().now_or_never().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_leaves_gives_up_its_turn() {
        let room = Room::new(1, 8);
        let place = room.take().unwrap();
        let mut gone = Box::pin(room.wait(flow(1), PATIENCE));
        let mut called = Box::pin(room.wait(flow(1), PATIENCE));
        let mut patient = pin!(room.wait(flow(1), PATIENCE));
        assert!(gone.as_mut().now_or_never().is_none());
        assert!(called.as_mut().now_or_never().is_none());
        assert!(patient.as_mut().now_or_never().is_none());
        drop(gone);
        assert_eq!(room.state.lock().queue.len(), 2);
        drop(place);
        drop(called);
        let place = patient.as_mut().now_or_never().expect("the place went on");
        drop(place.unwrap());
        assert_eq!(room.state.lock().in_flight, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_thousand_requests_of_one_client_delay_another_by_one() {
        let room = Room::new(1, 2_000);
        let place = room.take().unwrap();
        let served = Mutex::new(Vec::new());
        let one = async |number: u8| {
            let place = room.wait(flow(number), PATIENCE).await;
            served.lock().push(number);
            drop(place.unwrap());
        };
        let mut crowd = pin!(join_all((0..1_000).map(|_| one(1))));
        assert!(crowd.as_mut().now_or_never().is_none());
        let mut other = pin!(one(2));
        assert!(other.as_mut().now_or_never().is_none());
        drop(place);
        tokio::join!(crowd, other);
        let served = served.lock().clone();
        assert_eq!((served.len(), &served[..3]), (1_001, &[1, 2, 1][..]));
    }
}
