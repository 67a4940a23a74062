//! What a member says of itself.

use crate::{Client, Error, Header, ServerVersion, client::Repeat, wire};

pub(crate) const STATUS: &str = "/etcdserverpb.Maintenance/Status";

/// A member's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Who answered, and how far it has come.
    pub header: Header,
    /// The version of its program.
    pub version: ServerVersion,
    /// The member that leads; `None` if it knows of none.
    pub leader: Option<u64>,
    /// The bytes of its database file.
    pub database_bytes: u64,
    /// The bytes of it that are in use.
    pub database_bytes_in_use: u64,
    /// What it complains of.
    pub complaints: Vec<String>,
}

/// What a member's answers to progress requests are worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressRequests {
    /// They are true.
    Reliable,
    /// They may tell a revision whose events are still to come: not to be asked for.
    Unreliable,
}

impl Status {
    /// What this member's answers to progress requests are worth.
    pub fn progress_requests(&self) -> ProgressRequests {
        match self.version.answers_progress_requests_truly() {
            true => ProgressRequests::Reliable,
            false => ProgressRequests::Unreliable,
        }
    }
}

impl TryFrom<wire::StatusResponse> for Status {
    type Error = Error;

    fn try_from(answer: wire::StatusResponse) -> Result<Self, Error> {
        let version = answer.version.parse();
        Ok(Self {
            header: answer.header.try_into()?,
            version: version.map_err(|_| Error::missing("a readable version"))?,
            leader: (answer.leader != 0).then_some(answer.leader),
            database_bytes: answer.db_size,
            database_bytes_in_use: answer.db_size_in_use,
            complaints: answer.errors,
        })
    }
}

impl Client {
    /// Asks the first member that answers.
    pub async fn status(&self) -> Result<Status, Error> {
        let question = wire::StatusRequest {};
        let answer: wire::StatusResponse = self.call(STATUS, question, Repeat::Harmless).await?;
        answer.try_into()
    }

    /// Asks every member, in the order of the settings.
    pub async fn statuses(&self) -> Vec<Result<Status, Error>> {
        let answers = self
            .call_all(STATUS, wire::StatusRequest {})
            .await
            .into_iter();
        answers
            .map(|answer: Result<wire::StatusResponse, Error>| answer?.try_into())
            .collect()
    }
}
