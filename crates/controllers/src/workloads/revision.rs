//! Tells templates apart by a short hash, which is part of names and labels.

use k8s_openapi::api::core::v1::PodTemplateSpec;

/// The label that says which template of its deployment a pod was made from.
pub(super) const POD_TEMPLATE_HASH: &str = "pod-template-hash";

/// The label that says which template of its set a pod was made from.
pub(super) const CONTROLLER_REVISION_HASH: &str = "controller-revision-hash";

/// No vowels, so that no words come of it, and nothing that looks like something else.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// A short name of a template. `collisions` makes another one of the same template.
pub(super) fn hash(template: &PodTemplateSpec, collisions: i32) -> String {
    let text = serde_json::to_string(template).expect("a template is made of text");
    let mut hash: u32 = 0x811c_9dc5;
    for byte in text.bytes().chain(collisions.to_be_bytes()) {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    let digits = hash.to_string();
    let letters = digits
        .bytes()
        .map(|digit| ALPHABET[usize::from(digit) % ALPHABET.len()]);
    letters.map(char::from).collect()
}

/// Whether two templates make the same pods. The hash that one of them carries does not count.
pub(super) fn is_same(one: &PodTemplateSpec, other: &PodTemplateSpec) -> bool {
    without_hash(one) == without_hash(other)
}

fn without_hash(template: &PodTemplateSpec) -> PodTemplateSpec {
    let mut template = template.clone();
    let metadata = template.metadata.get_or_insert_default();
    if let Some(labels) = &mut metadata.labels {
        labels.remove(POD_TEMPLATE_HASH);
    }
    metadata.labels = metadata.labels.take().filter(|labels| !labels.is_empty());
    metadata.creation_timestamp = None;
    template
}
