//! Compares a streamed state with a list of the same version.

use std::collections::BTreeMap;

use super::{Reflector, error::ReflectorError, streaming_list::Streamed};
use crate::{
    ObjectKey, RawObject, SourceError, Version,
    lister_watcher::{Freshness, ListOptions, ListPart, Unreadable},
};

/// What was streamed and has not been listed yet. An object that was set aside has no version.
struct Comparison<'a> {
    unlisted: BTreeMap<&'a ObjectKey, Option<&'a Version>>,
    differences: usize,
}

impl<T: Send + Sync + 'static> Reflector<T> {
    /// Fails if the two differ. A list that cannot be had proves nothing, and is only logged.
    pub(super) async fn compare(
        &self,
        streamed: &Streamed<T>,
        version: &Version,
    ) -> Result<(), ReflectorError> {
        let comparison = Comparison {
            unlisted: streamed.versions().collect(),
            differences: 0,
        };
        match self.differences(comparison, version).await {
            Ok(0) => Ok(()),
            Ok(differences) => Err(ReflectorError::Inconsistent {
                version: version.clone(),
                differences,
            }),
            Err(error) => {
                tracing::info!(%error, %version, "the streamed state cannot be compared");
                Ok(())
            }
        }
    }

    async fn differences(
        &self,
        mut comparison: Comparison<'_>,
        version: &Version,
    ) -> Result<usize, SourceError> {
        self.reporter.lists_begun(1);
        let options = ListOptions {
            freshness: Freshness::Exactly(version.clone()),
            limit: None,
            continue_token: None,
        };
        let mut stream = self.source.list(&options).await?;
        loop {
            match stream.next().await? {
                ListPart::Items(items) => comparison.strike(&items),
                ListPart::End(_) => return Ok(comparison.differences + comparison.unlisted.len()),
            }
        }
    }
}

impl Comparison<'_> {
    fn strike(&mut self, items: &[Result<RawObject, Unreadable>]) {
        for item in items.iter().flatten() {
            match self.unlisted.remove(&item.key) {
                Some(Some(version)) if *version != item.version => self.differences += 1,
                Some(_) => {}
                None => self.differences += 1,
            }
        }
    }
}
