//! The formats that schemas may demand of texts and numbers (`format`).

use std::net::IpAddr;
use std::sync::LazyLock;

use listwatch_api::go_text;
use regex::Regex;

use crate::props::Props;

mod address;
mod numbered;
mod time;

/// A format that is known; others are ignored.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Int32,
    Int64,
    Float,
    Double,
    Text { kind: TextFormat, name: Box<str> },
}

/// A format of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextFormat {
    BsonObjectId,
    Uri,
    Email,
    Hostname,
    Ipv4,
    Ipv6,
    Cidr,
    Mac,
    Uuid,
    Uuid3,
    Uuid4,
    Uuid5,
    Isbn,
    Isbn10,
    Isbn13,
    CreditCard,
    Ssn,
    HexColor,
    RgbColor,
    Byte,
    Password,
    Date,
    Duration,
    DateTime,
    ShortName,
    LongName,
}

impl Format {
    /// The format that a schema demands, if it is known for its type.
    pub(crate) fn of(props: Props<'_>) -> Option<Self> {
        let type_name = match props.is_set("x-kubernetes-int-or-string") {
            true => "",
            false => props.type_name(),
        };
        Self::known(type_name, props.text("format"))
    }

    /// The format of this name for values of this type.
    pub(crate) fn known(type_name: &str, format: &str) -> Option<Self> {
        match (type_name, format) {
            (_, "") => None,
            ("" | "string", name) => TextFormat::named(name).map(|kind| Self::Text {
                kind,
                name: name.into(),
            }),
            ("integer", "int32") => Some(Self::Int32),
            ("integer", "int64") => Some(Self::Int64),
            ("number", "float") => Some(Self::Float),
            ("number", "double") => Some(Self::Double),
            _ => None,
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Float => "float",
            Self::Double => "double",
            Self::Text { name, .. } => name,
        }
    }

    /// Whether the text has this format. Formats of numbers accept all texts.
    pub(crate) fn accepts(&self, text: &str) -> bool {
        match self {
            Self::Text { kind, .. } => kind.accepts(text),
            Self::Int32 | Self::Int64 | Self::Float | Self::Double => true,
        }
    }
}

impl TextFormat {
    fn named(name: &str) -> Option<Self> {
        Some(match name.replace('-', "").as_str() {
            "bsonobjectid" => Self::BsonObjectId,
            "uri" => Self::Uri,
            "email" => Self::Email,
            "hostname" => Self::Hostname,
            "ipv4" => Self::Ipv4,
            "ipv6" => Self::Ipv6,
            "cidr" => Self::Cidr,
            "mac" => Self::Mac,
            "uuid" => Self::Uuid,
            "uuid3" => Self::Uuid3,
            "uuid4" => Self::Uuid4,
            "uuid5" => Self::Uuid5,
            "isbn" => Self::Isbn,
            "isbn10" => Self::Isbn10,
            "isbn13" => Self::Isbn13,
            "creditcard" => Self::CreditCard,
            "ssn" => Self::Ssn,
            "hexcolor" => Self::HexColor,
            "rgbcolor" => Self::RgbColor,
            "byte" => Self::Byte,
            "password" => Self::Password,
            "date" => Self::Date,
            "duration" => Self::Duration,
            "datetime" => Self::DateTime,
            "k8sshortname" => Self::ShortName,
            "k8slongname" => Self::LongName,
            _ => return None,
        })
    }

    pub(crate) fn accepts(self, text: &str) -> bool {
        match self {
            Self::BsonObjectId => text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit()),
            Self::Uri => address::is_request_uri(text),
            Self::Email => address::is_email(text),
            Self::Hostname => is_hostname(text),
            Self::Ipv4 => address::parse_ip(text).is_some() && text.contains('.'),
            Self::Ipv6 => text.contains(':') && text.parse::<IpAddr>().is_ok(),
            Self::Cidr => address::is_cidr(text),
            Self::Mac => address::is_mac(text),
            Self::Uuid => numbered::is_uuid(text, None),
            Self::Uuid3 => numbered::is_uuid(text, Some('3')),
            Self::Uuid4 => numbered::is_uuid(text, Some('4')),
            Self::Uuid5 => numbered::is_uuid(text, Some('5')),
            Self::Isbn => numbered::is_isbn10(text) || numbered::is_isbn13(text),
            Self::Isbn10 => numbered::is_isbn10(text),
            Self::Isbn13 => numbered::is_isbn13(text),
            Self::CreditCard => numbered::is_credit_card(text),
            Self::Ssn => text.len() == 11 && matches(&SSN, text),
            Self::HexColor => matches(&HEX_COLOR, text),
            Self::RgbColor => matches(&RGB_COLOR, text),
            Self::Byte => matches(&BASE64, text),
            Self::Password => true,
            Self::Date => time::is_date(text),
            Self::Duration => time::is_duration(text) || go_text::parse_duration(text).is_ok(),
            Self::DateTime => time::is_date_time(text),
            Self::ShortName => listwatch_api::name::check_dns_label(text).is_empty(),
            Self::LongName => listwatch_api::name::check_dns_subdomain(text).is_empty(),
        }
    }
}

type Lazy = LazyLock<Regex>;

static SSN: Lazy = Lazy::new(|| known(r"^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$"));
static HEX_COLOR: Lazy = Lazy::new(|| known("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"));
static RGB_COLOR: Lazy = Lazy::new(|| {
    let part = "(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])";
    let space = r"[\t\n\x0c\r ]*";
    let parts = format!("{space}{part}{space},{space}{part}{space},{space}{part}{space}");
    known(&format!(r"^rgb\({parts}\)$"))
});
static BASE64: Lazy = Lazy::new(|| {
    known("^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$")
});
static HOSTNAME: Lazy = Lazy::new(|| {
    let letter = r"[a-zA-Z0-9\p{S}\p{L}]";
    let inner = r"[a-zA-Z0-9\-\p{S}\p{L}]";
    let single = format!(r"{letter}((-?{letter}{{0,62}})?)");
    let dotted =
        format!(r"({letter}(({inner}{{0,61}}{letter})?)(\.)){{1,}}([a-zA-Z\p{{L}}]){{2,63}}");
    known(&format!("^({single}|{dotted})$"))
});

fn known(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is fixed and well formed")
}

fn matches(pattern: &Lazy, text: &str) -> bool {
    pattern.is_match(text)
}

fn is_hostname(text: &str) -> bool {
    HOSTNAME.is_match(text) && text.len() <= 255 && text.split('.').all(|label| label.len() <= 63)
}
