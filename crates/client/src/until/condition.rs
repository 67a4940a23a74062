//! What an object may be waited for to be.

use std::{fmt, sync::Arc};

use serde::Serialize;
use serde_json::Value;

use crate::{Object, Uid};

/// Something that an object is or is not. Its text says what, for error messages.
///
/// ```
/// # use listwatch::until::Condition;
/// # use serde_json::{Value, json};
/// let ready: Condition<Value> = Condition::status("Ready", "True");
/// let running = Condition::json("/status/phase", json!("Running"));
/// assert_eq!(running.and(ready).to_string(), "/status/phase=\"Running\" and Ready=True");
/// ```
pub struct Condition<T> {
    text: String,
    holds: Arc<Holds<T>>,
}

type Holds<T> = dyn Fn(Option<&Object<T>>) -> bool + Send + Sync;

impl<T: 'static> Condition<T> {
    /// A condition of one's own. It is asked with `None` when there is no such object.
    pub fn new(
        text: impl Into<String>,
        holds: impl Fn(Option<&Object<T>>) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            text: text.into(),
            holds: Arc::new(holds),
        }
    }

    /// The object is there.
    pub fn exists() -> Self {
        Self::new("existing", |object| object.is_some())
    }

    /// The object is not there.
    pub fn deleted() -> Self {
        Self::new("deleted", |object| object.is_none())
    }

    /// The object with this uid is not there: it is gone, or another has its name.
    pub fn deleted_or_replaced(uid: Uid) -> Self {
        Self::new("deleted or replaced", move |object| match object {
            Some(object) => object.uid.as_ref().is_some_and(|found| *found != uid),
            None => true,
        })
    }

    /// Both.
    pub fn and(self, other: Self) -> Self {
        let text = format!("{} and {}", self.text, other.text);
        Self::new(text, move |object| {
            self.holds(object) && other.holds(object)
        })
    }

    /// Either.
    pub fn or(self, other: Self) -> Self {
        let text = format!("({} or {})", self.text, other.text);
        Self::new(text, move |object| {
            self.holds(object) || other.holds(object)
        })
    }

    /// Not. An object that is not there may be this too.
    #[expect(clippy::should_implement_trait, reason = "reads like `and` and `or`")]
    pub fn not(self) -> Self {
        let text = format!("not {}", self.text);
        Self::new(text, move |object| !self.holds(object))
    }
}

impl<T: Serialize + 'static> Condition<T> {
    /// The object is there and has this value at a JSON pointer, such as `/status/phase`.
    pub fn json(pointer: impl Into<String>, expected: Value) -> Self {
        let pointer = pointer.into();
        let text = format!("{pointer}={expected}");
        Self::new(text, move |object| {
            let body = as_json(object);
            body.is_some_and(|body| body.pointer(&pointer) == Some(&expected))
        })
    }

    /// The object is there and says so itself, in `status.conditions`, of its present generation.
    pub fn status(type_: impl Into<String>, status: impl Into<String>) -> Self {
        let (type_, status) = (type_.into(), status.into());
        let text = format!("{type_}={status}");
        Self::new(text, move |object| {
            let body = as_json(object);
            body.is_some_and(|body| has_status(&body, &type_, &status))
        })
    }
}

fn as_json<T: Serialize>(object: Option<&Object<T>>) -> Option<Value> {
    serde_json::to_value(&object?.body).ok()
}

/// A condition that was observed of an older generation says nothing of this one.
fn has_status(body: &Value, type_: &str, status: &str) -> bool {
    let generation = &body["metadata"]["generation"];
    let conditions = body["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|condition| {
        let observed = condition
            .get("observedGeneration")
            .or_else(|| body["status"].get("observedGeneration"));
        let outdated = match (observed.and_then(Value::as_i64), generation.as_i64()) {
            (Some(observed), Some(generation)) => observed < generation,
            _ => false,
        };
        condition["type"] == type_ && condition["status"] == status && !outdated
    })
}

impl<T> Condition<T> {
    /// Whether it holds for this state of an object, or for its absence.
    pub fn holds(&self, object: Option<&Object<T>>) -> bool {
        (self.holds)(object)
    }
}

impl<T> fmt::Display for Condition<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(formatter)
    }
}

impl<T> fmt::Debug for Condition<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Condition({})", self.text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Labels;

    fn object(body: Value) -> Object<Value> {
        Object {
            key: "a".into(),
            version: 1.into(),
            uid: Uid::parse("one"),
            labels: Labels::default(),
            body,
        }
    }

    #[test]
    fn an_object_is_deleted_when_it_is_gone_or_another_has_its_name() {
        let deleted = |uid| Condition::deleted_or_replaced(Uid::parse(uid).unwrap());
        let found = object(json!({}));
        assert!(!deleted("one").holds(Some(&found)));
        assert!(deleted("two").holds(Some(&found)));
        assert!(deleted("one").holds(None));
        assert!(!Condition::deleted().holds(Some(&found)));
    }

    #[test]
    fn a_status_of_an_older_generation_does_not_count() {
        let ready = Condition::status("Ready", "True");
        let condition = json!({"type": "Ready", "status": "True"});
        let body = |generation, observed| {
            json!({
                "metadata": {"generation": generation},
                "status": {"observedGeneration": observed, "conditions": [condition]},
            })
        };
        assert!(ready.holds(Some(&object(body(2, 2)))));
        assert!(!ready.holds(Some(&object(body(3, 2)))));
        assert!(ready.holds(Some(&object(
            json!({"status": {"conditions": [condition]}})
        ))));
        assert!(!ready.holds(Some(&object(json!({})))));
        assert!(!ready.holds(None));
    }

    #[test]
    fn the_generation_that_a_single_condition_saw_counts_before_that_of_the_status() {
        let ready = Condition::status("Ready", "True");
        let condition = json!({"type": "Ready", "status": "True", "observedGeneration": 1});
        let body = json!({
            "metadata": {"generation": 2},
            "status": {"observedGeneration": 2, "conditions": [condition]},
        });
        assert!(!ready.holds(Some(&object(body))));
    }

    #[test]
    fn a_value_is_found_by_its_pointer() {
        let running = Condition::json("/status/phase", json!("Running"));
        assert!(running.holds(Some(&object(json!({"status": {"phase": "Running"}})))));
        assert!(!running.holds(Some(&object(json!({"status": {"phase": "Failed"}})))));
        assert!(!running.holds(None));
    }

    #[test]
    fn conditions_are_joined() {
        let found = object(json!({}));
        let exists = || Condition::<Value>::exists();
        assert!(exists().not().holds(None));
        assert!(exists().or(Condition::deleted()).holds(None));
        assert!(!exists().and(Condition::deleted()).holds(Some(&found)));
    }
}
