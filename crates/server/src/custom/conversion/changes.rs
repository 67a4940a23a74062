//! What is not stored yet, or not any more, as a version shows it: for those who write.

use std::{borrow::Cow, sync::Arc};

use listwatch_api::{
    Status,
    object::{Draft, Outline},
    write_options::DryRun,
};
use serde_json::Value;

use super::{Conversions, State, ask, version_in};
use crate::{
    commit::{Changed, Current, Outcome, metadata_text, object_key, parse},
    registry::Definition,
    request::ResourceRequest,
    response::Format,
};

impl Conversions {
    /// An object of a kind as this version of it shows it.
    pub(crate) async fn restated<'a>(
        &self,
        definition: &Definition,
        object: &'a Value,
    ) -> Result<Cow<'a, Value>, String> {
        let Some(webhook) = definition.conversion_webhook() else {
            return Ok(Cow::Borrowed(object));
        };
        if object["apiVersion"] == *definition.api_version() {
            return Ok(Cow::Borrowed(object));
        }
        let text = object.to_string();
        let server = self.server()?;
        let objects = [text.as_bytes()];
        let asked = ask(&server, webhook, definition, &objects);
        let answer = Box::pin(asked).await?.pop();
        let answer = answer.expect("as many objects came back as were sent");
        answer.map(Cow::Owned)
    }

    /// What a write in a version of a custom kind begins with; `None` if that is how it is stored.
    pub(crate) async fn begun(
        self: &Arc<Self>,
        definition: &Arc<Definition>,
        current: &Current,
    ) -> Result<Option<Current>, Status> {
        let Some(custom) = &definition.custom else {
            return Ok(None);
        };
        if custom.webhook().is_none() {
            return Ok(current.begun(custom));
        }
        let state = State {
            key: &current.key,
            revision: current.revision,
            stored: current.canonical(),
        };
        // Boxed, as below, so that writes of other kinds do not carry about the room for it.
        let shown = Box::pin(self.states(definition, &[state])).await?;
        let shown = shown.into_iter().next().flatten();
        Ok(shown.and_then(|shown| current.shown_as(shown)))
    }

    /// An object that is to be written, in the version in which its kind is stored.
    pub(crate) async fn to_stored(
        &self,
        definition: &Definition,
        draft: Draft,
    ) -> Result<Draft, Status> {
        let custom = definition.custom.as_ref();
        let Some(custom) = custom.filter(|it| it.webhook().is_some()) else {
            return Ok(draft);
        };
        let draft_version = draft.object["apiVersion"].as_str();
        if draft_version == Some(&*custom.stored_as) {
            return Ok(draft);
        }
        let stored_version = version_in(&custom.stored_as);
        Box::pin(self.convert_draft((definition, stored_version), draft)).await
    }

    async fn convert_draft(
        &self,
        (definition, stored_version): (&Definition, &str),
        draft: Draft,
    ) -> Result<Draft, Status> {
        let server = self.server().map_err(Status::service_unavailable)?;
        let kinds = server.registry.custom();
        let kind = kinds.kind(&definition.group, &definition.resource);
        let stored = kind.and_then(|kind| kind.in_version(stored_version));
        let stored = stored.ok_or_else(Status::unknown_resource)?;
        let object = parse(draft.encode().value());
        let converted = self.restated(stored, &object).await;
        let converted = converted.map_err(Status::unclassified)?;
        Ok(converted.into_owned().into())
    }

    /// What a write did, as its client is told.
    pub(crate) async fn told(
        self: &Arc<Self>,
        request: &ResourceRequest,
        format: &Format,
        changed: Changed,
        dry_run: DryRun,
    ) -> Result<Changed, Status> {
        if !format.awaits_conversion()
            || changed.object.api_version() == request.definition.api_version()
        {
            return Ok(changed);
        }
        Box::pin(self.convert_changed(request, changed, dry_run)).await
    }

    async fn convert_changed(
        self: &Arc<Self>,
        request: &ResourceRequest,
        mut changed: Changed,
        dry_run: DryRun,
    ) -> Result<Changed, Status> {
        let definition = &request.definition;
        let is_written = matches!(changed.outcome, Outcome::Created | Outcome::Updated);
        match changed
            .revision
            .filter(|_| is_written && dry_run == DryRun::Off)
        {
            Some(revision) => {
                let outline = Outline::of(&changed.object);
                let outline = outline.map_err(|error| Status::internal(&error.to_string()))?;
                let name = metadata_text(&outline.object, "name").unwrap_or_default();
                let state = State {
                    key: &object_key(definition, request.namespace.as_deref(), name),
                    revision,
                    stored: &changed.object,
                };
                let shown = self.states(definition, &[state]).await?;
                if let Some(shown) = shown.into_iter().next().flatten() {
                    changed.object = shown;
                }
            }
            None => {
                let object = changed.parse();
                let shown = self.restated(definition, &object).await;
                let shown = shown.map_err(Status::unclassified)?.into_owned();
                changed.object = Draft::from(shown).encode();
            }
        }
        Ok(changed)
    }
}
