//! Addresses: of the network, of hardware, of mail and of the web.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An IP address; parts of an IPv4 address may begin with zeros.
pub(super) fn parse_ip(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        return text.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    let mut parts = text.split('.').map(|part| {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse::<u8>().ok()).flatten()
    });
    let octets = [
        parts.next()??,
        parts.next()??,
        parts.next()??,
        parts.next()??,
    ];
    parts
        .next()
        .is_none()
        .then(|| IpAddr::V4(Ipv4Addr::from(octets)))
}

pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let bits_max = match parse_ip(address) {
        Some(IpAddr::V4(_)) => 32,
        Some(IpAddr::V6(_)) => 128,
        None => return false,
    };
    let is_number = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
    is_number && bits.parse::<u32>().is_ok_and(|bits| bits <= bits_max)
}

/// 6, 8 or 20 bytes, with colons or dashes between bytes or dots between pairs.
pub(super) fn is_mac(text: &str) -> bool {
    let (separator, digits) = match text.as_bytes().get(2) {
        Some(b':') => (':', 2),
        Some(b'-') => ('-', 2),
        _ => ('.', 4),
    };
    let mut groups = 0;
    for group in text.split(separator) {
        if group.len() != digits || !group.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return false;
        }
        groups += 1;
    }
    matches!(groups * digits / 2, 6 | 8 | 20)
}

/// One mailbox, perhaps with a name before it: `Ann <ann@example.com>`.
pub(super) fn is_email(text: &str) -> bool {
    let text = text.trim();
    match text.strip_suffix('>').and_then(|text| text.split_once('<')) {
        Some((name, address)) => is_phrase(name.trim()) && is_mailbox(address),
        None => is_mailbox(text),
    }
}

fn is_phrase(text: &str) -> bool {
    let quoted = text.len() >= 2 && text.starts_with('"') && text.ends_with('"');
    let is_plain = |character: char| is_atom(character) || matches!(character, ' ' | '.');
    quoted || text.chars().all(is_plain)
}

fn is_atom(character: char) -> bool {
    character.is_alphanumeric()
        || !character.is_ascii()
        || "!#$%&'*+-/=?^_`{|}~".contains(character)
}

fn is_mailbox(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let is_dotted = |text: &str| {
        text.split('.')
            .all(|part| !part.is_empty() && part.chars().all(is_atom))
    };
    let quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    let literal = domain.starts_with('[') && domain.ends_with(']');
    (quoted || is_dotted(local)) && (literal || is_dotted(domain))
}

/// An absolute path or a URI with a scheme, as the first line of an HTTP request has.
pub(super) fn is_request_uri(text: &str) -> bool {
    if text == "*" {
        return true;
    }
    let is_control = |byte: u8| byte < b' ' || byte == 0x7f;
    if text.is_empty() || text.bytes().any(is_control) {
        return false;
    }
    let (scheme, rest) = split_scheme(text);
    let Some(rest) = rest else { return false };
    if !rest.starts_with('/') {
        return scheme.is_some();
    }
    let rest = rest.split('?').next().unwrap_or_default();
    match (scheme.is_some(), rest.strip_prefix("//")) {
        (true, Some(after)) => {
            let end = after.find('/').unwrap_or(after.len());
            is_authority(&after[..end]) && has_whole_escapes(&after[end..])
        }
        _ => has_whole_escapes(rest),
    }
}

/// The scheme, and what follows it; nothing when the text begins with a colon.
fn split_scheme(text: &str) -> (Option<&str>, Option<&str>) {
    for (place, character) in text.char_indices() {
        match character {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if place > 0 => {}
            ':' if place == 0 => return (None, None),
            ':' => return (Some(&text[..place]), Some(&text[place + 1..])),
            _ => break,
        }
    }
    (None, Some(text))
}

fn is_authority(text: &str) -> bool {
    let host = text.rsplit_once('@').map_or(text, |(_, host)| host);
    if host.contains([' ', '<', '>', '"', '{', '}', '|', '\\', '^', '`']) {
        return false;
    }
    let port = match host.strip_prefix('[') {
        Some(literal) => match literal.rsplit_once(']') {
            Some((_, after)) => after,
            None => return false,
        },
        None => host.find(':').map_or("", |colon| &host[colon..]),
    };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    has_whole_escapes(host) && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

/// Whether each percent sign is followed by two hexadecimal digits.
fn has_whole_escapes(text: &str) -> bool {
    text.split('%').skip(1).all(|part| {
        let mut bytes = part.bytes();
        let is_digit = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_hexdigit());
        is_digit(bytes.next()) && is_digit(bytes.next())
    })
}
