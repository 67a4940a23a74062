//! Reads Go struct declarations: the order of fields, their tags and the names of their types.

use std::{collections::BTreeMap, path::PathBuf};

use anyhow::{Context, Result};

use super::packages;

/// The structs of one package, and of the packages it embeds from.
pub(super) struct Source {
    /// The package's last name, which Go prints before the names of its types.
    name: String,
    structs: BTreeMap<String, Vec<Member>>,
}

/// One line of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Member {
    Field(GoField),
    Embedded {
        type_name: String,
        number: Option<u32>,
    },
}

/// A field as Go and JSON know it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GoField {
    /// The name in JSON.
    pub(super) name: String,
    /// The type as Go prints it, a pointer's star included.
    pub(super) type_name: String,
    /// The number in protobuf.
    pub(super) number: Option<u32>,
    /// The embedded structs it comes from, from the outside in, each with its number.
    pub(super) embedded: Vec<(String, Option<u32>)>,
    /// The words after the name in the JSON tag.
    pub(super) options: Vec<String>,
    /// What an absent value means, as JSON.
    pub(super) default: Option<String>,
}

impl GoField {
    pub(super) fn has_option(&self, option: &str) -> bool {
        self.options.iter().any(|word| word == option)
    }
}

impl Source {
    /// The fields of a struct in the order in which Go writes them.
    pub(super) fn fields(&self, type_name: &str) -> Result<Vec<GoField>> {
        let members = self
            .structs
            .get(type_name)
            .with_context(|| format!("no struct {type_name} in {}", self.name))?;
        let mut fields = Vec::new();
        for member in members {
            match member {
                Member::Field(field) => fields.push(field.clone()),
                Member::Embedded { type_name, number } => {
                    let name = type_name.rsplit('.').next().unwrap_or(type_name);
                    let mut inner = self.fields(name)?;
                    for field in &mut inner {
                        field.embedded.insert(0, (name.to_owned(), *number));
                    }
                    fields.extend(inner);
                }
            }
        }
        Ok(fields)
    }
}

/// The structs of the package with this name in the schema, such as `io.k8s.api.core.v1`.
pub(super) fn read(modules: &BTreeMap<&str, PathBuf>, package: &str) -> Result<Source> {
    let (module, path) = package
        .strip_prefix("io.k8s.")
        .and_then(|rest| rest.split_once('.'))
        .with_context(|| format!("{package} is not a Kubernetes package"))?;
    let folder = modules
        .get(module)
        .with_context(|| format!("no module {module}"))?;
    let name = path.rsplit('.').next().unwrap_or(path);
    let mut structs = type_meta();
    for text in packages::go_texts(&folder.join(path.replace('.', "/")))? {
        read_structs(&text, name, &mut structs);
    }
    Ok(Source {
        name: name.to_owned(),
        structs,
    })
}

/// The two structs that other packages embed from meta.
fn type_meta() -> BTreeMap<String, Vec<Member>> {
    let field = |name: &str| {
        Member::Field(GoField {
            name: name.to_owned(),
            type_name: "string".to_owned(),
            options: vec!["omitempty".to_owned()],
            ..GoField::default()
        })
    };
    let members = vec![field("kind"), field("apiVersion")];
    BTreeMap::from([("TypeMeta".to_owned(), members)])
}

fn read_structs(text: &str, package: &str, structs: &mut BTreeMap<String, Vec<Member>>) {
    let imports = read_imports(text);
    let mut open: Option<(String, Vec<Member>)> = None;
    let mut default = None;
    for line in text.lines() {
        let declared = line
            .strip_prefix("type ")
            .and_then(|rest| rest.split_once(" struct"));
        if let Some((name, rest)) = declared {
            if rest.contains('}') {
                structs.insert(name.to_owned(), Vec::new());
            } else {
                open = Some((name.to_owned(), Vec::new()));
            }
        } else if line.starts_with('}') {
            structs.extend(open.take());
        } else if let Some((_, members)) = &mut open {
            let trimmed = line.trim();
            if let Some(value) = trimmed.strip_prefix("// +default=") {
                default = Some(value.to_owned());
            }
            if let Some(member) = read_member(trimmed, package, &imports, default.clone()) {
                members.push(member);
                default = None;
            }
        }
    }
}

/// The last names of imported packages by the names that the file gives them.
fn read_imports(text: &str) -> BTreeMap<String, String> {
    let quoted = text.lines().filter_map(|line| {
        let (alias, rest) = line.trim().split_once('"')?;
        let path = rest.strip_suffix('"')?;
        let name = path.rsplit('/').next()?;
        let alias = alias.trim().trim_start_matches("import").trim();
        let known_as = if alias.is_empty() { name } else { alias };
        Some((known_as.to_owned(), name.to_owned()))
    });
    quoted.collect()
}

fn read_member(
    line: &str,
    package: &str,
    imports: &BTreeMap<String, String>,
    default: Option<String>,
) -> Option<Member> {
    if line.starts_with("//") {
        return None;
    }
    let (declared, rest) = line.split_once('`')?;
    let (tags, _) = rest.split_once('`')?;
    let mut json = tag(tags, "json")?.split(',');
    let name = json.next()?;
    let options: Vec<String> = json.map(str::to_owned).collect();
    let number = tag(tags, "protobuf").and_then(|tag| tag.split(',').nth(1)?.parse().ok());
    let mut words = declared.split_ascii_whitespace();
    let (first, second) = (words.next()?, words.next());
    match (name, second) {
        ("-", _) => None,
        ("", None) => Some(Member::Embedded {
            type_name: first.to_owned(),
            number,
        }),
        (name, type_name) => Some(Member::Field(GoField {
            name: name.to_owned(),
            type_name: printed_type(type_name.unwrap_or(first), package, imports),
            number,
            embedded: Vec::new(),
            options,
            default: default.filter(|value| !value.starts_with("ref(")),
        })),
    }
}

fn tag<'a>(tags: &'a str, key: &str) -> Option<&'a str> {
    let start = tags.find(&format!("{key}:\""))? + key.len() + 2;
    tags[start..].split_once('"').map(|(value, _)| value)
}

/// A type expression as Go prints it: every name with its package's last name.
fn printed_type(written: &str, package: &str, imports: &BTreeMap<String, String>) -> String {
    let mut printed = String::new();
    let mut word = String::new();
    for character in written.chars().chain(['\0']) {
        if character.is_alphanumeric() || matches!(character, '_' | '.') {
            word.push(character);
            continue;
        }
        printed.push_str(&printed_name(&word, package, imports));
        word.clear();
        printed.extend((character != '\0').then_some(character));
    }
    printed.replace("[]byte", "[]uint8")
}

fn printed_name(word: &str, package: &str, imports: &BTreeMap<String, String>) -> String {
    match word.split_once('.') {
        Some((alias, name)) => {
            let known = imports.get(alias).map_or(alias, String::as_str);
            format!("{known}.{name}")
        }
        None if word.starts_with(|first: char| first.is_ascii_uppercase()) => {
            format!("{package}.{word}")
        }
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type Thing struct {
	metav1.TypeMeta `json:",inline"`
	Inner           `json:",inline" protobuf:"bytes,7,opt,name=inner"`
	// +default="Always"
	Policy *Policy                  `json:"policy,omitempty" protobuf:"bytes,2,opt,name=policy"`
	When   map[Name]metav1.Time     `json:"when"`
}

type Inner struct {
	Size int32 `json:"size" protobuf:"varint,1,opt,name=size"`
}
"#;

    fn fields() -> Vec<GoField> {
        let mut structs = type_meta();
        read_structs(TEXT, "v1", &mut structs);
        let name = "v1".to_owned();
        Source { name, structs }.fields("Thing").unwrap()
    }

    #[test]
    fn fields_come_in_gos_order_with_embedded_ones_in_place() {
        let names: Vec<String> = fields().into_iter().map(|field| field.name).collect();
        assert_eq!(names, ["kind", "apiVersion", "size", "policy", "when"]);
    }

    #[test]
    fn an_embedded_field_knows_where_it_comes_from() {
        let size = &fields()[2];
        assert_eq!(size.embedded, [("Inner".to_owned(), Some(7))]);
        assert_eq!(size.number, Some(1));
    }

    #[test]
    fn types_are_printed_with_the_names_of_their_packages() {
        assert_eq!(fields()[3].type_name, "*v1.Policy");
        assert_eq!(fields()[4].type_name, "map[v1.Name]v1.Time");
    }

    #[test]
    fn a_default_is_taken_from_the_comment_above() {
        assert_eq!(fields()[3].default.as_deref(), Some("\"Always\""));
        assert_eq!(fields()[4].default, None);
    }
}
