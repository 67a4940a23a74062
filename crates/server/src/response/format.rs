//! How one request wants its objects, and objects made so.

mod conversion;

use std::{borrow::Cow, sync::Arc};

use bytes::Bytes;
use jiff::Timestamp;
use listwatch_api::{
    EventType, ResourceVersion, Status,
    cbor::{self, ListFrame},
    media_type::{IncludeObject, MetaVersion, Transform},
    object::{Header, StoredObject, to_canonical},
    protobuf,
};
use listwatch_store::Revision;
use serde_json::json;

use super::{
    cbor_items::{self, CborItems, Encodings, Standing},
    kept_messages::KeptMessages,
    messages::{self, Messages},
    partial_metadata::{self, ListMetadata, PartialList},
    table::{ColumnDefinitions, Printer, RowObject, Table, TableList},
};
use crate::{
    registry::{Conversion, Definition, Registry},
    watch_cache::{CachedObject, EncodingId, resource_version},
};

/// Turns the stored objects of one kind into what one request wants.
#[derive(Clone)]
pub(crate) struct Format {
    definition: Arc<Definition>,
    shape: Shape,
    converter: Converter,
    syntax: Syntax,
}

/// What lists and events are written in.
#[derive(Clone)]
enum Syntax {
    /// JSON, which also becomes what is neither.
    Json,
    Protobuf(Arc<Messages>),
    Cbor(Arc<CborItems>),
}

/// What is shown of an object, and by whom.
#[derive(Clone)]
enum Shape {
    Whole,
    Partial(MetaVersion),
    Row {
        version: MetaVersion,
        include: IncludeObject,
        printer: Arc<Printer>,
    },
}

/// Turns stored objects into the version that a request speaks.
#[derive(Clone)]
pub(crate) struct Converter {
    registry: Arc<Registry>,
    conversion: Conversion,
    /// What all objects of a custom kind are given with, and the rules that show them.
    custom: Option<Arc<CustomHeader>>,
}

struct CustomHeader {
    definition: Arc<Definition>,
    members: Box<[u8]>,
}

/// What a bookmark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bookmark {
    /// Everything up to here has been sent.
    Progress,
    /// The state has been sent; what follows are changes.
    InitialEventsEnd,
}

/// A list that is being written, item by item.
pub(crate) enum ListWriter {
    Objects {
        converter: Converter,
        separator: &'static [u8],
        /// What follows the last item.
        end: Vec<u8>,
    },
    Partial(PartialList),
    Messages {
        format: Format,
        messages: Arc<Messages>,
        end: &'static [u8],
    },
    Items {
        format: Format,
        items: Arc<CborItems>,
        end: Vec<u8>,
    },
    Rows {
        converter: Converter,
        table: TableList,
    },
}

impl Format {
    /// The format of this kind's objects.
    pub(crate) fn new(
        registry: &Arc<Registry>,
        definition: &Arc<Definition>,
        transform: Transform,
    ) -> Self {
        let shape = match transform {
            Transform::None => Shape::Whole,
            Transform::PartialObjectMetadata { version } => Shape::Partial(version),
            Transform::Table { version, include } => Shape::Row {
                version,
                include,
                printer: match &definition.custom {
                    Some(custom) => Arc::new(Printer::for_custom_resource(&custom.printer_columns)),
                    None => Printer::for_resource(&definition.group, &definition.resource),
                },
            },
        };
        let registry = Arc::clone(registry);
        let converter = Converter {
            registry,
            conversion: definition.conversion,
            custom: CustomHeader::of(definition).map(Arc::new),
        };
        Self {
            definition: Arc::clone(definition),
            shape,
            converter,
            syntax: Syntax::Json,
        }
    }

    /// The same for lists and events in protobuf; `None` if there is no such form.
    pub(crate) fn in_protobuf(self, kept: &Arc<KeptMessages>) -> Option<Self> {
        let definition = &self.definition;
        let registry = Arc::clone(&self.converter.registry);
        let (type_id, api_version, kinds) = match &self.shape {
            Shape::Whole => {
                let kinds = [&*definition.kind, &*definition.list_kind];
                (definition.schema?, definition.api_version(), kinds)
            }
            Shape::Partial(version) => {
                let kinds = ["PartialObjectMetadata", "PartialObjectMetadataList"];
                let api_version = version.api_version();
                let type_id = registry.type_of(api_version, kinds[0])?;
                (type_id, api_version.to_owned(), kinds)
            }
            Shape::Row { .. } => return None,
        };
        let [kind, list_kind] = kinds.map(str::to_owned);
        let messages = Messages {
            registry,
            type_id,
            api_version,
            kind,
            list_kind,
            kept: Arc::clone(kept),
            encoding: EncodingId::new(self.json_encoding()? + PROTOBUF_ENCODINGS),
        };
        let syntax = Syntax::Protobuf(Arc::new(messages));
        Some(Self { syntax, ..self })
    }

    /// The same for lists and events in CBOR.
    pub(crate) fn in_cbor(self, kept: &Arc<KeptMessages>) -> Self {
        let type_id = match &self.shape {
            Shape::Whole => self.definition.schema,
            Shape::Partial(_) | Shape::Row { .. } => None,
        };
        let encodings = self.json_encoding().map(|number| Encodings {
            alone: EncodingId::new(number + CBOR_OBJECT_ENCODINGS),
            in_list: EncodingId::new(number + CBOR_ITEM_ENCODINGS),
        });
        let items = CborItems {
            registry: Arc::clone(&self.converter.registry),
            type_id,
            kept: Arc::clone(kept),
            encodings,
        };
        let syntax = Syntax::Cbor(Arc::new(items));
        Self { syntax, ..self }
    }

    /// The format of the scales of this kind's objects.
    pub(crate) fn for_scale(&self) -> Self {
        let converter = Converter {
            conversion: Conversion::None,
            custom: None,
            ..self.converter.clone()
        };
        let shape = match &self.shape {
            Shape::Row {
                version, include, ..
            } => Shape::Row {
                version: *version,
                include: *include,
                printer: Printer::for_scale(),
            },
            other => other.clone(),
        };
        Self {
            shape,
            converter,
            ..self.clone()
        }
    }

    /// Which frames are the same bytes as this format's; `None` for rows, which tell an age.
    pub(crate) fn encoding(&self) -> Option<EncodingId> {
        match &self.syntax {
            Syntax::Json => self.json_encoding().map(EncodingId::new),
            Syntax::Protobuf(messages) => Some(messages.encoding),
            Syntax::Cbor(items) => items.encodings.map(|encodings| encodings.alone),
        }
    }

    fn json_encoding(&self) -> Option<u64> {
        let conversion = match self.definition.conversion {
            Conversion::None => 0,
            Conversion::EventsV1 => 1,
            Conversion::AutoscalingV1 => 2,
        };
        let shape = match self.shape {
            Shape::Whole => 0,
            Shape::Partial(MetaVersion::V1) => 1,
            Shape::Partial(MetaVersion::V1Beta1) => 2,
            Shape::Row { .. } => return None,
        };
        if let Some(custom) = &self.definition.custom {
            // Versions of a custom kind, and states of its definition, share no frames.
            return Some((custom.identity() << 2 | shape) % CUSTOM_ENCODINGS + CUSTOM_ENCODINGS);
        }
        Some(conversion * 3 + shape)
    }

    /// An object as it is, as a document in protobuf or CBOR; `None` where there is no such form.
    pub(crate) fn kept_body(&self, object: &CachedObject) -> Option<Vec<u8>> {
        match &self.syntax {
            Syntax::Json => None,
            Syntax::Protobuf(messages) => messages.kept_body(self, object).ok(),
            Syntax::Cbor(items) => {
                let item = items.item(self, object, Standing::Alone)?;
                Some(cbor::document(&item))
            }
        }
    }

    /// What lists and events are made of when they are protobuf.
    pub(super) fn messages(&self) -> Option<&Arc<Messages>> {
        match &self.syntax {
            Syntax::Protobuf(messages) => Some(messages),
            Syntax::Json | Syntax::Cbor(_) => None,
        }
    }

    /// What lists are made of when they are CBOR; `None` for tables, which are made whole.
    pub(super) fn cbor_items(&self) -> Option<&Arc<CborItems>> {
        match &self.syntax {
            Syntax::Cbor(items) if items.encodings.is_some() => Some(items),
            Syntax::Json | Syntax::Protobuf(_) | Syntax::Cbor(_) => None,
        }
    }

    /// Begins a list of so many items in CBOR.
    pub(super) fn begin_cbor_list(
        &self,
        items: Arc<CborItems>,
        (metadata, count): (&ListMetadata<'_>, usize),
        buffer: &mut Vec<u8>,
    ) -> ListWriter {
        let mut json = Vec::new();
        let api_version = self.definition.api_version();
        let named = match &self.shape {
            Shape::Partial(version) => (version.api_version(), "PartialObjectMetadataList"),
            Shape::Whole | Shape::Row { .. } => (&*api_version, &*self.definition.list_kind),
        };
        match (&self.shape, &self.definition.custom) {
            (Shape::Whole, Some(_)) => metadata.append_sorted(&mut json),
            _ => metadata.append(&mut json),
        }
        let frame = ListFrame::new(named, &json, count).expect("metadata of lists is JSON");
        buffer.extend(frame.before);
        ListWriter::Items {
            format: self.clone(),
            items,
            end: frame.after,
        }
    }

    /// A document of any type that is served, from JSON to protobuf.
    pub(crate) fn protobuf_document(&self, json: &[u8]) -> Result<Vec<u8>, Status> {
        messages::document(&self.converter.registry, json)
    }

    /// A document of any type, from JSON to CBOR.
    pub(crate) fn cbor_document(&self, json: &[u8]) -> Result<Vec<u8>, Status> {
        cbor_items::document(&self.converter.registry, json)
    }

    /// Appends one object as JSON, as it stands in lists.
    pub(super) fn json_item(
        &self,
        object: &StoredObject,
        version: ResourceVersion,
        buffer: &mut Vec<u8>,
    ) {
        match &self.shape {
            Shape::Whole => self.converter.append_item(object, version, buffer),
            Shape::Partial(_) | Shape::Row { .. } => self.json_object(object, version, buffer),
        }
    }

    /// Appends one object as JSON, as it stands in events.
    pub(super) fn json_object(
        &self,
        object: &StoredObject,
        version: ResourceVersion,
        buffer: &mut Vec<u8>,
    ) {
        let row = (ColumnDefinitions::Omitted, Timestamp::UNIX_EPOCH);
        self.row_or_object(object, version, row, buffer);
    }

    /// Appends one object as a JSON document of its own.
    pub(crate) fn object(
        &self,
        object: &StoredObject,
        version: ResourceVersion,
        now: Timestamp,
        buffer: &mut Vec<u8>,
    ) {
        self.row_or_object(object, version, (ColumnDefinitions::Included, now), buffer);
    }

    /// Appends one object that has no version, because a dry run did not store it.
    pub(crate) fn unstored_object(
        &self,
        object: &StoredObject,
        now: Timestamp,
        buffer: &mut Vec<u8>,
    ) {
        match (&self.shape, &self.converter.custom) {
            (Shape::Whole, None) => {
                buffer.extend_from_slice(self.converter.served(object, None).value());
            }
            (Shape::Whole, Some(custom)) => object.append_unversioned(&custom.members, buffer),
            _ => self.object(object, ResourceVersion::new(0), now, buffer),
        }
    }

    fn row_or_object(
        &self,
        object: &StoredObject,
        version: ResourceVersion,
        (columns, now): (ColumnDefinitions, Timestamp),
        buffer: &mut Vec<u8>,
    ) {
        let object = self.converter.served(object, Some(version));
        self.served(&object, version, (columns, now), buffer);
    }

    /// Appends an object that is in the served version already.
    fn served(
        &self,
        object: &StoredObject,
        version: ResourceVersion,
        (columns, now): (ColumnDefinitions, Timestamp),
        buffer: &mut Vec<u8>,
    ) {
        match &self.shape {
            Shape::Whole => object.append(self.converter.header(), version, buffer),
            Shape::Partial(meta) => partial_metadata::append_object(*meta, object, version, buffer),
            Shape::Row {
                version: meta,
                include,
                printer,
            } => {
                let table = table(printer, (*meta, *include), (&self.converter, now));
                table.append_one(object, version, columns, buffer);
            }
        }
    }

    /// Appends the frame of one event.
    pub(crate) fn frame(
        &self,
        event_type: EventType,
        (object, version): (&StoredObject, ResourceVersion),
        (columns, now): (ColumnDefinitions, Timestamp),
        buffer: &mut Vec<u8>,
    ) {
        self.in_frame(event_type, buffer, |buffer| {
            self.row_or_object(object, version, (columns, now), buffer);
        });
    }

    /// Appends the frame of an event that shows an object as it is.
    pub(crate) fn state_frame(
        &self,
        object: &CachedObject,
        (columns, now): (ColumnDefinitions, Timestamp),
        buffer: &mut Vec<u8>,
    ) {
        let shown = (object.stored(), resource_version(object.revision()));
        match &self.syntax {
            Syntax::Json => self.frame(EventType::Added, shown, (columns, now), buffer),
            Syntax::Protobuf(messages) => {
                buffer.extend(messages.kept_frame(EventType::Added, self, object));
            }
            Syntax::Cbor(items) => match items.item(self, object, Standing::Alone) {
                Some(item) => buffer.extend(cbor::event(EventType::Added, &item)),
                None => self.frame(EventType::Added, shown, (columns, now), buffer),
            },
        }
    }

    /// Appends a frame with the object that `append` writes as JSON.
    fn in_frame(
        &self,
        event_type: EventType,
        buffer: &mut Vec<u8>,
        append: impl FnOnce(&mut Vec<u8>),
    ) {
        match &self.syntax {
            Syntax::Json => {
                begin_frame(event_type, buffer);
                append(buffer);
                buffer.extend_from_slice(FRAME_END);
            }
            Syntax::Protobuf(messages) => {
                let mut json = Vec::new();
                append(&mut json);
                buffer.extend(messages.frame(event_type, &json));
            }
            Syntax::Cbor(items) => {
                let mut json = Vec::new();
                append(&mut json);
                buffer.extend(items.frame(event_type, &json));
            }
        }
    }

    /// The frame that ends a stream with a `Status`.
    pub(crate) fn error_frame(&self, status: &Status) -> Bytes {
        match &self.syntax {
            Syntax::Json => {
                let status = serde_json::to_string(status).expect("a Status is JSON");
                format!("{{\"type\":\"ERROR\",\"object\":{status}}}\n").into()
            }
            Syntax::Protobuf(_) => messages::status_frame(status).into(),
            Syntax::Cbor(_) => cbor_items::status_frame(status).into(),
        }
    }

    /// Appends the frame of a bookmark: an object with nothing but its kind and a version.
    pub(crate) fn bookmark(
        &self,
        bookmark: Bookmark,
        version: ResourceVersion,
        (columns, now): (ColumnDefinitions, Timestamp),
        buffer: &mut Vec<u8>,
    ) {
        let metadata = match bookmark {
            Bookmark::Progress => json!({}),
            Bookmark::InitialEventsEnd => {
                json!({"annotations": {"k8s.io/initial-events-end": "true"}})
            }
        };
        let Definition { kind, .. } = &*self.definition;
        let api_version = self.definition.api_version();
        let object = json!({"kind": kind, "apiVersion": api_version, "metadata": metadata});
        let object = StoredObject::scan(to_canonical(&object).into(), &[])
            .expect("canonical bytes are what the scanner reads");
        self.in_frame(EventType::Bookmark, buffer, |buffer| {
            self.served(&object, version, (columns, now), buffer);
        });
    }

    /// The kind whose objects these are.
    pub(crate) fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Begins a list of a custom kind, whose members Kubernetes sorts by name.
    fn begin_custom_list(&self, metadata: &ListMetadata<'_>, buffer: &mut Vec<u8>) -> ListWriter {
        let Definition { list_kind, .. } = &*self.definition;
        let api_version = self.definition.api_version();
        buffer.extend_from_slice(format!(r#"{{"apiVersion":"{api_version}","items":["#).as_bytes());
        let mut end = format!(r#"],"kind":"{list_kind}","metadata":"#).into_bytes();
        metadata.append_sorted(&mut end);
        end.push(b'}');
        ListWriter::Objects {
            converter: self.converter.clone(),
            separator: b"",
            end,
        }
    }

    /// Begins a list: everything before the first item.
    pub(crate) fn begin_list(
        &self,
        metadata: &ListMetadata<'_>,
        now: Timestamp,
        buffer: &mut Vec<u8>,
    ) -> ListWriter {
        match &self.shape {
            Shape::Whole if self.definition.custom.is_some() => {
                self.begin_custom_list(metadata, buffer)
            }
            Shape::Whole => {
                let Definition { list_kind, .. } = &*self.definition;
                let api_version = self.definition.api_version();
                let head =
                    format!(r#"{{"kind":"{list_kind}","apiVersion":"{api_version}","metadata":"#);
                buffer.extend_from_slice(head.as_bytes());
                metadata.append(buffer);
                buffer.extend_from_slice(br#","items":["#);
                let converter = self.converter.clone();
                ListWriter::Objects {
                    converter,
                    separator: b"",
                    end: b"]}".to_vec(),
                }
            }
            Shape::Partial(version) => {
                ListWriter::Partial(PartialList::begin(*version, metadata, buffer))
            }
            Shape::Row {
                version,
                include,
                printer,
            } => {
                let table = table(printer, (*version, *include), (&self.converter, now));
                ListWriter::Rows {
                    converter: self.converter.clone(),
                    table: table.begin_list(metadata, buffer),
                }
            }
        }
    }
}

fn table(
    printer: &Arc<Printer>,
    (version, include): (MetaVersion, IncludeObject),
    (converter, now): (&Converter, Timestamp),
) -> Table {
    let row_object = match (include, &converter.custom) {
        (IncludeObject::None, _) => RowObject::None,
        (IncludeObject::Metadata, _) => RowObject::Metadata,
        (IncludeObject::Object, None) => RowObject::Whole,
        (IncludeObject::Object, Some(custom)) => {
            RowObject::WithHeader(custom.members.clone().into())
        }
    };
    Table {
        printer: Arc::clone(printer),
        version,
        row_object,
        now,
    }
}

/// Where the numbers of the encodings of custom kinds begin, of which there are as many. Others
/// are less.
const CUSTOM_ENCODINGS: u64 = 1 << 61;

/// What the number of an encoding grows by when it is protobuf: more than there are others.
const PROTOBUF_ENCODINGS: u64 = 1 << 32;

/// The same for objects and for items of lists in CBOR: more than there are others of any.
const CBOR_OBJECT_ENCODINGS: u64 = 1 << 62;
const CBOR_ITEM_ENCODINGS: u64 = 1 << 63;

/// What follows the object of a frame.
const FRAME_END: &[u8] = b"}\n";

fn begin_frame(event_type: EventType, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(br#"{"type":""#);
    buffer.extend_from_slice(event_type.as_str().as_bytes());
    buffer.extend_from_slice(br#"","object":"#);
}

impl CustomHeader {
    fn of(definition: &Arc<Definition>) -> Option<Self> {
        definition.custom.as_ref()?;
        let (api_version, kind) = (definition.api_version(), &definition.kind);
        let members = format!(r#""apiVersion":"{api_version}","kind":"{kind}""#);
        Some(Self {
            definition: Arc::clone(definition),
            members: members.into_bytes().into(),
        })
    }
}

impl Converter {
    /// What of kind and version objects are given with.
    fn header(&self) -> Header<'_> {
        match &self.custom {
            Some(custom) => Header::Replaced(&custom.members),
            None => Header::Stored,
        }
    }

    /// The same in a list, whose items say it only if they are custom.
    fn item_header(&self) -> Header<'_> {
        match &self.custom {
            Some(custom) => Header::Replaced(&custom.members),
            None => Header::Omitted,
        }
    }

    /// Appends an object in the version that the request speaks, as it stands in lists.
    fn append_item(&self, object: &StoredObject, version: ResourceVersion, buffer: &mut Vec<u8>) {
        let served = self.served(object, Some(version));
        served.append(self.item_header(), version, buffer);
    }

    /// The object in the version that the request speaks; a copy only where that differs. An
    /// object of a custom kind is the same in all versions but for its header, unless its rules
    /// have changed since it was written.
    fn served<'a>(
        &self,
        object: &'a StoredObject,
        version: Option<ResourceVersion>,
    ) -> Cow<'a, StoredObject> {
        if let Some(custom) = &self.custom {
            let written = Revision::new(version.map_or(u64::MAX, ResourceVersion::get));
            let custom = custom.definition.custom.as_ref();
            // What a webhook converts is shown so before it comes here.
            let custom = custom.filter(|custom| custom.webhook().is_none());
            let shown = custom.and_then(|custom| custom.shown(object, written));
            return shown.map_or(Cow::Borrowed(object), Cow::Owned);
        }
        if self.conversion == Conversion::None {
            return Cow::Borrowed(object);
        }
        let Ok(mut value) = serde_json::from_slice(object.value()) else {
            return Cow::Borrowed(object);
        };
        self.registry.to_served(self.conversion, &mut value);
        let converted = StoredObject::scan(to_canonical(&value).into(), &[]);
        Cow::Owned(converted.expect("canonical bytes are what the scanner reads"))
    }
}

impl ListWriter {
    /// Appends one item.
    pub(crate) fn item(&mut self, object: &CachedObject, buffer: &mut Vec<u8>) {
        let stored = object.stored();
        let version = resource_version(object.revision());
        match self {
            Self::Objects {
                converter,
                separator,
                ..
            } => {
                buffer.extend_from_slice(separator);
                *separator = b",";
                converter.append_item(stored, version, buffer);
            }
            Self::Partial(list) => list.item(stored, version, buffer),
            Self::Messages {
                format, messages, ..
            } => {
                let message = messages.message(format, object);
                let message = message.expect("it was written once, to know its length");
                buffer.extend(protobuf::item_head(message.len()));
                buffer.extend_from_slice(&message);
            }
            Self::Items { format, items, .. } => {
                let item = items.item(format, object, Standing::InList);
                buffer.extend_from_slice(&item.expect("rows are not written item by item"));
            }
            Self::Rows { converter, table } => {
                table.row(&converter.served(stored, Some(version)), version, buffer);
            }
        }
    }

    /// Appends everything after the last item.
    pub(crate) fn end(self, buffer: &mut Vec<u8>) {
        match self {
            Self::Objects { end, .. } => buffer.extend_from_slice(&end),
            Self::Partial(list) => list.end(buffer),
            Self::Messages { end, .. } => buffer.extend_from_slice(end),
            Self::Items { end, .. } => buffer.extend_from_slice(&end),
            Self::Rows { table, .. } => table.end(buffer),
        }
    }
}
