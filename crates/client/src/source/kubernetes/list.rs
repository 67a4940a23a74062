//! A list as it arrives.

use std::sync::Arc;

use http_body_util::BodyExt;
use kube::client::Body;
use parking_lot::Mutex;

use super::{KubernetesSource, failure, request};
use crate::{
    SourceError,
    lister_watcher::{BoxFuture, ListOptions, ListPart, ListStream},
    wire::{LabelPool, ListParser},
};

struct List {
    body: Body,
    parser: ListParser,
    label_pool: Arc<Mutex<LabelPool>>,
}

pub(super) async fn begin(
    source: &KubernetesSource,
    options: &ListOptions,
) -> Result<Box<dyn ListStream>, SourceError> {
    let request = request::list(source.collection(), options);
    let response = request::send(source, request).await?;
    request::check_content_type(&response)?;
    Ok(Box::new(List {
        body: response.into_body(),
        parser: ListParser::default(),
        label_pool: Arc::clone(&source.label_pool),
    }))
}

impl List {
    async fn part(&mut self) -> Result<ListPart, SourceError> {
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|error| failure::of_connection(&error))?;
            let Ok(piece) = frame.into_data() else {
                continue;
            };
            let items = self.parser.push(piece, &mut self.label_pool.lock())?;
            if !items.is_empty() {
                return Ok(ListPart::Items(items));
            }
        }
        std::mem::take(&mut self.parser).finish().map(ListPart::End)
    }
}

impl ListStream for List {
    fn next(&mut self) -> BoxFuture<'_, Result<ListPart, SourceError>> {
        Box::pin(self.part())
    }
}
