//! What a Kubernetes API says when it refuses, and what that asks the caller to do.

use std::time::Duration;

use serde::Deserialize;

use crate::SourceError;

/// A `Status` object, as far as it tells what to do next.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// The HTTP code.
    pub code: Option<u16>,
    /// Kubernetes' word for what is wrong.
    pub reason: Option<String>,
    /// The same for people.
    pub message: Option<String>,
    /// More of it.
    pub details: Option<StatusDetails>,
}

/// What a `Status` says in detail.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StatusDetails {
    /// When to ask again.
    pub retry_after_seconds: Option<u32>,
    /// Why.
    pub causes: Option<Vec<StatusCause>>,
}

/// One cause in a `Status`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct StatusCause {
    /// Kubernetes' word for it.
    pub reason: Option<String>,
    /// The same for people.
    pub message: Option<String>,
}

/// The cause in a status of newer servers, and the words that older ones use.
const TOO_LARGE: &str = "ResourceVersionTooLarge";
const TOO_LARGE_MESSAGE: &str = "Too large resource version";

impl Status {
    /// What the caller can do about it. Where there is no code, the reason decides.
    pub fn into_error(self) -> SourceError {
        let code = self.code_or_reason();
        let is_too_large = code == 504 && self.is_too_large();
        let details = self.details.unwrap_or_default();
        let retry_after = details.retry_after_seconds;
        let retry_after = retry_after.map(|seconds| Duration::from_secs(seconds.into()));
        let message = self.message.or(self.reason).unwrap_or_default();
        match code {
            410 => SourceError::Expired { message },
            429 => SourceError::TooManyRequests {
                message,
                retry_after,
            },
            504 if is_too_large => SourceError::TooLarge {
                message,
                retry_after,
            },
            401 | 403 => SourceError::Denied { code, message },
            500.. => SourceError::Internal { code, message },
            _ => SourceError::Refused { code, message },
        }
    }

    fn code_or_reason(&self) -> u16 {
        match (self.code, self.reason.as_deref()) {
            (Some(code @ 400..), _) => code,
            (_, Some("Expired" | "Gone")) => 410,
            (_, Some("TooManyRequests")) => 429,
            (_, Some("Timeout")) => 504,
            (_, Some("Unauthorized")) => 401,
            (_, Some("Forbidden")) => 403,
            (_, Some("BadRequest")) => 400,
            (_, Some("NotFound")) => 404,
            (_, Some("Invalid")) => 422,
            (_, Some(_) | None) => 500,
        }
    }

    fn is_too_large(&self) -> bool {
        let says_so = |message: &Option<String>| {
            let message = message.as_deref().unwrap_or_default();
            message.contains(TOO_LARGE_MESSAGE)
        };
        let causes = self.details.iter().flat_map(|details| &details.causes);
        let mut causes = causes.flatten();
        says_so(&self.message)
            || causes
                .any(|cause| cause.reason.as_deref() == Some(TOO_LARGE) || says_so(&cause.message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(status: &str) -> SourceError {
        let status: Status = serde_json::from_str(status).unwrap();
        status.into_error()
    }

    #[test]
    fn a_version_from_the_future_is_known_by_its_cause_or_by_older_words() {
        let new = r#"{"code":504,"reason":"Timeout","message":"m","details":{"causes":
            [{"reason":"ResourceVersionTooLarge"}],"retryAfterSeconds":1}}"#;
        let old = r#"{"code":504,"message":"Timeout: Too large resource version: 9, current: 5"}"#;
        let cause = r#"{"reason":"Timeout","message":"m","details":{"causes":[{"message":
            "Too large resource version"}]}}"#;
        let expected = |message: &str, seconds: Option<u64>| SourceError::TooLarge {
            message: message.to_owned(),
            retry_after: seconds.map(Duration::from_secs),
        };
        assert_eq!(error(new), expected("m", Some(1)));
        let message = "Timeout: Too large resource version: 9, current: 5";
        assert_eq!(error(old), expected(message, None));
        assert_eq!(error(cause), expected("m", None));
        let other = r#"{"code":504,"reason":"Timeout","message":"slow"}"#;
        assert!(matches!(
            error(other),
            SourceError::Internal { code: 504, .. }
        ));
    }

    #[test]
    fn codes_and_reasons_say_what_to_do() {
        let cases = [
            (r#"{"code":410}"#, "the version is too old: "),
            (r#"{"reason":"Gone"}"#, "the version is too old: Gone"),
            (r#"{"code":429,"message":"m"}"#, "too many requests: m"),
            (r#"{"code":401}"#, "not allowed (401): "),
            (
                r#"{"reason":"Forbidden","message":"m"}"#,
                "not allowed (403): m",
            ),
            (r#"{"code":503,"message":"m"}"#, "internal error (503): m"),
            (r#"{"code":422,"message":"m"}"#, "refused (422): m"),
            (
                r#"{"reason":"InternalError"}"#,
                "internal error (500): InternalError",
            ),
            (r#"{}"#, "internal error (500): "),
        ];
        for (status, expected) in cases {
            assert_eq!(error(status).to_string(), expected, "{status}");
        }
    }
}
