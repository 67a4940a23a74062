//! Turns that tasks take on the runtime.

use std::{future::poll_fn, task::Poll};

/// Goes behind the tasks that can run now. Unlike tokio's `yield_now` it does not look for events
/// of the system before.
pub(crate) async fn give() {
    let mut poll = Poll::Pending;
    poll_fn(|context| {
        if poll.is_pending() {
            context.waker().wake_by_ref();
        }
        std::mem::replace(&mut poll, Poll::Ready(()))
    })
    .await;
}
