//! Names and texts as the API server accepts them.

use k8s_openapi::{api::core::v1::ObjectReference, apimachinery::pkg::apis::meta::v1::MicroTime};

/// Bytes of a note. The rest is cut off, since the server would refuse all of it.
const NOTE_BYTES_MAX: usize = 1024;

/// Bytes of an event's name that come from its object. A whole name may have 253.
const OBJECT_NAME_BYTES_MAX: usize = 200;

/// The name of an event: that of its object, the time and a number of its own.
pub(super) fn event_name(
    regarding: Option<&ObjectReference>,
    wall: &MicroTime,
    number: u64,
) -> String {
    let name = regarding.and_then(|regarding| regarding.name.as_deref());
    let object = subdomain(name.unwrap_or_default());
    let time = wall.0.as_microsecond().unsigned_abs();
    format!("{object}.{time:x}{number:x}")
}

/// The note, or as much of it as may be written.
pub(super) fn bounded_note(mut note: String) -> String {
    note.truncate(note.floor_char_boundary(NOTE_BYTES_MAX));
    note
}

/// Something like `name` that may stand at the beginning of an object's name. Names of roles may
/// hold colons, for one.
fn subdomain(name: &str) -> String {
    let allowed = |letter: char| match letter.to_ascii_lowercase() {
        letter @ ('a'..='z' | '0'..='9' | '-' | '.') => letter,
        _ => '-',
    };
    let name: String = name
        .chars()
        .take(OBJECT_NAME_BYTES_MAX)
        .map(allowed)
        .collect();
    let labels = name.split('.').map(|label| label.trim_matches('-'));
    let labels: Vec<_> = labels.filter(|label| !label.is_empty()).collect();
    match labels.is_empty() {
        true => "event".to_owned(),
        false => labels.join("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_made_of_what_names_may_hold() {
        for (name, expected) in [
            ("web-7f3a.default", "web-7f3a.default"),
            ("system:Node", "system-node"),
            ("-a..b-", "a.b"),
            ("", "event"),
            ("::", "event"),
        ] {
            assert_eq!(subdomain(name), expected);
        }
        assert_eq!(subdomain(&"ä".repeat(300)), "event");
        assert_eq!(subdomain(&"a".repeat(300)).len(), 200);
    }

    #[test]
    fn a_long_note_is_cut_between_two_letters() {
        let note = bounded_note(format!("a{}", "ä".repeat(1000)));
        assert_eq!(note.len(), 1023);
        assert_eq!(bounded_note("short".to_owned()), "short");
    }
}
