//! Where a server is and how to get in.

use std::{
    fmt::Write,
    net::{SocketAddr, ToSocketAddrs},
};

use anyhow::{Context, Result, bail};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::{TlsConnector, rustls::pki_types::ServerName};

use super::{
    connection::{Connection, Stream},
    http2::Multiplexed,
    template::Template,
    tls::{self, Identity, Protocol, Trust},
};

/// A receive buffer that fills up at once, for a client that stalls.
const STALLED_BUFFER_BYTES: u32 = 4 * 1024;

/// A server that speaks the Kubernetes API. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Endpoint {
    address: SocketAddr,
    host: String,
    token: Option<String>,
    tls: Option<Connectors>,
}

/// What opens TLS connections.
#[derive(Clone)]
struct Connectors {
    http1: TlsConnector,
    http2: TlsConnector,
}

/// A client's side of the bargain.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Client {
    /// Reads what comes.
    Reading,
    /// Has little room for what comes, and will not read it.
    Stalled,
}

/// The body of a request and what it is called.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content<'text> {
    /// A whole object.
    Object(&'text str),
    /// What is to change of an object.
    MergePatch(&'text str),
    /// Nothing.
    None,
}

impl Endpoint {
    /// A server at `http://address`.
    pub(crate) fn plain(address: &str) -> Result<Self> {
        Self::new(&format!("http://{address}"), &Trust::Anyone, None)
    }

    /// A server at this URL, judged by `trust` when it speaks TLS.
    pub(crate) fn new(url: &str, trust: &Trust, identity: Option<&Identity>) -> Result<Self> {
        let url = url.trim_end_matches('/');
        let (authority, port, tls) = match url.split_once("://") {
            Some(("http", authority)) => (authority, 80, None),
            Some(("https", authority)) => {
                let connector = |protocol| tls::connector(trust, identity, protocol);
                let (http1, http2) = (connector(Protocol::Http1)?, connector(Protocol::Http2)?);
                (authority, 443, Some(Connectors { http1, http2 }))
            }
            Some(_) | None => bail!("{url} is no http or https URL"),
        };
        Ok(Self {
            address: resolve(authority, port)?,
            host: authority.to_owned(),
            token: None,
            tls,
        })
    }

    /// The same server, to which every request comes with a bearer token.
    pub(crate) fn with_token(self, token: &str) -> Self {
        Self {
            token: Some(token.trim().to_owned()),
            ..self
        }
    }

    /// A new connection.
    pub(crate) async fn connect(&self, client: Client) -> Result<Connection> {
        let socket = self.socket(client).await?;
        Ok(Connection::new(self.secure(socket, Protocol::Http1).await?))
    }

    /// A new connection that many requests share.
    pub(crate) async fn connect_multiplexed(&self) -> Result<Multiplexed> {
        let socket = self.socket(Client::Reading).await?;
        let stream = self.secure(socket, Protocol::Http2).await?;
        Multiplexed::begin(stream, self).await
    }

    /// The URL of a path, whole.
    pub(crate) fn url(&self, path: &str) -> String {
        let scheme = match self.tls {
            Some(_) => "https",
            None => "http",
        };
        format!("{scheme}://{}{path}", self.host)
    }

    /// What every request must carry.
    pub(crate) fn authorization(&self) -> Option<String> {
        Some(format!("Bearer {}", self.token.as_ref()?))
    }

    async fn socket(&self, client: Client) -> Result<TcpStream> {
        let socket = match self.address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        if let Client::Stalled = client {
            socket.set_recv_buffer_size(STALLED_BUFFER_BYTES)?;
        }
        let socket = socket.connect(self.address).await?;
        socket.set_nodelay(true)?;
        Ok(socket)
    }

    async fn secure(&self, socket: TcpStream, protocol: Protocol) -> Result<Stream> {
        let Some(connectors) = &self.tls else {
            return Ok(Stream::Plain(socket));
        };
        let connector = match protocol {
            Protocol::Http1 => &connectors.http1,
            Protocol::Http2 => &connectors.http2,
        };
        let name = self.host.rsplit_once(':').map_or(&*self.host, |it| it.0);
        let name = ServerName::try_from(name.trim_matches(['[', ']']).to_owned())?;
        let stream = connector.connect(name, socket).await?;
        Ok(Stream::Tls(Box::new(stream)))
    }

    /// A request as it goes over the wire, with places for numbers.
    pub(crate) fn request(&self, method: &str, path: &str, content: Content<'_>) -> Template {
        let mut text = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAccept: application/json\r\n",
            self.host
        );
        let mut field = |name: &str, value: &str| {
            let _ = write!(text, "{name}: {value}\r\n");
        };
        if let Some(authorization) = self.authorization() {
            field("Authorization", &authorization);
        }
        let (kind, body) = match content {
            Content::Object(body) => ("application/json", body),
            Content::MergePatch(body) => ("application/merge-patch+json", body),
            Content::None => return Template::new(&(text + "\r\n")),
        };
        field("Content-Type", kind);
        field("Content-Length", &body.len().to_string());
        Template::new(&format!("{text}\r\n{body}"))
    }

    /// A request without a body, ready to send.
    pub(crate) fn get(&self, path: &str) -> Vec<u8> {
        let mut request = Vec::new();
        self.request("GET", path, Content::None)
            .fill(0, 0, &mut request);
        request
    }
}

/// The address of a host, at this port unless it names one.
fn resolve(authority: &str, port: u16) -> Result<SocketAddr> {
    let named = authority.to_socket_addrs();
    let mut addresses = match named {
        Ok(addresses) => addresses,
        Err(_) => (authority, port).to_socket_addrs()?,
    };
    addresses
        .next()
        .with_context(|| format!("{authority} has no address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(template: &Template) -> String {
        let mut output = Vec::new();
        template.fill(5, 0, &mut output);
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn a_request_carries_its_token_and_the_length_of_its_body() {
        let endpoint = Endpoint::plain("127.0.0.1:80")
            .unwrap()
            .with_token("secret\n");
        let request = endpoint.request("POST", "/api/#NUMBER#", Content::Object("{\"a\":1}"));
        let request = text(&request);
        assert!(request.starts_with("POST /api/00000005 HTTP/1.1\r\nHost: 127.0.0.1:80\r\n"));
        assert!(request.contains("\r\nAuthorization: Bearer secret\r\n"));
        assert!(request.ends_with("\r\nContent-Length: 7\r\n\r\n{\"a\":1}"));
    }

    #[test]
    fn a_url_says_whether_there_is_tls() {
        let open = |url| Endpoint::new(url, &Trust::Anyone, None);
        assert!(open("https://127.0.0.1:6443/").unwrap().tls.is_some());
        assert!(open("http://127.0.0.1").unwrap().tls.is_none());
        assert!(open("127.0.0.1:80").is_err());
    }
}
