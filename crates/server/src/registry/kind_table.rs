//! Reads the table of built-in kinds. Its form is described at the top of `builtin/kinds.txt`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use listwatch_api::schema::Schema;
use sha2::{Digest, Sha256};

use super::{
    Conversion, Definition, DeletionAnswer, FieldRefusal, Generation, Lifetime, Naming,
    Persistence, PutToMissing, PutWithoutVersion, Scope, SelectableField, StatusWriting,
    Subresource, Verb,
};

const ALL_VERBS: [Verb; 8] = [
    Verb::Create,
    Verb::Delete,
    Verb::DeleteCollection,
    Verb::Get,
    Verb::List,
    Verb::Patch,
    Verb::Update,
    Verb::Watch,
];

/// A line that does not follow the table's form.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub(crate) struct TableError {
    line: usize,
    problem: String,
}

/// The definitions in `text`, their shapes found in `schema`.
pub(crate) fn parse(text: &str, schema: &Schema) -> Result<Vec<Definition>, TableError> {
    let mut reader = Reader::new(schema);
    for (index, line) in text.lines().enumerate() {
        reader.read(line).map_err(|problem| TableError {
            line: index + 1,
            problem,
        })?;
    }
    Ok(reader.definitions)
}

/// The hash by which discovery tells the version in which a kind is stored.
pub fn storage_version_hash(group: &str, version: &str, kind: &str) -> Box<str> {
    let digest = Sha256::digest(format!("{group}/{version}/{kind}"));
    STANDARD.encode(&digest[..8]).into()
}

struct Reader<'a> {
    schema: &'a Schema,
    group: &'a str,
    version: &'a str,
    types: &'a str,
    definitions: Vec<Definition>,
}

impl<'a> Reader<'a> {
    fn new(schema: &'a Schema) -> Self {
        Self {
            schema,
            group: "",
            version: "",
            types: "",
            definitions: Vec::new(),
        }
    }

    fn read(&mut self, line: &'a str) -> Result<(), String> {
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            None | Some("#") => Ok(()),
            Some("api") => self.read_api(words),
            Some("with") => words.try_for_each(|word| self.read_behaviour(word)),
            Some("field") => self.read_field(words),
            Some("sub") => self.read_subresource(words),
            Some(resource) => self.read_kind(resource, words),
        }
    }

    fn read_api(&mut self, mut words: impl Iterator<Item = &'a str>) -> Result<(), String> {
        let api_version = words.next().ok_or("no version")?;
        (self.group, self.version) = split_api_version(api_version);
        self.types = words
            .next()
            .and_then(|word| word.strip_prefix("types="))
            .ok_or("no types=")?;
        Ok(())
    }

    fn read_kind(
        &mut self,
        resource: &str,
        mut words: impl Iterator<Item = &'a str>,
    ) -> Result<(), String> {
        let kind = words.next().ok_or("no kind")?;
        let scope = match words.next() {
            Some("namespaced") => Scope::Namespaced,
            Some("cluster") => Scope::Cluster,
            other => return Err(format!("unknown scope {other:?}")),
        };
        let mut definition = self.plain(resource, kind, scope);
        for word in words {
            match word.split_once('=') {
                Some(("verbs", verbs)) => definition.verbs = parse_verbs(verbs)?,
                Some(("singular", singular)) => definition.singular = singular.into(),
                Some(("short", names)) => definition.short_names = split_list(names),
                Some(("categories", names)) => definition.categories = split_list(names),
                _ => return Err(format!("unknown attribute {word:?}")),
            }
        }
        self.definitions.push(definition);
        Ok(())
    }

    /// A kind that behaves as most do.
    fn plain(&self, resource: &str, kind: &str, scope: Scope) -> Definition {
        Definition {
            group: self.group.into(),
            version: self.version.into(),
            resource: resource.into(),
            kind: kind.into(),
            list_kind: format!("{kind}List").into(),
            singular: kind.to_ascii_lowercase().into(),
            short_names: Vec::new(),
            categories: Vec::new(),
            scope,
            verbs: ALL_VERBS.to_vec(),
            subresources: Vec::new(),
            selectable_fields: Vec::new(),
            field_refusal: FieldRefusal::NamesTheKnown,
            persistence: Persistence::Stored,
            storage_prefix: format!("/registry/{resource}/").into(),
            also_stored_as: Vec::new(),
            storage_version_hash: Some(storage_version_hash(self.group, self.version, kind)),
            conversion: Conversion::None,
            schema: self.schema.find(&format!("{}.{kind}", self.types)),
            generation: Generation::Untracked,
            status: StatusWriting::Open,
            naming: Naming::DnsSubdomain,
            put_to_missing: PutToMissing::Refuses,
            put_without_version: PutWithoutVersion::Overwrites,
            deletion_answer: DeletionAnswer::Status,
            lifetime: Lifetime::Unlimited,
            custom: None,
        }
    }

    fn read_behaviour(&mut self, word: &str) -> Result<(), String> {
        let definition = self.definitions.last_mut().ok_or("no kind yet")?;
        match word.split_once('=').unwrap_or((word, "")) {
            ("answered", _) => {
                definition.persistence = Persistence::Answered;
                definition.storage_version_hash = None;
            }
            ("put-creates", _) => definition.put_to_missing = PutToMissing::Creates,
            ("put-versioned", _) => definition.put_without_version = PutWithoutVersion::Refuses,
            ("delete-answers-object", _) => definition.deletion_answer = DeletionAnswer::Object,
            ("expires", _) => definition.lifetime = Lifetime::Events,
            ("prefix", prefix) => definition.storage_prefix = format!("/registry/{prefix}/").into(),
            ("stored", api_version) => {
                let (group, version) = split_api_version(api_version);
                let hash = storage_version_hash(group, version, &definition.kind);
                definition.storage_version_hash = Some(hash);
            }
            ("also", api_versions) => definition.also_stored_as = split_list(api_versions),
            ("conversion", name) => definition.conversion = parse_conversion(name)?,
            ("generation", name) => definition.generation = parse_generation(name)?,
            ("names", name) => definition.naming = parse_naming(name)?,
            ("refusal", name) => definition.field_refusal = parse_refusal(name)?,
            ("status", "kept-on-create") => definition.status = StatusWriting::SeparateAfterCreate,
            _ => return Err(format!("unknown behaviour {word:?}")),
        }
        Ok(())
    }

    fn read_field(&mut self, mut words: impl Iterator<Item = &'a str>) -> Result<(), String> {
        let definition = self.definitions.last_mut().ok_or("no kind yet")?;
        let name = words.next().ok_or("no field name")?;
        let mut field = SelectableField {
            name: name.into(),
            path: split_path(name),
            fallback: None,
            default: "".into(),
            indexed: false,
        };
        for word in words {
            match word.split_once('=').unwrap_or((word, "")) {
                ("from", path) => field.path = split_path(path),
                ("or", path) => field.fallback = Some(split_path(path)),
                ("default", text) => field.default = text.into(),
                ("indexed", _) => field.indexed = true,
                _ => return Err(format!("unknown attribute {word:?}")),
            }
        }
        definition.selectable_fields.push(field);
        Ok(())
    }

    fn read_subresource(&mut self, mut words: impl Iterator<Item = &'a str>) -> Result<(), String> {
        let definition = self.definitions.last_mut().ok_or("no kind yet")?;
        let name = words.next().ok_or("no subresource name")?;
        let spoken = words.next().ok_or("no subresource kind")?;
        let verbs = parse_verbs(words.next().ok_or("no subresource verbs")?)?;
        let (api_version, kind) = match spoken.rsplit_once('/') {
            Some((api_version, kind)) => (Some(split_api_version(api_version)), kind),
            None => (None, spoken),
        };
        let type_name = match api_version {
            Some((group, version)) => format!("io.k8s.api.{}.{version}.{kind}", first_part(group)),
            None => format!("{}.{kind}", self.types),
        };
        if name == "status" && definition.status == StatusWriting::Open {
            definition.status = StatusWriting::Separate;
        }
        definition.subresources.push(Subresource {
            name: name.into(),
            group: api_version.map(|(group, _)| group.into()),
            version: api_version.map(|(_, version)| version.into()),
            kind: kind.into(),
            schema: self.schema.find(&type_name),
            verbs,
        });
        Ok(())
    }
}

fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.rsplit_once('/').unwrap_or(("", api_version))
}

fn split_list(list: &str) -> Vec<Box<str>> {
    list.split(',').map(Into::into).collect()
}

fn split_path(path: &str) -> Vec<Box<str>> {
    path.split('.').map(Into::into).collect()
}

fn first_part(group: &str) -> &str {
    group.split_once('.').map_or(group, |(first, _)| first)
}

fn parse_verbs(list: &str) -> Result<Vec<Verb>, String> {
    list.split(',').map(parse_verb).collect()
}

fn parse_verb(word: &str) -> Result<Verb, String> {
    ALL_VERBS
        .into_iter()
        .find(|verb| verb.as_str() == word)
        .ok_or_else(|| format!("unknown verb {word:?}"))
}

fn parse_conversion(name: &str) -> Result<Conversion, String> {
    match name {
        "events" => Ok(Conversion::EventsV1),
        "autoscaling" => Ok(Conversion::AutoscalingV1),
        _ => Err(format!("unknown conversion {name:?}")),
    }
}

fn parse_generation(name: &str) -> Result<Generation, String> {
    match name {
        "constant" => Ok(Generation::Constant),
        "spec" => Ok(Generation::Spec),
        "spec-after-create" => Ok(Generation::SpecAfterCreate),
        "outside-status" => Ok(Generation::OutsideStatus),
        "outside-metadata-and-labels" => Ok(Generation::OutsideMetadataAndLabels),
        _ => Err(format!("unknown generation {name:?}")),
    }
}

fn parse_naming(name: &str) -> Result<Naming, String> {
    match name {
        "label" => Ok(Naming::DnsLabel),
        "path" => Ok(Naming::PathSegment),
        "address" => Ok(Naming::IpAddress),
        _ => Err(format!("unknown naming {name:?}")),
    }
}

fn parse_refusal(name: &str) -> Result<FieldRefusal, String> {
    match name {
        "unsupported" => Ok(FieldRefusal::Unsupported),
        "for-kind" => Ok(FieldRefusal::UnsupportedForKind),
        "for-group-version-kind" => Ok(FieldRefusal::UnsupportedForGroupVersionKind),
        _ => Err(format!("unknown refusal {name:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_not_understood_is_named() {
        let table = "api v1 types=t\npods Pod nowhere\n";
        let error = parse(table, &Schema::default()).unwrap_err();
        assert_eq!(error.to_string(), "line 2: unknown scope Some(\"nowhere\")");
    }

    #[test]
    fn the_storage_version_hash_is_the_recorded_one() {
        assert_eq!(
            &*storage_version_hash("", "v1", "ConfigMap"),
            "qFsyl6wFWjQ="
        );
    }
}
