//! Names of images.

/// Bytes that a tag may have.
const TAG_BYTES_MAX: usize = 128;

/// The tag that an image's name states or means; `None` where it states a digest, or is no name.
pub(super) fn tag(image: &str) -> Option<&str> {
    let (name, digest) = match image.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (image, None),
    };
    let (repository, tag) = match name.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => (repository, Some(tag)),
        _ => (name, None),
    };
    if !is_repository(repository) || !tag.is_none_or(is_tag) {
        return None;
    }
    match (tag, digest) {
        (None, None) => Some("latest"),
        (tag, _) => tag,
    }
}

fn is_repository(text: &str) -> bool {
    let mut parts = text.split('/');
    let first = parts.next().unwrap_or_default();
    let is_host = text.contains('/')
        && (first.contains(['.', ':']) || first == "localhost" || first.to_lowercase() != first);
    let is_bare_digest = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    !is_bare_digest && (is_host || is_component(first)) && parts.all(is_component)
}

fn is_component(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    ends.iter()
        .all(|end| end.is_some_and(|&byte| is_word(byte)))
        && bytes
            .iter()
            .all(|&byte| is_word(byte) || b"._-".contains(&byte))
}

fn is_tag(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = text.as_bytes();
    bytes.len() <= TAG_BYTES_MAX
        && bytes.first().is_some_and(|&first| is_word(first))
        && bytes
            .iter()
            .all(|&byte| is_word(byte) || b".-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_without_tag_or_digest_is_the_latest() {
        assert_eq!(tag("nginx"), Some("latest"));
        assert_eq!(tag("localhost:5000/team/nginx"), Some("latest"));
        assert_eq!(tag("registry.example.com/nginx:1.2"), Some("1.2"));
        assert_eq!(tag("nginx@sha256:0123"), None);
        assert_eq!(tag("nginx:1@sha256:0123"), Some("1"));
    }

    #[test]
    fn what_is_no_name_has_no_tag() {
        for image in [
            "",
            "NGINX",
            "nginx:",
            "a//b",
            " nginx",
            "nginx:a b",
            &"a".repeat(64),
        ] {
            assert_eq!(tag(image), None, "{image}");
        }
    }
}
