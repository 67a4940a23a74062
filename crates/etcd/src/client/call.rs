//! One request: to the preferred member, then to the others as far as that is harmless.

use futures_util::{Stream, StreamExt, future::join_all};
use http::uri::PathAndQuery;
use prost::Message;
use tonic::{Request, Streaming, client::Grpc, metadata::AsciiMetadataValue, transport::Channel};
use tonic_prost::ProstCodec;

use super::{Client, members::Member};
use crate::{Error, error::Failure, wire};

/// The largest answer that is read. At the bound the request is refused; a smaller page helps.
const ANSWER_BYTES_MAX: usize = 1 << 30;

const AUTHENTICATE: &str = "/etcdserverpb.Auth/Authenticate";

/// Whether a request may be sent to another member after one that may have carried it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// Twice is as good as once.
    Harmless,
    /// Twice may be once too often.
    OnlyIfUnsent,
}

impl Client {
    /// Asks one member after the other until one answers.
    pub(crate) async fn call<Q, A>(
        &self,
        path: &'static str,
        question: Q,
        repeat: Repeat,
    ) -> Result<A, Error>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let ask = |member| self.call_one(member, path, question.clone());
        self.with_each_member(repeat, ask).await
    }

    /// Asks every member, in the order of the settings.
    pub(crate) async fn call_all<Q, A>(
        &self,
        path: &'static str,
        question: Q,
    ) -> Vec<Result<A, Error>>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let ask = |member| self.call_one(member, path, question.clone());
        join_all(self.inner.members.as_listed().map(ask)).await
    }

    async fn call_one<Q, A>(
        &self,
        member: &Member,
        path: &'static str,
        question: Q,
    ) -> Result<A, Error>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        self.with_token(|| self.unary(member.shared_connection(), path, question.clone()))
            .await
    }

    /// Does something with one member after the other until it succeeds.
    pub(super) async fn with_each_member<'a, A, F>(
        &'a self,
        repeat: Repeat,
        mut attempt: impl FnMut(&'a Member) -> F,
    ) -> Result<A, Error>
    where
        F: Future<Output = Result<A, Error>>,
    {
        let mut last = None;
        for member in self.inner.members.in_order() {
            let error = match attempt(member).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let go_on = match &error {
                Error::Unreachable { .. } => true,
                Error::Interrupted { .. } => repeat == Repeat::Harmless,
                _ => return Err(error),
            };
            tracing::debug!(member = member.address(), %error, "an etcd member did not answer");
            self.inner.members.avoid(member);
            if !go_on {
                return Err(error);
            }
            last = Some(error);
        }
        Err(last.expect("there is at least one member"))
    }

    /// Does something, and once more with a new token if that was the trouble.
    pub(super) async fn with_token<A, F>(&self, mut attempt: impl FnMut() -> F) -> Result<A, Error>
    where
        F: Future<Output = Result<A, Failure>>,
    {
        let has_token = self.inner.token.read().is_some();
        if !has_token {
            self.authenticate().await?;
        }
        match attempt().await {
            Err(Failure::StaleToken(_)) if self.inner.settings.credentials.is_some() => {
                self.authenticate().await?;
                attempt().await.map_err(Error::from)
            }
            answer => answer.map_err(Error::from),
        }
    }

    async fn authenticate(&self) -> Result<(), Error> {
        let Some(credentials) = &self.inner.settings.credentials else {
            return Ok(());
        };
        let question = wire::AuthenticateRequest {
            name: credentials.user.clone(),
            password: credentials.password.clone(),
        };
        let answer: wire::AuthenticateResponse = self
            .with_each_member(Repeat::Harmless, |member| {
                let connection = member.shared_connection();
                let answer = self.unary(connection, AUTHENTICATE, question.clone());
                async { answer.await.map_err(Error::from) }
            })
            .await?;
        let token = answer.token.parse::<AsciiMetadataValue>();
        let token = token.map_err(|_| Error::missing("a readable token"))?;
        *self.inner.token.write() = Some(token);
        Ok(())
    }

    /// Asks one member once, and waits no longer than the settings say.
    pub(super) async fn unary<Q, A>(
        &self,
        connection: Channel,
        path: &'static str,
        question: Q,
    ) -> Result<A, Failure>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        self.in_time(async {
            let mut grpc = ready(connection).await?;
            let path = PathAndQuery::from_static(path);
            let codec = ProstCodec::<Q, A>::default();
            let answer = grpc.unary(self.signed(question), path, codec).await?;
            Ok(answer.into_inner())
        })
        .await
    }

    /// Opens a stream both ways, which ends when its member has lost its leader, and waits for the
    /// first answer.
    pub(super) async fn stream<Q, A>(
        &self,
        connection: Channel,
        path: &'static str,
        questions: impl Stream<Item = Q> + Send + 'static,
    ) -> Result<(A, Streaming<A>), Failure>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        self.in_time(async {
            let mut grpc = ready(connection).await?;
            let path = PathAndQuery::from_static(path);
            let codec = ProstCodec::<Q, A>::default();
            let mut request = self.signed(questions);
            let needed = AsciiMetadataValue::from_static("true");
            request.metadata_mut().insert("hasleader", needed);
            let mut answers = grpc.streaming(request, path, codec).await?.into_inner();
            let ended = || Error::Interrupted {
                reason: "the stream ended before its first answer".to_owned(),
            };
            let first = answers.next().await.ok_or_else(ended)??;
            Ok((first, answers))
        })
        .await
    }

    async fn in_time<A>(
        &self,
        work: impl Future<Output = Result<A, Failure>>,
    ) -> Result<A, Failure> {
        let timeout = self.inner.settings.request_timeout;
        match tokio::time::timeout(timeout, work).await {
            Ok(answer) => answer,
            Err(_elapsed) => Err(Failure::Error(Error::Interrupted {
                reason: format!("nothing came within {timeout:?}"),
            })),
        }
    }

    fn signed<Q>(&self, question: Q) -> Request<Q> {
        let mut request = Request::new(question);
        if let Some(token) = &*self.inner.token.read() {
            request.metadata_mut().insert("token", token.clone());
        }
        request
    }
}

async fn ready(connection: Channel) -> Result<Grpc<Channel>, Failure> {
    let mut grpc = Grpc::new(connection).max_decoding_message_size(ANSWER_BYTES_MAX);
    let not_sent = |error| Failure::Error(Error::unreachable(&error));
    grpc.ready().await.map_err(not_sent)?;
    Ok(grpc)
}
