//! The columns of the built-in resources, read once from `columns.txt` and `descriptions.txt`.

use std::{borrow::Cow, collections::BTreeMap};

use serde::Serialize;

const COLUMNS: &str = include_str!("columns.txt");
const DESCRIPTIONS: &str = include_str!("descriptions.txt");

/// The head of a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// What stands above the column.
    pub name: Cow<'static, str>,
    /// An OpenAPI type, such as `string`, or `date` for an age.
    #[serde(rename = "type")]
    pub kind: Cow<'static, str>,
    /// An OpenAPI format; `name` marks the column that names the object.
    pub format: Cow<'static, str>,
    /// One sentence for people.
    pub description: Cow<'static, str>,
    /// Zero for a column that is always shown; higher ones are for those who want more.
    pub priority: i32,
}

/// The columns of one resource.
#[derive(Debug)]
pub(super) struct ResourceColumns {
    /// `resource.group`, or only the resource in the core group.
    pub(super) key: &'static str,
    pub(super) columns: Vec<Column>,
}

/// The columns of all built-in resources.
pub(super) fn built_in() -> impl Iterator<Item = ResourceColumns> {
    let descriptions: BTreeMap<_, _> = facts(DESCRIPTIONS, " = ").collect();
    facts(COLUMNS, ": ").map(move |(key, columns)| ResourceColumns {
        key,
        columns: columns
            .split(", ")
            .map(|column| Column::parse(key, column, &descriptions))
            .collect(),
    })
}

fn facts(
    text: &'static str,
    separator: &'static str,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(move |line| line.split_once(separator))
}

impl Column {
    /// The column that names the object.
    pub(super) fn name() -> Self {
        Self::parse("", "Name", &facts(DESCRIPTIONS, " = ").collect())
    }

    /// The age of an object of a custom kind.
    pub(super) fn age() -> Self {
        Self::parse("", "Age:date", &facts(DESCRIPTIONS, " = ").collect())
    }

    fn parse(
        key: &str,
        text: &'static str,
        descriptions: &BTreeMap<&'static str, &'static str>,
    ) -> Self {
        let (priority, text) = match text.strip_prefix('+') {
            Some(text) => (1, text),
            None => (0, text),
        };
        let (text, kind) = text.split_once(':').unwrap_or((text, "string"));
        let (name, format) = match text.split_once('@') {
            Some(split) => split,
            None if text == "Name" => (text, "name"),
            None => (text, ""),
        };
        let description = descriptions
            .get(format!("{key}/{name}").as_str())
            .or_else(|| descriptions.get(name))
            .copied()
            .unwrap_or_default();
        Self {
            name: name.into(),
            kind: kind.into(),
            format: format.into(),
            description: description.into(),
            priority,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_described_in_a_sentence() {
        for resource in built_in() {
            for column in resource.columns {
                let description = column.description;
                assert!(
                    description.ends_with('.'),
                    "{} {}",
                    resource.key,
                    column.name
                );
            }
        }
    }

    #[test]
    fn every_description_belongs_to_a_column() {
        let resources: Vec<_> = built_in().collect();
        for (key, _) in facts(DESCRIPTIONS, " = ") {
            let (resource, column) = key
                .split_once('/')
                .map_or((None, key), |(resource, column)| (Some(resource), column));
            let used = resources
                .iter()
                .filter(|candidate| resource.is_none_or(|key| candidate.key == key))
                .any(|candidate| candidate.columns.iter().any(|other| other.name == column));
            assert!(used, "{key}");
        }
    }

    #[test]
    fn marks_are_read() {
        let resources: Vec<_> = built_in().collect();
        let columns = |key| &resources.iter().find(|one| one.key == key).unwrap().columns;
        let summary = |column: &Column| {
            format!(
                "{} {} {:?} {}",
                column.name, column.kind, column.format, column.priority
            )
        };
        assert_eq!(summary(&columns("pods")[0]), r#"Name string "name" 0"#);
        assert_eq!(summary(&columns("events")[4]), r#"Subobject string "" 1"#);
        assert_eq!(
            summary(&columns("cronjobs.batch")[3]),
            r#"Suspend boolean "" 0"#
        );
        let attachment = &columns("volumeattachments.storage.k8s.io")[1];
        assert_eq!(summary(attachment), r#"Attacher string "name" 0"#);
        let migration = &columns("storageversionmigrations.storagemigration.k8s.io")[0];
        assert_eq!(summary(migration), r#"Name string "" 0"#);
    }
}
