//! The pod that is written, as the load generator sends it, and the requests about it.

/// The namespace of all pods.
pub(crate) const NAMESPACE: &str = "bench-00000000";
/// Where its pods are.
pub(crate) const PODS: &str = "/api/v1/namespaces/bench-00000000/pods";

/// 4,000 bytes, with places for numbers.
const POD: &str = include_str!("../../pod.json");

/// The pod with this number, written for the so-manieth time.
pub(crate) fn pod(number: u64, repeat: u64) -> String {
    POD.trim_end()
        .replace("#NUMBER#", &digits(number))
        .replace("#GROUP##", &digits(0))
        .replace("#REPEAT#", &digits(repeat))
}

/// The same stored pod with another number.
pub(crate) fn renumbered(stored: &str, number: u64) -> String {
    stored
        .replace("pod-00000000", &format!("pod-{}", digits(number)))
        .replace("node-00000000", &format!("node-{}", digits(number)))
}

/// The same stored pod, written for the so-manieth time.
pub(crate) fn repeated(stored: &str, repeat: u64) -> String {
    stored.replace("seq@00000000", &format!("seq@{}", digits(repeat)))
}

/// Where a pod is.
pub(crate) fn path(number: u64) -> String {
    format!("{PODS}/pod-{}", digits(number))
}

/// A form of answers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    Json,
    Protobuf,
}

impl Form {
    fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }
}

/// A request without a body.
pub(crate) fn get(path: &str, form: Form) -> String {
    let accept = form.media_type();
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n\r\n")
}

/// A request with a body of this type.
pub(crate) fn request(method: &str, path: &str, (content_type, body): (&str, &str)) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n\
         Content-Type: {content_type}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn digits(number: u64) -> String {
    format!("{number:08}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_gets_a_number() {
        let text = pod(7, 3);
        assert_eq!(text.len(), 4_000);
        assert!(!text.contains('#'));
        assert_eq!(renumbered(&pod(0, 3), 7), text);
        assert_eq!(repeated(&pod(7, 0), 3), text);
    }
}
