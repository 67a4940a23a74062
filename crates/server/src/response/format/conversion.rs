//! What a format needs to be converted before it shows it.

use super::{Format, Shape};
use crate::watch_cache::Interest;

impl Format {
    /// Whether objects have to be converted by a webhook before they are shown, where they are
    /// stored in another version. Of the metadata alone that is not asked.
    pub(crate) fn awaits_conversion(&self) -> bool {
        let is_converted = self.definition.conversion_webhook().is_some();
        is_converted && !matches!(self.shape, Shape::Partial(_))
    }

    /// Whether an interest can only be judged of objects that have been converted.
    pub(crate) fn judges_converted(&self, interest: &Interest) -> bool {
        if self.definition.conversion_webhook().is_none() {
            return false;
        }
        let mut fields = interest.fields.requirements().iter();
        fields.any(|it| !it.field.starts_with("metadata."))
            || (self.awaits_conversion() && !interest.labels.is_everything())
    }
}
