//! The grammar of API paths.
//!
//! ```text
//! /api/v1/namespaces/default/pods/web/status     core group, namespaced, name, subresource
//! /apis/apps/v1/deployments                      a group, all namespaces
//! /apis/apps/v1/watch/namespaces/x/deployments   the old form of a watch
//! ```

use std::borrow::Cow;

/// What a path names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// A resource of some group and version, which may or may not be served here.
    Resource(ResourcePath),
    /// Anything else: health, discovery, documents. Kept as the client wrote it.
    Other,
    /// Not a path that anything could be found at.
    Malformed,
}

/// The parts of a resource path.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The namespace, when the path has one.
    pub namespace: Option<String>,
    /// The resource's plural name.
    pub resource: String,
    /// The object's name, when the path goes that far.
    pub name: Option<String>,
    /// The subresource, when the path goes that far.
    pub subresource: Option<String>,
    /// Whether the path has the old `watch/` form.
    pub form: PathForm,
}

/// Whether a path asks for a watch by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PathForm {
    /// The ordinary form.
    #[default]
    Plain,
    /// `…/watch/…`: always a watch.
    LegacyWatch,
}

/// Parts of nearly every path.
const PARTS_USUAL: usize = 8;

/// Subresources of a namespace itself, as opposed to resources inside it.
const NAMESPACE_SUBRESOURCES: [&str; 2] = ["status", "finalize"];

/// Reads a path, percent-decoding each part by itself so that an encoded slash stays inside it.
pub(crate) fn parse(path: &str) -> Path {
    // Parts are short: to look at each character is faster than to search for the slashes.
    let parts = path.split(['/']).skip(1);
    // Hardly any path has something to decode.
    if path.bytes().all(|byte| !matches!(byte, b'%' | b'\0')) {
        let mut plain = Vec::with_capacity(PARTS_USUAL);
        plain.extend(parts);
        return name(&plain);
    }
    let Some(decoded) = parts.map(decode_part).collect::<Option<Vec<_>>>() else {
        return Path::Malformed;
    };
    name(&decoded.iter().map(AsRef::as_ref).collect::<Vec<_>>())
}

/// What the parts of a path name together. One slash at the end does not count.
fn name(parts: &[&str]) -> Path {
    let parts = match parts {
        [parts @ .., ""] => parts,
        parts => parts,
    };
    let (group, version, rest) = match parts {
        ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
        ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
        _ => return Path::Other,
    };
    if parts
        .iter()
        .any(|part| part.is_empty() || *part == "." || *part == "..")
    {
        return Path::Malformed;
    }
    resource_path(group, version, rest).map_or(Path::Malformed, Path::Resource)
}

fn resource_path(group: &str, version: &str, rest: &[&str]) -> Option<ResourcePath> {
    let (form, rest) = match rest {
        ["watch", rest @ ..] if !rest.is_empty() => (PathForm::LegacyWatch, rest),
        _ => (PathForm::Plain, rest),
    };
    let (namespace, rest) = match rest {
        ["namespaces", _] => (None, rest),
        ["namespaces", _, third, ..] if NAMESPACE_SUBRESOURCES.contains(third) => (None, rest),
        ["namespaces", namespace, rest @ ..] => (Some(namespace.to_string()), rest),
        _ => (None, rest),
    };
    let mut parts = rest.iter().map(ToString::to_string);
    let path = ResourcePath {
        group: group.to_owned(),
        version: version.to_owned(),
        namespace,
        resource: parts.next()?,
        name: parts.next(),
        subresource: parts.next(),
        form,
    };
    // What is behind a proxy has paths of its own.
    let ends_here = parts.next().is_none() || path.subresource.as_deref() == Some("proxy");
    ends_here.then_some(path)
}

/// Percent-decodes one part; `None` for broken escapes, invalid UTF-8 and what no name may hold.
fn decode_part(part: &str) -> Option<Cow<'_, str>> {
    if !part.contains('%') {
        return (!part.contains('\0')).then_some(Cow::Borrowed(part));
    }
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let [first, tail @ ..] = rest {
        if *first == b'%' {
            let digits = tail.get(..2)?;
            let text = std::str::from_utf8(digits).ok()?;
            bytes.push(u8::from_str_radix(text, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    let text = String::from_utf8(bytes).ok()?;
    (!text.contains(['/', '\0'])).then_some(Cow::Owned(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `group/version ns resource name subresource`, with `-` for what is absent.
    fn shown(path: &str) -> String {
        match parse(path) {
            Path::Resource(found) => {
                let or_dash = |part: Option<String>| part.unwrap_or_else(|| "-".to_owned());
                format!(
                    "{}/{} {} {} {} {}{}",
                    found.group,
                    found.version,
                    or_dash(found.namespace),
                    found.resource,
                    or_dash(found.name),
                    or_dash(found.subresource),
                    if found.form == PathForm::LegacyWatch {
                        " watch"
                    } else {
                        ""
                    },
                )
            }
            Path::Other => "other".to_owned(),
            Path::Malformed => "malformed".to_owned(),
        }
    }

    #[test]
    fn every_form_of_a_resource_path_is_understood() {
        for (path, expected) in [
            ("/api/v1/nodes", "/v1 - nodes - -"),
            ("/api/v1/nodes/n1", "/v1 - nodes n1 -"),
            ("/api/v1/pods", "/v1 - pods - -"),
            ("/api/v1/namespaces/default/pods", "/v1 default pods - -"),
            ("/api/v1/namespaces/default/pods/", "/v1 default pods - -"),
            (
                "/api/v1/namespaces/default/pods/web/log",
                "/v1 default pods web log",
            ),
            (
                "/api/v1/namespaces/default/services/web/proxy/a/b",
                "/v1 default services web proxy",
            ),
            ("/api/v1/namespaces", "/v1 - namespaces - -"),
            ("/api/v1/namespaces/default", "/v1 - namespaces default -"),
            (
                "/api/v1/namespaces/default/status",
                "/v1 - namespaces default status",
            ),
            (
                "/api/v1/namespaces/default/finalize",
                "/v1 - namespaces default finalize",
            ),
            ("/api/v1/watch/namespaces/x/pods/p", "/v1 x pods p - watch"),
            ("/api/v1/watch/namespaces/x", "/v1 - namespaces x - watch"),
            ("/api/v1/watch/pods", "/v1 - pods - - watch"),
            ("/apis/apps/v1/deployments", "apps/v1 - deployments - -"),
            (
                "/apis/apps/v1/namespaces/x/deployments/d/scale",
                "apps/v1 x deployments d scale",
            ),
            (
                "/apis/ex.com/v1/namespaces/x/foos/a%3Ab",
                "ex.com/v1 x foos a:b -",
            ),
        ] {
            assert_eq!(shown(path), expected, "{path}");
        }
    }

    #[test]
    fn paths_without_a_resource_are_left_to_others() {
        for path in [
            "/",
            "/api",
            "/api/v1",
            "/api/v1/",
            "/apis/apps/v1",
            "/version",
            "/healthz",
        ] {
            assert_eq!(parse(path), Path::Other, "{path}");
        }
    }

    #[test]
    fn no_spelling_of_a_path_climbs_out_of_its_place() {
        for path in [
            "/api/v1/namespaces/../pods",
            "/api/v1/namespaces/%2e%2e/pods/x",
            "/api/v1/namespaces/default/pods/..",
            "/api/v1/namespaces/default/pods/%2E",
            "/api/v1/namespaces/default/pods/a%2fb",
            "/api/v1/namespaces/default/pods/a%00b",
            "/api/v1/namespaces/default/pods/a%zz",
            "/api/v1/namespaces/default/pods/a%f",
            "/api/v1/namespaces/default/pods/%ff",
            "/api/v1//pods",
            "/api/v1/namespaces/default/pods/a/b/c",
        ] {
            assert_eq!(parse(path), Path::Malformed, "{path}");
        }
    }
}
