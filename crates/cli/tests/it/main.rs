//! The command as its users run it: a real process, real sockets, real files.

#[cfg(test)]
mod cluster;
#[cfg(test)]
mod copy;
#[cfg(test)]
mod deploy;
#[cfg(test)]
mod kills;
#[cfg(test)]
mod many_watchers;
#[cfg(test)]
mod many_writers;
#[cfg(test)]
mod server;
#[cfg(test)]
mod watch;
