//! A connection of HTTP/1: hyper's, except while a body or a client has nothing to say.

use std::{
    convert::Infallible,
    error::Error,
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use http::Request;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use tokio::{
    io::AsyncWriteExt,
    time::{Instant, sleep_until},
};

use super::{
    Connection, HEAD_TIMEOUT, Socket, chunked,
    handover::{self, Activity, Afterwards, Answer, Handover, Lent, Rest},
};
use crate::{lifecycle::DrainSignal, request::RequestBody, respond::respond};

/// Bytes of a request's head, and of an answer that wait to be sent. A longer head is refused with
/// 431; an answer is not made faster than its client reads.
const BUFFER_BYTES_MAX: usize = 64 * 1024;

/// How often a connection is looked at. One that nothing has happened on in between gives its
/// buffers back. One timer for all requests is cheaper than one for each.
const LOOK_INTERVAL: Duration = Duration::from_secs(2);

type Failure = Box<dyn Error + Send + Sync>;

/// What becomes of a connection that hyper has given up.
enum Next {
    /// Its client has until then to send a request.
    Listen(Instant),
    /// An answer goes on, or another protocol begins.
    Go(Rest),
    /// It is over.
    Close,
}

/// Answers the requests of a connection, one after the other, until it ends.
pub(super) async fn serve(
    connection: Connection,
    mut socket: Socket,
    mut signal: DrainSignal,
) -> Result<(), Failure> {
    let mut head_due = Instant::now() + HEAD_TIMEOUT;
    loop {
        // Boxed, so that nothing of hyper is left while the connection is without it.
        let signals = (signal.clone(), head_due);
        let conversation = Box::pin(converse(connection.clone(), socket, signals));
        let next;
        (socket, next) = conversation.await?;
        match next {
            Next::Listen(due) => {
                head_due = due;
                if !speaks(&socket, &mut signal, due).await {
                    break;
                }
            }
            Next::Go(Rest::Chunks(body, afterwards)) => {
                chunked::send(&mut socket, body).await?;
                if afterwards == Afterwards::Close {
                    break;
                }
                head_due = Instant::now() + HEAD_TIMEOUT;
            }
            Next::Go(Rest::Upgraded(upgrade)) => {
                upgrade.run(socket).await;
                return Ok(());
            }
            Next::Close => break,
        }
    }
    Ok(socket.shutdown().await?)
}

/// Whether a silent client has something to say in time.
async fn speaks(socket: &Socket, signal: &mut DrainSignal, due: Instant) -> bool {
    tokio::select! {
        biased;
        () = sleep_until(due) => false,
        () = signal.draining() => false,
        readable = socket.readable() => readable.is_ok(),
    }
}

/// Lets hyper answer until it is done, or until there is nothing for it to do.
async fn converse(
    Connection { server, client }: Connection,
    socket: Socket,
    (mut signal, head_due): (DrainSignal, Instant),
) -> Result<(Socket, Next), Failure> {
    let handover = Arc::new(Handover::default());
    let lent = Lent::new(socket, Arc::clone(&handover));
    // Boxed, so that a connection whose request is answered holds no memory for answering.
    let service = service_fn(|request: Request<Incoming>| {
        let (server, turn) = (Arc::clone(&server), handover.begin());
        Box::pin(async move {
            let afterwards = handover::afterwards(&request);
            let response = respond(server, client, request.map(RequestBody::from)).await;
            Ok::<_, Infallible>(Answer::to(afterwards, response, turn))
        })
    });
    let mut connection = builder().serve_connection(lent, service);
    let mut draining = pin!(signal.draining());
    let mut is_draining = false;
    let mut listening = Listening::until(head_due);
    let mut look = pin!(sleep_until(listening.next_look()));
    let next = poll_fn(|context| {
        if !is_draining && draining.as_mut().poll(context).is_ready() {
            is_draining = true;
            Pin::new(&mut connection).graceful_shutdown();
        }
        let ended = connection.poll_without_shutdown(context)?;
        if let Some(rest) = handover.take() {
            return Poll::Ready(Ok(Next::Go(rest)));
        }
        if ended.is_ready() {
            return Poll::Ready(Ok::<_, hyper::Error>(Next::Close));
        }
        while look.as_mut().poll(context).is_ready() {
            if let Some(next) = listening.look(handover.activity()) {
                return Poll::Ready(Ok(next));
            }
            look.as_mut().reset(listening.next_look());
        }
        Poll::Pending
    });
    let next = next.await?;
    let parts = connection.into_parts();
    Ok((parts.io.into_inner().with_unread(&parts.read_buf), next))
}

/// How long a client has been silent.
struct Listening {
    head_due: Instant,
    /// How many requests had been answered when it was looked at last.
    answered: u64,
}

impl Listening {
    fn until(head_due: Instant) -> Self {
        Self {
            head_due,
            answered: 0,
        }
    }

    fn next_look(&self) -> Instant {
        self.head_due.min(Instant::now() + LOOK_INTERVAL)
    }

    /// What to do about a connection on which hyper does this; `None` leaves it as it is.
    fn look(&mut self, activity: Activity) -> Option<Next> {
        let now = Instant::now();
        match activity {
            Activity::Listening { answered } if answered == self.answered => {
                Some(Next::Listen(self.head_due))
            }
            Activity::Writing { answered } if answered == self.answered => {
                (now >= self.head_due).then_some(Next::Close)
            }
            Activity::Listening { answered } | Activity::Writing { answered } => {
                self.answered = answered;
                self.head_due = now + HEAD_TIMEOUT;
                None
            }
            Activity::Answering => {
                self.head_due = now + HEAD_TIMEOUT;
                None
            }
        }
    }
}

fn builder() -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .header_read_timeout(None)
        .max_buf_size(BUFFER_BYTES_MAX)
        .half_close(false);
    builder
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(next: Option<Next>) -> Option<Instant> {
        match next {
            Some(Next::Listen(due)) => Some(due),
            _ => None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_leaves_when_nothing_has_happened_between_two_looks() {
        let due = Instant::now() + HEAD_TIMEOUT;
        let mut listening = Listening::until(due);
        let silent = listening.look(Activity::Listening { answered: 0 });
        assert_eq!(
            leaves(silent),
            Some(due),
            "a head that has not come is late"
        );

        tokio::time::advance(LOOK_INTERVAL).await;
        let busy = Activity::Listening { answered: 3 };
        assert!(listening.look(busy).is_none());
        let due = due + LOOK_INTERVAL;
        assert_eq!(leaves(listening.look(busy)), Some(due));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_take_the_end_of_its_answer_is_not_waited_for_for_ever() {
        let mut listening = Listening::until(Instant::now() + HEAD_TIMEOUT);
        let writing = Activity::Writing { answered: 1 };
        assert!(listening.look(writing).is_none());
        assert!(listening.look(writing).is_none(), "it has its time");
        tokio::time::advance(HEAD_TIMEOUT).await;
        assert!(matches!(listening.look(writing), Some(Next::Close)));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_may_take_its_time() {
        let mut listening = Listening::until(Instant::now() + HEAD_TIMEOUT);
        for _ in 0..100 {
            assert!(listening.look(Activity::Answering).is_none());
            tokio::time::advance(LOOK_INTERVAL).await;
        }
        assert!(
            listening
                .look(Activity::Listening { answered: 1 })
                .is_none()
        );
    }
}
