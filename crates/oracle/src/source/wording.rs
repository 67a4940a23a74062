//! Requests as the log has them.

use listwatch::lister_watcher::{Freshness, ListOptions, WatchStart};

/// `list @7 limit 500`, or `page after TOKEN limit 500`.
pub(super) fn describe_list(options: &ListOptions) -> String {
    let mut text = match &options.continue_token {
        Some(token) => format!("page after {token}"),
        None => format!("list {}", describe(&options.freshness)),
    };
    if let Some(limit) = options.limit {
        text += &format!(" limit {limit}");
    }
    text
}

/// `watch @7`, or `watch-list newest`.
pub(super) fn describe_watch(start: &WatchStart) -> String {
    match start {
        WatchStart::After(version) => format!("watch @{version}"),
        WatchStart::InitialEvents(freshness) => format!("watch-list {}", describe(freshness)),
    }
}

fn describe(freshness: &Freshness) -> String {
    match freshness {
        Freshness::MostRecent => String::from("newest"),
        Freshness::Any => String::from("any"),
        Freshness::NotOlderThan(version) => format!("@{version}"),
        Freshness::Exactly(version) => format!("exactly @{version}"),
    }
}
