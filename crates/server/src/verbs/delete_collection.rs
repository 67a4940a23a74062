//! DELETE of a collection: everything selected goes, and the answer lists what it was.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use listwatch_api::Status;

use super::{delete, list, submitted};
use crate::{
    request::ResourceRequest,
    response::{self, Body},
    server::Server,
};

/// Deletes every object that the request selects, as of one snapshot.
pub(crate) async fn delete_collection(
    server: &Arc<Server>,
    request: &ResourceRequest,
    body: Bytes,
) -> Result<Response<Body>, Status> {
    let accept = response::negotiate_list(server, request)?;
    let options = submitted::delete_options(server, request, &body)?;
    let page = list::page(server, request, &accept.format).await?;
    for object in page.objects() {
        let one = request.for_object(object.namespace(), object.name());
        match delete::remove(server, &one, object.name(), &options).await {
            Ok(_) => {}
            Err(status) if status.code == Some(404) => {}
            Err(status) => return Err(status),
        }
    }
    accept.list(server, request, page).await
}
