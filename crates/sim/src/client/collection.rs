//! Which objects a request is about, and where they are found.

use std::fmt::Write;

/// The objects of one resource, in one namespace or in all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Collection {
    group: String,
    version: String,
    resource: String,
    namespace: Option<String>,
}

/// An address that is not of the form `http://host:port`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{address:?} is not an address of the form http://host:port: {reason}")]
pub struct InvalidAddress {
    /// What was given.
    pub address: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Collection {
    /// A resource of the core group, such as `configmaps`, everywhere.
    pub fn core(resource: &str) -> Self {
        Self::new("", "v1", resource)
    }

    /// A resource of a group and version, such as `apps`, `v1`, `deployments`, everywhere.
    pub fn new(group: &str, version: &str, resource: &str) -> Self {
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            resource: resource.to_owned(),
            namespace: None,
        }
    }

    /// The same in one namespace only.
    #[must_use]
    pub fn in_namespace(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// The path of the collection.
    pub(crate) fn path(&self) -> String {
        let mut path = if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        };
        if let Some(namespace) = &self.namespace {
            path.push_str("/namespaces/");
            push_encoded(&mut path, namespace);
        }
        path.push('/');
        path.push_str(&self.resource);
        path
    }

    /// The path of one of its objects.
    pub(crate) fn object_path(&self, name: &str) -> String {
        let mut path = self.path();
        path.push('/');
        push_encoded(&mut path, name);
        path
    }
}

/// Appends `?name=value&…` for the values that are there.
pub(crate) fn push_query<const N: usize>(path: &mut String, pairs: [(&str, Option<String>); N]) {
    let present = pairs
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    for (index, (name, value)) in present.enumerate() {
        path.push(if index == 0 { '?' } else { '&' });
        path.push_str(name);
        path.push('=');
        push_encoded(path, &value);
    }
}

fn push_encoded(path: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                path.push(char::from(byte));
            }
            _ => write!(path, "%{byte:02X}").expect("writing to a String cannot fail"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_and_other_groups_have_their_own_roots() {
        let pods = Collection::core("pods");
        assert_eq!(pods.path(), "/api/v1/pods");
        let deployments = Collection::new("apps", "v1", "deployments").in_namespace("a");
        assert_eq!(deployments.path(), "/apis/apps/v1/namespaces/a/deployments");
        assert_eq!(
            deployments.object_path("web"),
            "/apis/apps/v1/namespaces/a/deployments/web"
        );
    }

    #[test]
    fn names_and_values_cannot_break_out_of_their_place() {
        let pods = Collection::core("pods").in_namespace("a/b");
        assert_eq!(
            pods.object_path("../c"),
            "/api/v1/namespaces/a%2Fb/pods/..%2Fc"
        );
        let mut path = "/p".to_owned();
        let selector = Some("a in (b,c)&d".to_owned());
        push_query(
            &mut path,
            [("x", None), ("s", selector), ("t", Some("1".to_owned()))],
        );
        assert_eq!(path, "/p?s=a%20in%20%28b%2Cc%29%26d&t=1");
    }
}
