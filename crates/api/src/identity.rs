//! Names of kinds and resources, together with the group they belong to.

use std::fmt;

/// A resource as it stands in a path, such as `deployments` of `apps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GroupResource<'a> {
    /// The group; the core group is the empty text.
    pub group: &'a str,
    /// The plural name in lower case.
    pub resource: &'a str,
}

/// A kind as it stands in an object, such as `Deployment` of `apps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GroupKind<'a> {
    /// The group; the core group is the empty text.
    pub group: &'a str,
    /// The kind.
    pub kind: &'a str,
}

impl<'a> GroupResource<'a> {
    /// This resource of this group.
    pub const fn new(group: &'a str, resource: &'a str) -> Self {
        Self { group, resource }
    }
}

impl<'a> GroupKind<'a> {
    /// This kind of this group.
    pub const fn new(group: &'a str, kind: &'a str) -> Self {
        Self { group, kind }
    }
}

impl fmt::Display for GroupResource<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_qualified(formatter, self.resource, self.group)
    }
}

impl fmt::Display for GroupKind<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_qualified(formatter, self.kind, self.group)
    }
}

fn write_qualified(formatter: &mut fmt::Formatter<'_>, name: &str, group: &str) -> fmt::Result {
    formatter.write_str(name)?;
    if group.is_empty() {
        return Ok(());
    }
    write!(formatter, ".{group}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_group_is_not_written() {
        assert_eq!(GroupResource::new("", "pods").to_string(), "pods");
        assert_eq!(
            GroupKind::new("apps", "Deployment").to_string(),
            "Deployment.apps"
        );
    }
}
