//! A queue in which each client waits behind its own, and clients take turns.

use std::collections::{HashMap, VecDeque};

use super::flow::Flow;

/// Where something stands in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ticket {
    flow: Flow,
    number: u64,
}

/// What waits, in a line of its own for each flow.
///
/// ```text
/// a: 1 2 5      pop, pop, pop …
/// b: 3          gives 1 3 4 2 5
/// c: 4
/// ```
#[derive(Debug)]
pub(super) struct FairQueue<T> {
    lines: HashMap<Flow, VecDeque<(u64, T)>>,
    /// The flows that have a line; the first is next.
    turns: VecDeque<Flow>,
    len: usize,
    next_number: u64,
}

impl<T> FairQueue<T> {
    pub(super) fn new() -> Self {
        Self {
            lines: HashMap::new(),
            turns: VecDeque::new(),
            len: 0,
            next_number: 0,
        }
    }

    /// How much waits, of all flows together.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Appends to the line of a flow.
    pub(super) fn push(&mut self, flow: Flow, item: T) -> Ticket {
        let number = self.next_number;
        self.next_number += 1;
        self.len += 1;
        let line = self.lines.entry(flow).or_insert_with(|| {
            self.turns.push_back(flow);
            VecDeque::new()
        });
        line.push_back((number, item));
        Ticket { flow, number }
    }

    /// Takes the first of the flow whose turn it is.
    pub(super) fn pop(&mut self) -> Option<T> {
        let flow = self.turns.pop_front()?;
        let line = self.lines.get_mut(&flow)?;
        let (_, item) = line.pop_front()?;
        self.len -= 1;
        if line.is_empty() {
            self.lines.remove(&flow);
        } else {
            self.turns.push_back(flow);
        }
        Some(item)
    }

    /// Takes what a ticket stands for, if it still waits.
    pub(super) fn remove(&mut self, ticket: Ticket) -> Option<T> {
        let line = self.lines.get_mut(&ticket.flow)?;
        let place = line
            .binary_search_by_key(&ticket.number, |(number, _)| *number)
            .ok()?;
        let (_, item) = line.remove(place)?;
        self.shortened(ticket.flow);
        Some(item)
    }

    /// Takes the newest of the longest line, if that is longer than the line of this flow would
    /// become: whoever has most waiting gives way.
    pub(super) fn displace(&mut self, newcomer: Flow) -> Option<T> {
        let own = self.lines.get(&newcomer).map_or(0, VecDeque::len);
        let (&longest, line) = self.lines.iter_mut().max_by_key(|(_, line)| line.len())?;
        if line.len() <= own + 1 {
            return None;
        }
        let (_, item) = line.pop_back()?;
        self.shortened(longest);
        Some(item)
    }

    /// One has left the line of a flow; an empty line is forgotten.
    fn shortened(&mut self, flow: Flow) {
        self.len -= 1;
        if self.lines.get(&flow).is_some_and(VecDeque::is_empty) {
            self.lines.remove(&flow);
            self.turns.retain(|turn| *turn != flow);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(number: u8) -> Flow {
        Flow::new([127, 0, 0, number].into(), None)
    }

    fn filled(waiting: &[(u8, u32)]) -> (FairQueue<u32>, Vec<Ticket>) {
        let mut queue = FairQueue::new();
        let tickets = waiting
            .iter()
            .map(|(number, item)| queue.push(flow(*number), *item))
            .collect();
        (queue, tickets)
    }

    fn drained(mut queue: FairQueue<u32>) -> Vec<u32> {
        let popped = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(queue.len(), 0);
        assert!(queue.lines.is_empty() && queue.turns.is_empty());
        popped
    }

    #[test]
    fn one_flow_is_served_in_order_and_several_take_turns() {
        let (queue, _) = filled(&[(1, 1), (1, 2), (2, 3), (3, 4), (1, 5)]);
        assert_eq!(queue.len(), 5);
        assert_eq!(drained(queue), [1, 3, 4, 2, 5]);
    }

    #[test]
    fn what_leaves_is_taken_once_and_the_others_keep_their_order() {
        let (mut queue, tickets) = filled(&[(1, 1), (1, 2), (1, 3), (2, 4)]);
        assert_eq!(queue.remove(tickets[1]), Some(2));
        assert_eq!(queue.remove(tickets[1]), None);
        assert_eq!(queue.remove(tickets[3]), Some(4));
        assert_eq!(queue.pop(), Some(1));
        assert_eq!(queue.remove(tickets[0]), None, "it has had its turn");
        assert_eq!(drained(queue), [3]);
    }

    #[test]
    fn the_longest_line_gives_way_to_a_shorter_one() {
        let (mut queue, _) = filled(&[(1, 1), (1, 2), (1, 3), (2, 4)]);
        assert_eq!(queue.displace(flow(1)), None, "not to itself");
        assert_eq!(queue.displace(flow(3)), Some(3));
        assert_eq!(
            queue.displace(flow(2)),
            None,
            "they are as long as each other"
        );
        assert_eq!(drained(queue), [1, 4, 2]);
    }
}
