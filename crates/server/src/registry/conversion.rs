//! Kinds that are served in another form than they are stored in, both ways and without loss.

use serde_json::{Map, Value};

use super::decode::normalize;
use super::{Conversion, Registry};

mod autoscaling;
mod custom_definitions;
mod events;
mod metrics;

impl Registry {
    /// Turns an object of a served version into the form in which its kind is stored.
    pub fn to_stored(&self, conversion: Conversion, object: &mut Value) {
        let Value::Object(members) = object else {
            return;
        };
        match conversion {
            Conversion::None => {}
            Conversion::EventsV1 => {
                events::to_core(members);
                self.finish(members, "v1", "io.k8s.api.core.v1.Event");
            }
            Conversion::AutoscalingV1 => {
                autoscaling::to_second(members);
                let type_name = "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler";
                self.finish(members, "autoscaling/v2", type_name);
            }
        }
    }

    /// Turns an object that Kubernetes stores in a version that nobody serves any more into one
    /// of a served version. Others stay as they are.
    pub fn modernize(object: &mut Value) {
        let text = |member| object.get(member).and_then(Value::as_str);
        let is_old = (text("apiVersion"), text("kind"))
            == (
                Some(custom_definitions::OLD),
                Some("CustomResourceDefinition"),
            );
        if let Value::Object(members) = object
            && is_old
        {
            custom_definitions::to_first(members);
        }
    }

    /// Turns a stored object into the form of a served version.
    pub fn to_served(&self, conversion: Conversion, object: &mut Value) {
        let Value::Object(members) = object else {
            return;
        };
        match conversion {
            Conversion::None => {}
            Conversion::EventsV1 => {
                events::from_core(members);
                self.finish(members, "events.k8s.io/v1", "io.k8s.api.events.v1.Event");
            }
            Conversion::AutoscalingV1 => {
                autoscaling::to_first(members);
                let type_name = "io.k8s.api.autoscaling.v1.HorizontalPodAutoscaler";
                self.finish(members, "autoscaling/v1", type_name);
            }
        }
    }

    /// Names the version, and leaves empty values out or in as its type does.
    fn finish(&self, members: &mut Map<String, Value>, api_version: &str, type_name: &str) {
        members.insert("apiVersion".to_owned(), api_version.into());
        if let Some(type_id) = self.schema.find(type_name) {
            normalize(&self.schema, type_id, members);
        }
    }
}

#[cfg(test)]
mod tests;
