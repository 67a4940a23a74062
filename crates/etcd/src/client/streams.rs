//! The requests whose answers are streams.

use std::future;

use futures_util::stream;
use prost::Message;

use super::{Client, call::Repeat, members::Member};
use crate::{
    Error, ProgressRequests, Status, Watch, error::Failure, status::STATUS, watch::WATCH, wire,
};

impl Client {
    /// Sends one question on a stream and takes its one answer. Twice must be as good as once.
    pub(crate) async fn exchange<Q, A>(&self, path: &'static str, question: Q) -> Result<A, Error>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        self.with_each_member(Repeat::Harmless, |member| {
            let question = question.clone();
            self.with_token(move || {
                let questions = stream::once(future::ready(question.clone()));
                let opened = self.stream(member.shared_connection(), path, questions);
                async { opened.await.map(|(answer, _)| answer) }
            })
        })
        .await
    }

    /// Opens a watch on the first member that takes it.
    pub(crate) async fn open_watch(&self, create: &wire::WatchRequest) -> Result<Watch, Error> {
        self.with_each_member(Repeat::Harmless, |member| {
            self.with_token(move || self.open_watch_on(member, create.clone()))
        })
        .await
    }

    async fn open_watch_on(
        &self,
        member: &Member,
        create: wire::WatchRequest,
    ) -> Result<Watch, Failure> {
        let progress_requests = self.progress_requests_of(member).await?;
        let (requests, questions) = Watch::questions(create);
        let connection = member.own_connection();
        let (first, answers) = self.stream(connection, WATCH, questions).await?;
        Watch::opened(first, answers, requests, progress_requests)
    }

    async fn progress_requests_of(&self, member: &Member) -> Result<ProgressRequests, Failure> {
        let connection = member.shared_connection();
        let question = wire::StatusRequest {};
        let status: wire::StatusResponse = self.unary(connection, STATUS, question).await?;
        Ok(Status::try_from(status)?.progress_requests())
    }
}
