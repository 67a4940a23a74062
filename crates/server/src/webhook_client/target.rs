//! Where a webhook is, as configurations state it.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde_json::Value;

use crate::{commit::object_key, server::Server};

/// The port of a service that names none.
const SERVICE_PORT: u16 = 443;

/// Where a webhook is, and whom to trust there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Target {
    place: Place,
    /// The path and the parameters, beginning with a slash.
    path: String,
    authorities: Option<Bytes>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Place {
    Host {
        name: String,
        port: u16,
        authority: String,
    },
    Service {
        namespace: String,
        name: String,
        port: u16,
    },
}

impl Target {
    /// The target in a `clientConfig`.
    pub(crate) fn read(config: &Value) -> Result<Self, String> {
        let bundle = config["caBundle"].as_str().filter(|text| !text.is_empty());
        let bundle = bundle.map(|text| STANDARD.decode(text)).transpose();
        let bundle = bundle.map_err(|error| format!("invalid caBundle: {error}"))?;
        let (place, path) = match config["url"].as_str() {
            Some(url) => read_url(url)?,
            None => read_service(&config["service"])?,
        };
        Ok(Self {
            place,
            path,
            authorities: bundle.map(Bytes::from),
        })
    }

    /// The whole address, with the seconds after which nobody waits for the answer any more.
    pub(crate) fn url_with_timeout(&self, seconds: u64) -> String {
        let (authority, path) = (self.authority(), &self.path);
        let separator = if path.contains('?') { '&' } else { '?' };
        format!("https://{authority}{path}{separator}timeout={seconds}s")
    }

    pub(super) fn authority(&self) -> String {
        match &self.place {
            Place::Host { authority, .. } => authority.clone(),
            Place::Service { port, .. } => format!("{}:{port}", self.server_name()),
        }
    }

    /// The name that the certificate must have.
    pub(super) fn server_name(&self) -> String {
        match &self.place {
            Place::Host { name, .. } => name.clone(),
            Place::Service {
                namespace, name, ..
            } => format!("{name}.{namespace}.svc"),
        }
    }

    pub(super) fn authorities(&self) -> Option<&[u8]> {
        self.authorities.as_deref()
    }

    /// The host and port to connect to.
    pub(super) fn resolve(&self, server: &Server) -> Result<(String, u16), String> {
        match &self.place {
            Place::Host { name, port, .. } => Ok((name.clone(), *port)),
            Place::Service {
                namespace,
                name,
                port,
            } => {
                let address = resolve_service(server, namespace, (name, *port))?;
                Ok((address, *port))
            }
        }
    }
}

fn read_url(url: &str) -> Result<(Place, String), String> {
    let rest = url
        .strip_prefix("https://")
        .ok_or_else(|| format!("{url:?} does not begin with https://"))?;
    let (authority, path) = match rest.find('/') {
        Some(place) => rest.split_at(place),
        None => (rest, "/"),
    };
    let (name, port) = match authority.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => {
            let port = port
                .parse()
                .map_err(|_| format!("{url:?} has a wrong port"))?;
            (name, port)
        }
        _ => (authority, SERVICE_PORT),
    };
    let name = name.trim_matches(['[', ']']).to_owned();
    let authority = authority.to_owned();
    let place = Place::Host {
        name,
        port,
        authority,
    };
    Ok((place, clean(path)))
}

/// A path without empty steps, which those who join parts of it leave behind.
fn clean(path: &str) -> String {
    let (path, parameters) = match path.find('?') {
        Some(place) => path.split_at(place),
        None => (path, ""),
    };
    let steps: Vec<&str> = path.split('/').filter(|step| !step.is_empty()).collect();
    format!("/{}{parameters}", steps.join("/"))
}

fn read_service(service: &Value) -> Result<(Place, String), String> {
    let text = |member: &str| service[member].as_str().unwrap_or_default().to_owned();
    if !service.is_object() {
        return Err("neither a url nor a service is stated".to_owned());
    }
    let port = service["port"]
        .as_u64()
        .and_then(|port| u16::try_from(port).ok());
    let place = Place::Service {
        namespace: text("namespace"),
        name: text("name"),
        port: port.unwrap_or(SERVICE_PORT),
    };
    let path = text("path");
    let path = match path.starts_with('/') {
        true => path,
        false => format!("/{path}"),
    };
    Ok((place, path))
}

/// The address of a service, or the host for which it stands.
fn resolve_service(
    server: &Server,
    namespace: &str,
    (name, port): (&str, u16),
) -> Result<String, String> {
    let missing = || format!("service {name:?} not found");
    let definition = server.registry.find("", "v1", "services");
    let definition = definition.expect("services are built in");
    let cache = server.cache(&definition).map_err(|_| missing())?;
    let key = object_key(&definition, Some(namespace), name);
    let cached = cache.cached(&key).ok_or_else(missing)?;
    let service: Value = crate::commit::parse(cached.stored().value());
    address_of(&service["spec"], (name, port))
}

fn address_of(spec: &Value, (name, port): (&str, u16)) -> Result<String, String> {
    let text = |member: &str| spec[member].as_str().unwrap_or_default().to_owned();
    if spec["type"] == "ExternalName" {
        return Ok(text("externalName"));
    }
    if spec["clusterIP"] == "None" {
        return Err("cannot route to service with ClusterIP \"None\"".to_owned());
    }
    let mut ports = spec["ports"].as_array().into_iter().flatten();
    match ports.any(|known| known["port"] == port) {
        true => Ok(text("clusterIP")),
        false => Err(format!("no service port {port} found for service {name:?}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        let url = |text: &str| Target::read(&json!({"url": text}));
        let target = url("https://example.com:8443/a?b=c").unwrap();
        assert_eq!(target.authority(), "example.com:8443");
        assert_eq!(target.server_name(), "example.com");
        let timed = target.url_with_timeout(5);
        assert_eq!(timed, "https://example.com:8443/a?b=c&timeout=5s");
        let plain = url("https://[::1]").unwrap();
        assert_eq!(plain.server_name(), "::1");
        assert_eq!(plain.url_with_timeout(1), "https://[::1]/?timeout=1s");
        assert!(url("http://example.com").is_err());
        assert!(url("https://example.com:x/").is_err());
    }

    #[test]
    fn a_service_is_named_as_in_a_cluster() {
        let config = json!({"service": {"namespace": "n", "name": "s", "path": "hook"}});
        let target = Target::read(&config).unwrap();
        assert_eq!(
            target.url_with_timeout(10),
            "https://s.n.svc:443/hook?timeout=10s"
        );
        assert!(Target::read(&json!({})).is_err());
        assert!(Target::read(&json!({"url": "https://a", "caBundle": "?"})).is_err());
    }

    #[test]
    fn a_service_is_reached_at_its_address_if_it_has_the_port() {
        let ports = json!([{"port": 443}]);
        let reached = |spec: Value, port| address_of(&spec, ("s", port));
        let usual = json!({"type": "ClusterIP", "clusterIP": "10.0.0.7", "ports": ports});
        assert_eq!(reached(usual.clone(), 443).unwrap(), "10.0.0.7");
        assert_eq!(
            reached(usual, 8443).unwrap_err(),
            "no service port 8443 found for service \"s\""
        );
        let headless = json!({"type": "ClusterIP", "clusterIP": "None", "ports": ports});
        assert_eq!(
            reached(headless, 443).unwrap_err(),
            "cannot route to service with ClusterIP \"None\""
        );
        let external = json!({"type": "ExternalName", "externalName": "x.com"});
        assert_eq!(reached(external, 8443).unwrap(), "x.com");
    }
}
