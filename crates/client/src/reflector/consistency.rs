//! Compares a streamed state with a list of the same version.

use std::{collections::BTreeMap, sync::Arc};

use super::{Reflector, error::ReflectorError, streaming_list::Streamed};
use crate::{
    ObjectKey, Pager, PagerSettings, SourceError, Version,
    lister_watcher::Freshness,
    pager::{ListedObject, OnExpired, PagedPart},
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
        let settings = PagerSettings {
            freshness: Freshness::Exactly(version.clone()),
            page_objects: None,
            on_expired: OnExpired::Fail,
        };
        let mut pager = Pager::new(Arc::clone(&self.source), settings);
        let listed = comparison.strike_all(&mut pager).await;
        self.reporter.lists_begun(pager.pages_begun());
        listed.map(|()| comparison.differences + comparison.unlisted.len())
    }
}

impl Comparison<'_> {
    async fn strike_all(&mut self, pager: &mut Pager) -> Result<(), SourceError> {
        while let Some(part) = pager.next().await {
            if let PagedPart::Items(items) = part? {
                self.strike(&items);
            }
        }
        Ok(())
    }

    fn strike(&mut self, items: &[ListedObject]) {
        for item in items.iter().flatten() {
            match self.unlisted.remove(&item.key) {
                Some(Some(version)) if *version != item.version => self.differences += 1,
                Some(_) => {}
                None => self.differences += 1,
            }
        }
    }
}
