//! Sockets, HTTP/1.1, HTTP/2 and WebSocket, draining on shutdown.
