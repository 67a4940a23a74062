//! Fields that are words: names, choices, paths.

use listwatch_api::name;

use super::Field;

impl Field<'_, '_> {
    /// Demands a text, in no more words than that.
    pub(crate) fn need(&self) -> bool {
        self.need_because("")
    }

    /// Demands that the field is not empty; `detail` says why.
    pub(crate) fn need_because(&self, detail: &str) -> bool {
        if self.is_empty() {
            self.required(detail);
        }
        !self.is_empty()
    }

    /// Demands one of `supported`; nothing at all is not supported either.
    pub(crate) fn one_of(&self, supported: &[&str]) {
        if !supported.contains(&self.text()) {
            self.report(|path| {
                listwatch_api::FieldError::not_supported(path, self.text(), supported)
            });
        }
    }

    /// Demands one of `supported`, and says so of a missing one in other words.
    pub(crate) fn need_one_of(&self, supported: &[&str]) {
        if self.need() {
            self.one_of(supported);
        }
    }

    /// Checks the text with a function of [`listwatch_api::name`].
    pub(crate) fn named(&self, rule: fn(&str) -> Vec<String>) {
        for problem in rule(self.text()) {
            self.invalid_value(self.text(), &problem);
        }
    }

    /// Demands a text that passes `rule`.
    pub(crate) fn need_named(&self, rule: fn(&str) -> Vec<String>) {
        if self.need() {
            self.named(rule);
        }
    }

    /// Demands a DNS label.
    pub(crate) fn dns_label(&self) {
        self.named(name::check_dns_label);
    }

    /// Demands a DNS subdomain.
    pub(crate) fn dns_subdomain(&self) {
        self.named(name::check_dns_subdomain);
    }

    /// Demands a key of labels.
    pub(crate) fn qualified_name(&self) {
        self.named(name::check_qualified_name);
    }

    /// Demands that the value is still what it was `before`; absent and empty are the same.
    pub(crate) fn immutable(&self, before: Field<'_, '_>) {
        if self.value() != before.value() && !(self.is_empty() && before.is_empty()) {
            self.invalid(FIELD_IS_IMMUTABLE);
        }
    }

    /// Refuses a text with steps up, such as `a/../b`.
    pub(crate) fn no_backsteps(&self) {
        if self.text().split('/').any(|part| part == "..") {
            self.invalid("must not contain '..'");
        }
    }

    /// Demands a relative path that never leads out.
    pub(crate) fn relative_path(&self) {
        if self.text().starts_with('/') {
            self.invalid("must be a relative path");
        }
        self.no_backsteps();
    }
}

/// What is said of a field that must not change.
pub(crate) const FIELD_IS_IMMUTABLE: &str = "field is immutable";
