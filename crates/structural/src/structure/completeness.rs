//! What restrictions speak of must have structure.

use listwatch_api::{FieldError, FieldPath};

use crate::node::SCHEMA_DEPTH_MAX;
use crate::props::Props;

/// The fields that restrictions speak of and no structure has.
pub(super) fn missing(props: Props<'_>, path: &FieldPath) -> Vec<FieldError> {
    let mut walk = Walk {
        errors: Vec::new(),
        depth: 0,
    };
    walk.alternatives(
        props,
        Structure {
            props,
            path: path.clone(),
        },
        path,
    );
    walk.errors
}

/// A schema with structure, and where it stands.
#[derive(Clone)]
struct Structure<'a> {
    props: Props<'a>,
    path: FieldPath,
}

struct Walk {
    errors: Vec<FieldError>,
    depth: usize,
}

impl Walk {
    /// The alternatives of a restriction, all of which speak of the same structure.
    fn alternatives(&mut self, restriction: Props<'_>, structure: Structure<'_>, path: &FieldPath) {
        if let Some(not) = restriction.schema("not") {
            self.restriction(not, structure.clone(), &path.child("not"));
        }
        for name in ["allOf", "anyOf", "oneOf"] {
            for (index, schema) in restriction.schemas(name).enumerate() {
                let path = path.child(name).index(index);
                self.restriction(schema, structure.clone(), &path);
            }
        }
    }

    fn restriction(&mut self, restriction: Props<'_>, structure: Structure<'_>, path: &FieldPath) {
        if self.depth > SCHEMA_DEPTH_MAX {
            return;
        }
        self.depth += 1;
        self.alternatives(restriction, structure.clone(), path);
        if let Some(items) = restriction.each_item() {
            let below = structure.path.child("items");
            self.below(
                items,
                structure.props.each_item(),
                below,
                &path.child("items"),
            );
        }
        for (name, property) in restriction.properties() {
            let below = structure.path.child("properties").key(name);
            let path = path.child("properties").key(name);
            self.below(property, structure.props.property(name), below, &path);
        }
        self.depth -= 1;
    }

    fn below(
        &mut self,
        restriction: Props<'_>,
        structure: Option<Props<'_>>,
        place: FieldPath,
        path: &FieldPath,
    ) {
        match structure {
            Some(props) => self.restriction(restriction, Structure { props, path: place }, path),
            None => {
                let why = format!("because it is defined in {path}");
                self.errors.push(FieldError::required(&place, &why));
            }
        }
    }
}
