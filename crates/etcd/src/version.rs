//! Which etcd answers, and what that one can be trusted with.

use std::{fmt, str::FromStr};

use thiserror::Error;

/// The version of an etcd server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerVersion {
    /// 3 for every server of this protocol.
    pub major: u32,
    /// The release series.
    pub minor: u32,
    /// The patch within the series.
    pub patch: u32,
}

/// Text that is no version.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{0}` is not a version of etcd")]
pub struct NotAVersion(String);

impl ServerVersion {
    /// The version with these three numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self {
            major,
            minor,
            patch,
        }
    }

    /// Whether an answer to a progress request is true. Before 3.4.31 and 3.5.13 it could tell a
    /// revision whose events were still to come.
    pub fn answers_progress_requests_truly(self) -> bool {
        let first_true = match (self.major, self.minor) {
            (3, 4) => Self::new(3, 4, 31),
            _ => Self::new(3, 5, 13),
        };
        self >= first_true
    }
}

impl FromStr for ServerVersion {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        let release = text.split(['-', '+']).next().unwrap_or(text);
        let numbers: Option<Vec<u32>> = release.split('.').map(|part| part.parse().ok()).collect();
        match numbers.as_deref() {
            Some([major, minor, patch]) => Ok(Self::new(*major, *minor, *patch)),
            Some(_) | None => Err(NotAVersion(text.to_owned())),
        }
    }
}

impl fmt::Display for ServerVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_its_text() {
        assert_eq!("3.7.3".parse(), Ok(ServerVersion::new(3, 7, 3)));
        assert_eq!("3.6.0-rc.1".parse(), Ok(ServerVersion::new(3, 6, 0)));
        for text in ["", "3.5", "3.5.x", "3.5.1.2"] {
            assert!(text.parse::<ServerVersion>().is_err(), "{text}");
        }
    }

    #[test]
    fn progress_requests_are_trusted_from_the_releases_that_repaired_them() {
        for (version, trusted) in [
            ("3.3.27", false),
            ("3.4.30", false),
            ("3.4.31", true),
            ("3.5.0", false),
            ("3.5.12", false),
            ("3.5.13", true),
            ("3.6.0", true),
            ("3.7.3", true),
        ] {
            let version: ServerVersion = version.parse().unwrap();
            assert_eq!(
                version.answers_progress_requests_truly(),
                trusted,
                "{version}"
            );
        }
    }
}
