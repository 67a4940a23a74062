//! Versions: `major.minor.patch` with a pre-release and build.

use std::cmp::Ordering;

use super::{Function, unfit};
use crate::error::EvaluationError;
use crate::value::{Outcome, Value};

/// A version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    numbers: [u64; 3],
    pre_release: Vec<Identifier>,
}

/// A part of a pre-release.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Text(String),
}

impl Version {
    /// Reads a version, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("Version string empty".to_owned());
        }
        let parts: Vec<&str> = text.splitn(3, '.').collect();
        let [major, minor, rest] = parts[..] else {
            return Err("No Major.Minor.Patch elements found".to_owned());
        };
        let (rest, build) = cut(rest, '+');
        let (patch, pre_release) = cut(rest, '-');
        let numbers = [
            number(major, "Major")?,
            number(minor, "Minor")?,
            number(patch, "Patch")?,
        ];
        let pre_release = match pre_release {
            Some(text) => text.split('.').map(identifier).collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        for part in build.into_iter().flat_map(|build| build.split('.')) {
            if part.is_empty() {
                return Err("Build meta data is empty".to_owned());
            }
            if !part.chars().all(allowed) {
                return Err(format!(
                    "Invalid character(s) found in build meta data {part:?}"
                ));
            }
        }
        Ok(Self {
            numbers,
            pre_release,
        })
    }

    /// Reads a version that may lack parts or begin with `v`.
    fn parse_normalized(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(without_zeroes).collect();
        if parts.len() < 3 {
            if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
                return Err("short version cannot contain PreRelease/Build meta data".to_owned());
            }
            parts.resize(3, "0".to_owned());
        }
        Self::parse(&parts.join("."))
    }

    /// Which version comes first; builds do not count.
    pub(crate) fn precedence(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| {
            match (self.pre_release.is_empty(), other.pre_release.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => self.pre_release.cmp(&other.pre_release),
            }
        })
    }
}

fn cut(text: &str, separator: char) -> (&str, Option<&str>) {
    text.split_once(separator)
        .map_or((text, None), |(before, after)| (before, Some(after)))
}

fn allowed(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '-'
}

fn number(text: &str, part: &str) -> Result<u64, String> {
    if !text.chars().all(|character| character.is_ascii_digit()) {
        return Err(format!(
            "Invalid character(s) found in {} number {text:?}",
            part.to_lowercase()
        ));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(format!(
            "{part} number must not contain leading zeroes {text:?}"
        ));
    }
    text.parse()
        .map_err(|_| format!("strconv.ParseUint: parsing {text:?}: invalid syntax"))
}

fn identifier(text: &str) -> Result<Identifier, String> {
    if text.is_empty() {
        return Err("Prerelease is empty".to_owned());
    }
    if text.chars().all(|character| character.is_ascii_digit()) {
        if text.len() > 1 && text.starts_with('0') {
            return Err(format!(
                "Numeric PreRelease version must not contain leading zeroes {text:?}"
            ));
        }
        return text
            .parse()
            .map(Identifier::Number)
            .map_err(|_| "value out of range".to_owned());
    }
    if text.chars().all(allowed) {
        return Ok(Identifier::Text(text.to_owned()));
    }
    Err(format!("Invalid character(s) found in prerelease {text:?}"))
}

fn without_zeroes(part: &str) -> String {
    if part.len() <= 1 {
        return part.to_owned();
    }
    let trimmed = part.trim_start_matches('0');
    if trimmed.starts_with(|character: char| character.is_ascii_digit()) {
        return trimmed.to_owned();
    }
    format!("0{trimmed}")
}

pub(super) fn implementation(overload: &str) -> Option<Function> {
    Some(match overload {
        "string_to_semver" | "string_bool_to_semver" => |arguments| {
            let version = parse(arguments)?.map_err(EvaluationError::failed)?;
            Ok(Value::Semver(version.into()))
        },
        "is_semver_string" | "is_semver_string_bool" => {
            |arguments| Ok(Value::Bool(parse(arguments)?.is_ok()))
        }
        "semver_major" => |arguments| part(arguments, 0),
        "semver_minor" => |arguments| part(arguments, 1),
        "semver_patch" => |arguments| part(arguments, 2),
        "semver_is_greater_than" => |arguments| Ok(Value::Bool(order(arguments)?.is_gt())),
        "semver_is_less_than" => |arguments| Ok(Value::Bool(order(arguments)?.is_lt())),
        "semver_compare_to" => |arguments| Ok(Value::Int(order(arguments)? as i64)),
        _ => return None,
    })
}

fn parse(arguments: &[Value<'_>]) -> Result<Result<Version, String>, EvaluationError> {
    match arguments {
        [Value::String(text)] | [Value::String(text), Value::Bool(false)] => {
            Ok(Version::parse(text))
        }
        [Value::String(text), Value::Bool(true)] => Ok(Version::parse_normalized(text)),
        _ => unfit(),
    }
}

fn part<'a>(arguments: &[Value<'a>], index: usize) -> Outcome<'a> {
    match arguments {
        [Value::Semver(version)] => Ok(Value::Int(version.numbers[index] as i64)),
        _ => unfit(),
    }
}

fn order(arguments: &[Value<'_>]) -> Result<Ordering, EvaluationError> {
    match arguments {
        [Value::Semver(one), Value::Semver(other)] => Ok(one.precedence(other)),
        _ => unfit(),
    }
}
