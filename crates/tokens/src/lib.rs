//! Tokens of service accounts: what they say, how they are signed, and how they are checked.
//!
//! JSON Web Tokens with ES256 signatures. Pure but for the making of a key: time comes in as a
//! parameter.

mod claims;
mod signing_key;
mod token;

pub use claims::{Account, BoundObject, Claims, Named};
pub use signing_key::{KeyError, SigningKey};
pub use token::{TokenError, issue, verify};
