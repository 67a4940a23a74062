//! Which Kubernetes this server speaks.

use serde_json::json;

/// The Kubernetes minor version whose API is served.
const MINOR: &str = "37";
/// The oldest minor version that clients may count on.
const MINOR_COMPATIBLE: &str = "36";

/// The document at `/version`, indented as clients have always seen it.
pub(super) fn document() -> Vec<u8> {
    let document = json!({
        "major": "1",
        "minor": MINOR,
        "emulationMajor": "1",
        "emulationMinor": MINOR,
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": MINOR_COMPATIBLE,
        "gitVersion": concat!("v1.37.0+listwatch-", env!("CARGO_PKG_VERSION")),
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, architecture()),
    });
    serde_json::to_vec_pretty(&document).expect("this document is valid JSON")
}

/// The processor's name, as Go's tools know it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
