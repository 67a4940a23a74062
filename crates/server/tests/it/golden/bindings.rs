//! What the recorded uids, versions and tokens are in our answers.
//!
//! A placeholder stands for text that differs from run to run:
//! `{{uid NAME}}`, `{{token NAME}}`, `{{random NAME}}` keep their value through a script;
//! `{{version N}}` is the resourceVersion of a write, `{{newest N}}` that of a list or bookmark:
//! both keep the recorded order. `{{time}}` and `{{age}}` are checked for form only, `{{any}}` is
//! not, and `{{absent}}` stands for a field that is not there.

use std::collections::BTreeMap;

use super::script::Request;

#[derive(Clone, Default)]
pub(super) struct Bindings {
    names: BTreeMap<String, String>,
    versions: BTreeMap<u64, u64>,
    newest: BTreeMap<u64, u64>,
}

impl Bindings {
    /// Whether the text fits the pattern; placeholders seen for the first time are bound.
    pub(super) fn matches(&mut self, pattern: &str, found: &str) -> bool {
        let before = self.clone();
        let fits = self.fits(pattern, found);
        if !fits {
            *self = before;
        }
        fits
    }

    fn fits(&mut self, pattern: &str, found: &str) -> bool {
        let Some((head, rest)) = pattern.split_once("{{") else {
            return pattern == found;
        };
        let (placeholder, tail) = rest.split_once("}}").expect("a placeholder is closed");
        let Some(found) = found.strip_prefix(head) else {
            return false;
        };
        // What follows the placeholder, up to the next one, says where its text ends.
        let stop = tail.split("{{").next().unwrap_or_default();
        let end = match stop {
            "" => Some(found.len()),
            _ => found.find(stop),
        };
        end.is_some_and(|end| {
            self.accept(placeholder, &found[..end]) && self.fits(tail, &found[end..])
        })
    }

    fn accept(&mut self, placeholder: &str, text: &str) -> bool {
        let (kind, name) = placeholder.split_once(' ').unwrap_or((placeholder, ""));
        match kind {
            "any" => true,
            "absent" => text == "{{absent}}",
            "time" => is_time(text),
            "age" => {
                text.ends_with('s') && text.starts_with(|letter: char| letter.is_ascii_digit())
            }
            "uid" => is_uid(text) && self.accept_name(placeholder, text),
            "token" | "random" => !text.is_empty() && self.accept_name(placeholder, text),
            "version" => parse_pair(name, text).is_some_and(|pair| self.accept_version(pair)),
            "newest" => parse_pair(name, text).is_some_and(|pair| self.accept_newest(pair)),
            other => panic!("unknown placeholder {other}"),
        }
    }

    fn accept_name(&mut self, placeholder: &str, text: &str) -> bool {
        self.names
            .entry(placeholder.to_owned())
            .or_insert_with(|| text.to_owned())
            == text
    }

    /// Writes keep their order strictly.
    fn accept_version(&mut self, (recorded, ours): (u64, u64)) -> bool {
        if let Some(bound) = self.versions.get(&recorded) {
            return *bound == ours;
        }
        let before = self.versions.range(..recorded).next_back();
        let after = self.versions.range(recorded..).next();
        let fits = before.is_none_or(|(_, before)| *before < ours)
            && after.is_none_or(|(_, after)| ours < *after);
        self.versions.insert(recorded, ours);
        fits
    }

    /// A list or bookmark stands between the writes it has seen and those it has not.
    fn accept_newest(&mut self, (recorded, ours): (u64, u64)) -> bool {
        if let Some(bound) = self.newest.get(&recorded) {
            return *bound == ours;
        }
        let seen = self.versions.range(..=recorded).next_back();
        let unseen = self.versions.range(recorded + 1..).next();
        let fits = seen.is_none_or(|(_, seen)| *seen <= ours)
            && unseen.is_none_or(|(_, unseen)| ours < *unseen);
        self.newest.insert(recorded, ours);
        fits
    }

    /// The request with our values in place of the recorded ones.
    pub(super) fn fill_request(&self, request: &Request) -> Request {
        Request {
            target: self.fill(&request.target),
            body: self.fill(&request.body),
            ..request.clone()
        }
    }

    fn fill(&self, template: &str) -> String {
        let mut parts = template.split("{{");
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (placeholder, rest) = part.split_once("}}").expect("a placeholder is closed");
            filled.push_str(&self.value(placeholder));
            filled.push_str(rest);
        }
        filled
    }

    fn value(&self, placeholder: &str) -> String {
        let version = placeholder
            .strip_prefix("version ")
            .and_then(|name| name.parse().ok());
        let bound = match version {
            Some(recorded) => self.versions.get(&recorded).map(u64::to_string),
            None => self.names.get(placeholder).cloned(),
        };
        bound.unwrap_or_else(|| format!("unbound-{}", placeholder.replace(' ', "-")))
    }
}

fn parse_pair(recorded: &str, ours: &str) -> Option<(u64, u64)> {
    Some((recorded.parse().ok()?, ours.parse().ok()?))
}

fn is_uid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    let hexadecimal = text
        .chars()
        .all(|letter| letter == '-' || letter.is_ascii_hexdigit());
    hexadecimal && lengths.eq([8, 4, 4, 4, 12])
}

fn is_time(text: &str) -> bool {
    let shape: String = text
        .chars()
        .map(|letter| if letter.is_ascii_digit() { '0' } else { letter })
        .collect();
    shape == "0000-00-00T00:00:00Z"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_first_value() {
        let mut bindings = Bindings::default();
        assert!(bindings.matches("token {{token A}}.", "token abc."));
        assert!(bindings.matches("{{token A}}", "abc"));
        assert!(!bindings.matches("{{token A}}", "other"));
    }

    #[test]
    fn writes_keep_the_recorded_order() {
        let mut bindings = Bindings::default();
        assert!(bindings.matches("{{version 80}}", "5"));
        assert!(bindings.matches("{{version 90}}", "9"));
        assert!(!bindings.matches("{{version 85}}", "9"));
        assert!(!bindings.matches("{{version 95}}", "9"));
        assert!(!bindings.matches("{{version 80}}", "6"));
        assert!(bindings.matches("{{version 85}}", "7"));
    }

    #[test]
    fn a_list_stands_between_what_it_has_seen_and_what_it_has_not() {
        let mut bindings = Bindings::default();
        assert!(bindings.matches("{{version 80}} {{version 90}}", "5 9"));
        assert!(!bindings.matches("{{newest 85}}", "4"));
        assert!(!bindings.matches("{{newest 85}}", "9"));
        assert!(bindings.matches("{{newest 85}}", "5"));
    }

    #[test]
    fn forms_are_checked() {
        let mut bindings = Bindings::default();
        assert!(bindings.matches("{{time}}", "2026-11-15T06:44:32Z"));
        assert!(!bindings.matches("{{time}}", "2026-11-15T06:44:32.1Z"));
        assert!(bindings.matches("{{uid a}}", "0fa0a45b-d897-4edc-8daf-d79672dc9368"));
        assert!(!bindings.matches("{{uid b}}", "0fa0a45b"));
        assert!(!bindings.matches("{{age}}", "soon"));
    }

    #[test]
    fn a_request_gets_the_values_of_this_run() {
        let mut bindings = Bindings::default();
        assert!(bindings.matches("{{version 80}} {{token A}}", "5 abc"));
        assert_eq!(
            bindings.fill("?v={{version 80}}&c={{token A}}"),
            "?v=5&c=abc"
        );
    }
}
