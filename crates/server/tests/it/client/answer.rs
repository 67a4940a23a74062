//! An answer, whole.

use bytes::Bytes;
use http::HeaderMap;
use serde_json::Value;

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    /// The document of an answer that must be 200.
    #[track_caller]
    pub(crate) fn ok(&self) -> Value {
        assert_eq!(self.code, 200, "{}", self.text());
        self.json()
    }

    /// The object of an answer that must be 201.
    #[track_caller]
    pub(crate) fn created(&self) -> Value {
        assert_eq!(self.code, 201, "{}", self.text());
        self.json()
    }

    /// The Status of an answer that must be a refusal with this code.
    #[track_caller]
    pub(crate) fn refused(&self, code: u16) -> Value {
        assert_eq!(self.code, code, "{}", self.text());
        let status = self.json();
        assert_eq!(status["kind"], "Status");
        assert_eq!(status["status"], "Failure");
        assert_eq!(status["code"], code);
        status
    }

    /// Asserts a refusal with this code and message.
    #[track_caller]
    pub(crate) fn says(&self, code: u16, message: &str) {
        assert_eq!(self.refused(code)["message"], message);
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header; empty when it is absent.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    /// The names of the items of a list.
    #[track_caller]
    pub(crate) fn item_names(&self) -> Vec<String> {
        names(&self.ok())
    }
}

/// The names of the items of a list.
#[track_caller]
pub(crate) fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().expect("a list has items");
    let name = |item: &Value| item["metadata"]["name"].as_str().unwrap().to_owned();
    items.iter().map(name).collect()
}

/// The resourceVersion of an object or a list.
#[track_caller]
pub(crate) fn version(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str();
    text.expect("it has a version").parse().unwrap()
}
