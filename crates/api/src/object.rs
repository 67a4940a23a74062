//! Objects as they are kept: canonical JSON bytes, and the few places in them that matter.
//!
//! A stored object has no `resourceVersion`; the store's revision is it, and it is spliced in when
//! the object is given out. Lists and events are made of these bytes and never of a parsed tree.

mod canonical;
mod draft;
mod outline;
mod parts;
mod scanner;
mod stored;

pub use canonical::{append_escaped, is_text_of, to_canonical};
pub(crate) use canonical::{append_members, append_value, text_of};
pub use draft::Draft;
pub use outline::Outline;
pub use parts::{Elements, Members, unquote};
pub use stored::{Header, LayoutError, MemberPath, StoredObject};
