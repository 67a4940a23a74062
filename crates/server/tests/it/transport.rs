//! How bytes travel: chunks, HTTP/2 and WebSockets.

mod http1;
mod http2;
mod web_socket;
