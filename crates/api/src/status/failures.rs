//! The refusals that Kubernetes words in one fixed way.

use super::{Reason, Status, StatusCause, StatusDetails};
use crate::field_error::{FIELD_ERRORS_MAX, FieldError, aggregate};
use crate::go_text::quote;
use crate::identity::{GroupKind, GroupResource};

/// The cause of a read at a resource version that the server has not reached.
pub const CAUSE_RESOURCE_VERSION_TOO_LARGE: &str = "ResourceVersionTooLarge";
/// The cause of a create in a namespace that is going away.
pub const CAUSE_NAMESPACE_TERMINATING: &str = "NamespaceTerminating";
/// The cause of an apply that meets another manager's fields.
pub const CAUSE_FIELD_MANAGER_CONFLICT: &str = "FieldManagerConflict";

const OBJECT_MODIFIED: &str = "the object has been modified; please apply your changes to the \
                               latest version and try again";
const CONTINUE_EXPIRED: &str = "The provided continue parameter is too old to display a \
    consistent list result. You can start a new list without the continue parameter, or use the \
    continue token in this response to retrieve the remainder of the results. Continuing with the \
    provided token results in an inconsistent list - objects that were created, modified, or \
    deleted between the time the first chunk was returned and now may show up in the list.";

/// Objects that are not there, or there already, or changed meanwhile.
impl Status {
    /// There is no such object.
    pub fn not_found(resource: GroupResource<'_>, name: &str) -> Self {
        let message = format!("{resource} {} not found", quote(name));
        Self::failure(404, Some(Reason::NotFound), message).about(resource, name)
    }

    /// The path leads to no resource.
    pub fn unknown_resource() -> Self {
        let message = "the server could not find the requested resource";
        Self::failure(404, Some(Reason::NotFound), message).with_details(StatusDetails::default())
    }

    /// An object of this name exists.
    pub fn already_exists(resource: GroupResource<'_>, name: &str) -> Self {
        let message = format!("{resource} {} already exists", quote(name));
        Self::failure(409, Some(Reason::AlreadyExists), message).about(resource, name)
    }

    /// Every generated name was taken.
    pub fn generate_name_conflict(resource: GroupResource<'_>, name: &str) -> Self {
        let message = format!(
            "{resource} {} already exists, the server was not able to generate a unique name for \
             the object",
            quote(name)
        );
        Self::failure(409, Some(Reason::AlreadyExists), message)
            .about(resource, name)
            .retry_after(1)
    }

    /// The change cannot be made to the object as it is now, because of `why`.
    pub fn conflict(resource: GroupResource<'_>, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {resource} {}: {why}",
            quote(name)
        );
        Self::failure(409, Some(Reason::Conflict), message).about(resource, name)
    }

    /// The object has another resource version than the change was made for.
    pub fn modified_meanwhile(resource: GroupResource<'_>, name: &str) -> Self {
        Self::conflict(resource, name, OBJECT_MODIFIED)
    }

    /// Other managers own the fields that an apply sets.
    pub fn apply_conflict(message: impl Into<String>, causes: Vec<StatusCause>) -> Self {
        let details = StatusDetails {
            causes,
            ..StatusDetails::default()
        };
        Self::failure(409, Some(Reason::Conflict), message).with_details(details)
    }

    /// The namespace takes no new objects.
    pub fn namespace_terminating(resource: GroupResource<'_>, name: &str, namespace: &str) -> Self {
        let why = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        let cause = StatusCause::new(
            CAUSE_NAMESPACE_TERMINATING,
            format!("namespace {namespace} is being terminated"),
            "metadata.namespace",
        );
        Self::forbidden(resource, name, &why).with_cause(cause)
    }
}

/// Requests that break a rule.
impl Status {
    /// The request makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::failure(400, Some(Reason::BadRequest), message)
    }

    /// The object, or the options of this kind, break rules.
    pub fn invalid(kind: GroupKind<'_>, name: &str, errors: &[FieldError]) -> Self {
        let mut message = format!("{kind} {} is invalid", quote(name));
        if !errors.is_empty() {
            message = format!("{message}: {}", aggregate(errors));
        }
        let mut distinct: Vec<&FieldError> = Vec::new();
        for error in errors.iter().take(FIELD_ERRORS_MAX) {
            if !distinct.contains(&error) {
                distinct.push(error);
            }
        }
        let causes = distinct.into_iter().map(|error| StatusCause {
            reason: error.kind.cause().into(),
            message: error.body.clone(),
            field: error.field.clone(),
        });
        Self::failure(422, Some(Reason::Invalid), message).with_details(StatusDetails {
            name: name.to_owned(),
            group: kind.group.to_owned(),
            kind: kind.kind.to_owned(),
            causes: causes.collect(),
            ..StatusDetails::default()
        })
    }

    /// The patch cannot be applied to the object as it is.
    pub fn unprocessable() -> Self {
        let message = "the server rejected our request due to an error in our request";
        Self::failure(422, Some(Reason::Invalid), message).with_details(StatusDetails::default())
    }

    /// The user may not, or nobody may here, because of `why`. `name` is empty for collections.
    pub fn forbidden(resource: GroupResource<'_>, name: &str, why: &str) -> Self {
        let message = match (resource.resource, name) {
            ("", _) => format!("forbidden: {why}"),
            (_, "") => format!("{resource} is forbidden: {why}"),
            _ => format!("{resource} {} is forbidden: {why}", quote(name)),
        };
        Self::failure(403, Some(Reason::Forbidden), message).about(resource, name)
    }

    /// The credentials are missing or wrong.
    pub fn unauthorized() -> Self {
        Self::failure(401, Some(Reason::Unauthorized), "Unauthorized")
    }

    /// The path does not know this method.
    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::failure(405, Some(Reason::MethodNotAllowed), message)
            .with_details(StatusDetails::default())
    }

    /// The resource does not know this action, such as `watch`.
    pub fn action_not_supported(resource: GroupResource<'_>, action: &str) -> Self {
        let kind = quote(&resource.to_string());
        let message = format!("{action} is not supported on resources of kind {kind}");
        Self::failure(405, Some(Reason::MethodNotAllowed), message).about(resource, "")
    }

    /// No media type that the client accepts is served; `accepted` are those that are.
    pub fn not_acceptable(accepted: &[&str]) -> Self {
        let message = format!(
            "only the following media types are accepted: {}",
            accepted.join(", ")
        );
        Self::failure(406, Some(Reason::NotAcceptable), message)
    }

    /// Nothing in `Accept` names a media type that any answer could have.
    pub fn no_representation(available: &[&str]) -> Self {
        let list = available.join(", ");
        let message = format!("406: Not Acceptable\n\nAvailable representations: {list}");
        Self::failure(406, Some(Reason::NotAcceptable), message)
            .with_details(StatusDetails::default())
    }

    /// The body is in none of the `accepted` formats.
    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::failure(415, Some(Reason::UnsupportedMediaType), message)
    }

    /// The content type is no kind of patch.
    pub fn unsupported_patch_type() -> Self {
        let message = "415: Unsupported Media Type";
        Self::failure(415, Some(Reason::UnsupportedMediaType), message)
            .with_details(StatusDetails::default())
    }

    /// The body, or a list in it, is too long; `what` states the limit.
    pub fn request_entity_too_large(what: &str) -> Self {
        let message = format!("Request entity too large: {what}");
        Self::failure(413, Some(Reason::RequestEntityTooLarge), message)
    }
}

/// Versions and tokens that are too old or too new.
impl Status {
    /// What was asked for has been forgotten.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::failure(410, Some(Reason::Expired), message)
    }

    /// A list at an exact resource version that has been forgotten.
    pub fn expired_list() -> Self {
        Self::expired("The resourceVersion for the provided list is too old.")
    }

    /// A watch that begins before what is remembered.
    pub fn expired_watch(requested: u64, oldest: u64) -> Self {
        Self::expired(format!("too old resource version: {requested} ({oldest})"))
    }

    /// A continue token whose snapshot has been forgotten; `token` continues with the present.
    pub fn expired_continue(token: &str) -> Self {
        let mut status = Self::expired(CONTINUE_EXPIRED);
        status.metadata.continue_token = Some(token.into());
        status
    }

    /// The requested version lies in the future.
    pub fn too_large_resource_version(
        requested: u64,
        current: u64,
        retry_after_seconds: Option<u32>,
    ) -> Self {
        let what = format!("Too large resource version: {requested}, current: {current}");
        let cause = StatusCause::new(
            CAUSE_RESOURCE_VERSION_TOO_LARGE,
            "Too large resource version",
            "",
        );
        let mut status = Self::timeout(&what, None).with_cause(cause);
        status.details.get_or_insert_default().retry_after_seconds = retry_after_seconds;
        status
    }
}

/// Servers that cannot answer now.
impl Status {
    /// The request was not completed in time, though it may be later.
    pub fn timeout(what: &str, retry_after_seconds: Option<u32>) -> Self {
        let details = StatusDetails {
            retry_after_seconds,
            ..StatusDetails::default()
        };
        Self::failure(504, Some(Reason::Timeout), format!("Timeout: {what}")).with_details(details)
    }

    /// The client should come back after that many seconds.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self::failure(429, Some(Reason::TooManyRequests), message).retry_after(retry_after_seconds)
    }

    /// The server cannot answer at the moment.
    pub fn service_unavailable(message: impl Into<String>) -> Self {
        Self::failure(503, Some(Reason::ServiceUnavailable), message)
    }

    /// What is asked for is known, and nothing here does it.
    pub fn not_implemented(message: impl Into<String>) -> Self {
        Self::failure(501, None, message)
    }

    /// The server has a fault.
    pub fn internal(what: &str) -> Self {
        let message = format!("Internal error occurred: {what}");
        Self::failure(500, Some(Reason::InternalError), message)
            .with_cause(StatusCause::new("", what, ""))
    }

    /// What is stored under a key cannot be decoded, in the words of Kubernetes and with the way
    /// out.
    pub fn corrupt_object(key: &str, revision: u64, why: &str) -> Self {
        let told = not_decodable(key, revision, why);
        Self::internal(&format!("{told}; it can be deleted by its name"))
    }

    /// A stored object that nobody could convert into the version that was asked for.
    pub fn unconverted(key: &str, revision: u64, why: &str) -> Self {
        Self::internal(&not_decodable(key, revision, why))
    }

    /// A list of which an object, with its key and revision, could not be converted into the
    /// version that was asked for.
    pub fn unconverted_list(
        resource: GroupResource<'_>,
        (key, revision, why): (&str, u64, &str),
    ) -> Self {
        let told = not_decodable(key, revision, why);
        let message = format!("failed to read one or more {resource} from the storage: {told}");
        let cause = StatusCause::new("UnexpectedServerResponse", told, key);
        Self::failure(500, Some(Reason::StorageReadError), message)
            .about(resource, "list")
            .with_cause(cause)
    }

    /// A refusal that Kubernetes answers with 500 and without a reason.
    pub fn unclassified(message: impl Into<String>) -> Self {
        Self::failure(500, None, message)
    }

    fn about(mut self, resource: GroupResource<'_>, name: &str) -> Self {
        let details = self.details.get_or_insert_default();
        details.name = name.to_owned();
        details.group = resource.group.to_owned();
        details.kind = resource.resource.to_owned();
        self
    }

    fn retry_after(mut self, seconds: u32) -> Self {
        self.details.get_or_insert_default().retry_after_seconds = Some(seconds);
        self
    }
}

/// What Kubernetes says of a stored value that it cannot make an object of.
fn not_decodable(key: &str, revision: u64, why: &str) -> String {
    format!(
        "StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, \
         AdditionalErrorMsg: object not decodable revision={revision}: {why}"
    )
}
