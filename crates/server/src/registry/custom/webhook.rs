//! Who converts the objects of a custom kind from one version into another.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use listwatch_api::object::to_canonical;
use listwatch_structural::conversion_review::ReviewVersion;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::webhook_client::Target;

/// Questions to one webhook at a time. Further ones wait, each as long as it would for an answer.
const CALLS_MAX: usize = 16;

/// The webhook that converts the objects of one custom kind.
#[derive(Debug)]
pub struct ConversionWebhook {
    target: Result<Target, String>,
    review_version: Option<ReviewVersion>,
    fingerprint: u64,
    calls: Semaphore,
}

impl ConversionWebhook {
    /// Where it is, or why that is not known.
    pub(crate) fn target(&self) -> Result<&Target, &str> {
        self.target.as_ref().map_err(String::as_str)
    }

    /// How it wants to be asked; `None` if nobody here can.
    pub(crate) fn review_version(&self) -> Option<ReviewVersion> {
        self.review_version
    }

    /// Tells whether its conversions may be others: those of another webhook, or of objects that
    /// other schemas have filled in.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// The places of those who ask it.
    pub(crate) fn calls(&self) -> &Semaphore {
        &self.calls
    }
}

/// The webhook of a definition; the one before it where that says the same.
pub(super) fn read(
    spec: &Value,
    earlier: Option<&Arc<ConversionWebhook>>,
) -> Option<Arc<ConversionWebhook>> {
    let conversion = &spec["conversion"];
    if conversion["strategy"] != "Webhook" {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    to_canonical(conversion).hash(&mut hasher);
    for version in spec["versions"].as_array().into_iter().flatten() {
        to_canonical(&version["schema"]).hash(&mut hasher);
    }
    let fingerprint = hasher.finish();
    if let Some(same) = earlier.filter(|it| it.fingerprint == fingerprint) {
        return Some(Arc::clone(same));
    }
    let webhook = &conversion["webhook"];
    Some(Arc::new(ConversionWebhook {
        target: Target::read(&webhook["clientConfig"]),
        review_version: ReviewVersion::choose(&webhook["conversionReviewVersions"]),
        fingerprint,
        calls: Semaphore::new(CALLS_MAX),
    }))
}
