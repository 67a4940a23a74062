//! Values that the program around an expression answers for: access checks and fields computed
//! when needed.

use std::fmt;
use std::sync::Arc;

use super::Value;
use crate::error::EvaluationError;

/// Answers whether someone may do something; implemented by the program that evaluates expressions.
pub trait Authorizer: Send + Sync {
    /// Decides one question.
    fn authorize(&self, subject: &Subject, check: &AccessCheck) -> AccessDecision;
}

/// Who would do it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Whoever made the request at hand.
    Requester,
    /// A service account.
    ServiceAccount {
        /// Where it lives.
        namespace: String,
        /// What it is called.
        name: String,
    },
}

/// What would be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessCheck {
    /// The verb of the API, or the method of HTTP for a path.
    pub verb: String,
    /// To what.
    pub check: Check,
}

/// To what it would be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// A path of the server.
    Path(String),
    /// Resources.
    Resource(ResourceCheck),
}

/// Resources that a question is about; empty where the question names none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceCheck {
    /// The API group.
    pub group: String,
    /// The resource's plural name.
    pub resource: String,
    /// The subresource.
    pub subresource: String,
    /// The namespace.
    pub namespace: String,
    /// The object's name.
    pub name: String,
    /// Which objects, by their fields.
    pub field_selector: String,
    /// Which objects, by their labels.
    pub label_selector: String,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessDecision {
    /// They may.
    Allowed {
        /// Why.
        reason: String,
    },
    /// They may not.
    Denied {
        /// Why.
        reason: String,
    },
    /// Nobody could tell.
    Failed {
        /// Why.
        error: String,
    },
}

/// Whom to ask, and about whom.
#[derive(Clone)]
pub struct AuthorizerValue<'a> {
    pub(crate) authorizer: &'a dyn Authorizer,
    pub(crate) subject: Arc<Subject>,
}

impl fmt::Debug for AuthorizerValue<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("AuthorizerValue")
            .field(&self.subject)
            .finish()
    }
}

impl<'a> Value<'a> {
    /// The variable `authorizer`: questions are asked on behalf of whoever made the request.
    pub fn authorizer(authorizer: &'a dyn Authorizer) -> Self {
        Self::Authorizer(AuthorizerValue {
            authorizer,
            subject: Arc::new(Subject::Requester),
        })
    }

    /// The variable `authorizer.requestResource`: a question about what the request is about.
    pub fn resource_authorizer(authorizer: &'a dyn Authorizer, check: ResourceCheck) -> Self {
        let asked = AuthorizerValue {
            authorizer,
            subject: Arc::new(Subject::Requester),
        };
        Self::ResourceCheck(asked, Arc::new(check))
    }
}

/// Named values that are computed when an expression first looks at them.
pub trait LazyFields: fmt::Debug + Send + Sync {
    /// The value of a field, or nothing if there is no such field.
    fn field(&self, name: &str) -> Option<Result<Value<'_>, EvaluationError>>;
}
