//! What containers would do, as far as their commands and images are plain: `sleep 5`,
//! `sh -c "exit 1"`, the image `pause`, which does nothing for ever, or any image with the tag
//! `non-existent`, which is not to be had.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, PodSpec};

/// How long a container takes whose command says nothing of it.
const USUAL: Duration = Duration::from_secs(1);

/// The tag of images that no node can get.
const MISSING_TAG: &str = "non-existent";

/// Whether the image of a container is not to be had.
pub(super) fn lacks_image(container: &Container) -> bool {
    let image = container.image.as_deref().unwrap_or_default();
    image
        .rsplit_once(':')
        .is_some_and(|(_, tag)| tag == MISSING_TAG)
}

/// How long the containers of a pod take; `None` if one of them never ends.
pub(super) fn duration(spec: &PodSpec) -> Option<Duration> {
    let containers = spec.containers.iter().map(container_duration);
    let longest = containers.collect::<Option<Vec<_>>>()?.into_iter().max();
    Some(longest.unwrap_or(USUAL))
}

/// The code with which the first container ends that does not end well.
pub(super) fn exit_code(spec: &PodSpec) -> i32 {
    let mut codes = spec.containers.iter().filter_map(container_code);
    codes.find(|code| *code != 0).unwrap_or_default()
}

fn words(container: &Container) -> Vec<&str> {
    let command = container.command.iter().flatten();
    let words = command.chain(container.args.iter().flatten());
    words.map(String::as_str).collect()
}

fn container_duration(container: &Container) -> Option<Duration> {
    match words(container).as_slice() {
        ["pause"] | ["sleep", "infinity"] => None,
        ["sleep", seconds] => Some(seconds.parse().map_or(USUAL, Duration::from_secs)),
        [] if is_pause(container.image.as_deref().unwrap_or_default()) => None,
        _ => Some(USUAL),
    }
}

/// Whether an image is called `pause`, whatever its registry and tag.
fn is_pause(image: &str) -> bool {
    let name = image.rsplit('/').next().unwrap_or_default();
    let name = name.split([':', '@']).next().unwrap_or_default();
    name == "pause"
}

fn container_code(container: &Container) -> Option<i32> {
    match words(container).as_slice() {
        ["sh" | "/bin/sh", "-c", script] => script.strip_prefix("exit ")?.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(image: &str, command: &[&str]) -> PodSpec {
        let command = command.iter().map(|word| (*word).to_owned());
        PodSpec {
            containers: vec![Container {
                image: Some(image.to_owned()),
                command: Some(command.collect()),
                ..Container::default()
            }],
            ..PodSpec::default()
        }
    }

    #[test]
    fn a_container_takes_as_long_as_its_command_says() {
        let seconds = |image: &str, command: &[&str]| {
            duration(&spec(image, command)).map(|duration| duration.as_secs())
        };
        assert_eq!(seconds("web", &[]), Some(1));
        assert_eq!(seconds("web", &["sleep", "7"]), Some(7));
        assert_eq!(seconds("web", &["sleep", "infinity"]), None);
        assert_eq!(seconds("registry:5000/pause:3", &[]), None);
        assert_eq!(seconds("registry:5000/pause:3", &["true"]), Some(1));
    }

    #[test]
    fn a_container_ends_with_the_code_of_its_command() {
        assert_eq!(exit_code(&spec("web", &["/bin/sh", "-c", "exit 3"])), 3);
        assert_eq!(exit_code(&spec("web", &["sh", "-c", "exit $RANDOM"])), 0);
        assert_eq!(exit_code(&spec("web", &[])), 0);
    }
}
