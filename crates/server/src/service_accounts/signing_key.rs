//! The key that signs tokens, kept in the store so that all servers on it have the same.

use listwatch_api::Status;
use listwatch_store::{Commit, CommitError, Condition, Key, KeyRange, Read, Store, Write};
use listwatch_tokens::SigningKey;

/// Where the key is kept. No kind is served from there.
const KEY: &str = "/registry/listwatch.io/signing-keys/service-accounts";

/// The key that is there, or a new one.
pub(super) async fn find_or_make(store: &dyn Store) -> Result<SigningKey, Status> {
    let unavailable = |error: &dyn ToString| Status::service_unavailable(error.to_string());
    if let Some(key) = find(store).await? {
        return Ok(key);
    }
    let made = SigningKey::generate().map_err(|error| unavailable(&error))?;
    let write = Write::put(made);
    match store
        .commit(Commit::one(Key::new(KEY), Condition::Absent, write))
        .await
    {
        // Another server was faster: its key is the one.
        Ok(_) | Err(CommitError::Conflict { .. }) => {}
        Err(error) => return Err(unavailable(&error)),
    }
    let found = find(store).await?;
    found.ok_or_else(|| Status::internal("the key that signs tokens went away"))
}

async fn find(store: &dyn Store) -> Result<Option<SigningKey>, Status> {
    let read = Read::newest(KeyRange::single(Key::new(KEY)));
    let page = store.read(read).await;
    let page = page.map_err(|error| Status::service_unavailable(error.to_string()))?;
    let Some(entry) = page.entries.into_iter().next() else {
        return Ok(None);
    };
    let key = SigningKey::read(&entry.value);
    key.map(Some)
        .map_err(|error| Status::internal(&format!("{KEY}: {error}")))
}
