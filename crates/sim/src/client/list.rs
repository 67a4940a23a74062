//! Lists, page by page.

use listwatch_api::ResourceVersion;
use serde::Deserialize;
use serde_json::Value;

use super::{Client, Collection, RequestError, collection::push_query};

/// What of a collection to list.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// Only objects with these labels, such as `app=web,tier!=test`.
    pub label_selector: Option<String>,
    /// Only objects with these fields, such as `metadata.name=web`.
    pub field_selector: Option<String>,
    /// How new the answer has to be. Not sent with a continue token, which says so itself.
    pub freshness: Freshness,
    /// At most this many objects; the rest is got with [`Page::continue_token`].
    pub limit: Option<u32>,
    /// Goes on where the page that gave this token ended.
    pub continue_token: Option<String>,
}

/// How new an answer has to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// As new as everything acknowledged before.
    #[default]
    MostRecent,
    /// Whatever the server has at hand.
    Any,
    /// At this version or later.
    NotOlderThan(ResourceVersion),
    /// At exactly this version.
    Exactly(ResourceVersion),
}

/// One page of a list.
#[derive(Clone, Debug)]
pub struct Page {
    /// The version of the whole list.
    pub resource_version: String,
    /// The objects.
    pub items: Vec<Value>,
    /// The token for the next page; `None` when this is the last.
    pub continue_token: Option<String>,
    /// How many objects follow, when the server knows.
    pub remaining_item_count: Option<u64>,
}

impl Client {
    /// One page of a list; all of it when there is no limit.
    pub async fn list(
        &self,
        collection: &Collection,
        options: &ListOptions,
    ) -> Result<Page, RequestError> {
        let (resource_version, version_match) = match &options.continue_token {
            Some(_) => (None, None),
            None => options.freshness.parameters(),
        };
        let mut path = collection.path();
        push_query(
            &mut path,
            [
                ("labelSelector", options.label_selector.clone()),
                ("fieldSelector", options.field_selector.clone()),
                ("resourceVersion", resource_version),
                ("resourceVersionMatch", version_match),
                ("limit", options.limit.map(|limit| limit.to_string())),
                ("continue", options.continue_token.clone()),
            ],
        );
        let answer: ListAnswer = self.read(&path).await?;
        Ok(answer.into())
    }
}

impl Freshness {
    /// `resourceVersion` and `resourceVersionMatch`.
    pub(crate) fn parameters(self) -> (Option<String>, Option<String>) {
        let (version, version_match) = match self {
            Self::MostRecent => return (None, None),
            Self::Any => return (Some("0".to_owned()), None),
            Self::NotOlderThan(version) => (version, "NotOlderThan"),
            Self::Exactly(version) => (version, "Exact"),
        };
        (Some(version.to_string()), Some(version_match.to_owned()))
    }
}

#[derive(Deserialize)]
struct ListAnswer {
    metadata: ListMetadata,
    items: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMetadata {
    resource_version: String,
    #[serde(rename = "continue", default)]
    continue_token: String,
    remaining_item_count: Option<u64>,
}

impl From<ListAnswer> for Page {
    fn from(answer: ListAnswer) -> Self {
        let ListAnswer { metadata, items } = answer;
        let token = metadata.continue_token;
        Self {
            resource_version: metadata.resource_version,
            items,
            continue_token: (!token.is_empty()).then_some(token),
            remaining_item_count: metadata.remaining_item_count,
        }
    }
}
