//! The answer that is not an object: why a request failed, or that it succeeded.
//!
//! Owns the wire form and, in `failures`, the wording of every refusal. Which of them applies is
//! the caller's choice.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

mod failures;
#[cfg(test)]
mod tests;

pub use failures::{
    CAUSE_FIELD_MANAGER_CONFLICT, CAUSE_NAMESPACE_TERMINATING, CAUSE_RESOURCE_VERSION_TOO_LARGE,
};

/// A `Status` object, in the field order of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub struct Status {
    #[serde(default = "version_one")]
    api_version: Cow<'static, str>,
    /// What a list would carry: the token to go on with after [`Status::expired_continue`].
    #[serde(default)]
    pub metadata: StatusMetadata,
    /// Whether the request succeeded.
    #[serde(default, rename = "status")]
    pub outcome: Outcome,
    /// The explanation for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The explanation for machines; some refusals have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// What the answer is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<StatusDetails>>,
    /// The HTTP code; absent when the request succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
}

/// The list metadata inside a [`Status`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusMetadata {
    /// A token with which a list can be continued.
    #[serde(default, rename = "continue", skip_serializing_if = "Option::is_none")]
    pub continue_token: Option<Box<str>>,
}

/// Whether a request succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It was done.
    Success,
    /// It was refused or went wrong.
    #[default]
    Failure,
}

/// Why a request failed, for machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reason {
    /// Credentials are missing or wrong.
    Unauthorized,
    /// The user may not, or nobody may under these circumstances.
    Forbidden,
    /// There is no such object or resource.
    NotFound,
    /// An object of this name is there already.
    AlreadyExists,
    /// The object has changed, or fields belong to somebody else.
    Conflict,
    /// The thing is gone for good.
    Gone,
    /// The object or the options break a rule.
    Invalid,
    /// The server could not complete the request now.
    ServerTimeout,
    /// An object in the store cannot be read.
    StorageReadError,
    /// The request was not completed in time.
    Timeout,
    /// The client should come back later.
    TooManyRequests,
    /// The request makes no sense.
    BadRequest,
    /// The resource does not know this method.
    MethodNotAllowed,
    /// No representation that the client accepts is there.
    NotAcceptable,
    /// The body is too long.
    RequestEntityTooLarge,
    /// The body is in a format that nobody here reads.
    UnsupportedMediaType,
    /// The server has a fault.
    InternalError,
    /// The resource version or continue token is too old.
    Expired,
    /// The server cannot answer at the moment.
    ServiceUnavailable,
    /// A word of another server, kept as it came.
    #[serde(untagged)]
    Other(Box<str>),
}

/// What a [`Status`] is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusDetails {
    /// The name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The group of the kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The resource or the kind, depending on the refusal.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The uid of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// What in particular is wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<StatusCause>,
    /// After how many seconds to try again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u32>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusCause {
    /// The word for machines.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reason: Cow<'static, str>,
    /// The explanation for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The field, when there is one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

impl Status {
    /// The request was done; `details` name the object.
    pub fn success(details: StatusDetails) -> Self {
        Self {
            api_version: version_one(),
            metadata: StatusMetadata::default(),
            outcome: Outcome::Success,
            message: String::new(),
            reason: None,
            details: Some(Box::new(details)),
            code: None,
        }
    }

    /// A refusal with this code, reason and text.
    pub fn failure(code: u16, reason: Option<Reason>, message: impl Into<String>) -> Self {
        Self {
            api_version: version_one(),
            metadata: StatusMetadata::default(),
            outcome: Outcome::Failure,
            message: message.into(),
            reason,
            details: None,
            code: Some(code),
        }
    }

    /// The same with these details.
    pub fn with_details(mut self, details: StatusDetails) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// The same with one more cause.
    pub fn with_cause(mut self, cause: StatusCause) -> Self {
        self.details.get_or_insert_default().causes.push(cause);
        self
    }

    /// The HTTP code to answer with.
    pub fn http_code(&self) -> u16 {
        match (self.code, self.outcome) {
            (Some(code), _) => code,
            (None, Outcome::Success) => 200,
            (None, Outcome::Failure) => 500,
        }
    }

    /// The value for the `Retry-After` header, in seconds.
    pub fn retry_after_seconds(&self) -> Option<u32> {
        self.details
            .as_ref()
            .and_then(|details| details.retry_after_seconds)
    }

    /// Whether a cause with this word is among the details.
    pub fn has_cause(&self, reason: &str) -> bool {
        let causes = self.details.iter().flat_map(|details| &details.causes);
        causes.into_iter().any(|cause| cause.reason == reason)
    }
}

impl StatusCause {
    /// A cause with this word, text and field.
    pub fn new(reason: &'static str, message: impl Into<String>, field: &str) -> Self {
        Self {
            reason: Cow::Borrowed(reason),
            message: message.into(),
            field: field.to_owned(),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Status {}

fn version_one() -> Cow<'static, str> {
    Cow::Borrowed("v1")
}
