//! `listwatch copy`: moves all objects from one store into another.

mod engine;
mod entries;
mod error;
mod location;
mod marker;
mod patience;
mod progress;
mod sides;
mod start;
mod summary;
mod target;

use std::{io::Write, sync::Arc, time::Duration};

use anyhow::{Context, Result, bail};
use clap::value_parser;
use listwatch_store::Store;
use tokio::time::Instant;

use self::{
    engine::{Copied, Existing, Observed, Plan, Transfer},
    location::{Location, Place},
    progress::Manner,
    sides::{FromEtcd, ToEtcd},
    start::Found,
};

/// What `listwatch copy` may be told.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Where the objects are: data:DIR, the data directory of a server that is stopped, or
    /// etcd:URL,URL,...
    #[arg(long, value_name = "PLACE")]
    from: Location,

    /// Where they go: data:DIR, which is made if it is not there, or etcd:URL,URL,...
    #[arg(long, value_name = "PLACE")]
    to: Location,

    /// Copy into a target that holds objects already: those with the same key are replaced, the
    /// others stay
    #[arg(long)]
    merge: bool,

    /// Seconds that copied Event objects live
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    #[arg(value_parser = value_parser!(u64).range(1..))]
    event_ttl_seconds: u64,

    #[command(flatten)]
    from_etcd: FromEtcd,

    #[command(flatten)]
    to_etcd: ToEtcd,
}

const EXAMPLES: &str = "\
Examples:
  listwatch copy --from data:./listwatch-data --to etcd:http://h1:2379,http://h2:2379
  listwatch copy --from etcd:http://h1:2379 --to data:./backup
  listwatch copy --from data:./listwatch-data --to data:/srv/listwatch
  listwatch copy --from etcd:h1:2379 --to etcd:h1:2379 --to-etcd-prefix /test

Stop the servers of both places first. Servers that write to an etcd while it is copied lose nothing
up to the moment at which the copy ends, but what they write later is not in it.

The source is only read. The copies get resourceVersions after all of the source's, so that clients
notice that they must list again. A target that is not empty is refused. At the end both are
compared, byte for byte.

Interrupted? Run the same command again: it goes on where it was. Until it has finished, `listwatch
serve` refuses to serve the target.";

/// Copies until done, SIGTERM or Ctrl-C.
#[tokio::main]
pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let begun = Instant::now();
    let (from, to) = arguments.places()?;
    let (observed, manner) = (Observed::default(), Manner::of_standard_error());
    let ended = tokio::select! {
        copied = copy(&from, &to, &arguments, &observed) => Some(copied),
        stopped = crate::serve::stop_signal() => stopped.map(|()| None)?,
        never = progress::show(&observed, manner) => match never {},
    };
    manner.clear();
    let Some(copied) = ended else {
        bail!("stopped before the end; run the same command again to go on");
    };
    let next = to.serve_command();
    let text = summary::summary(&copied?, begun.elapsed(), &next);
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

async fn copy(
    from: &Place,
    to: &Place,
    arguments: &Arguments,
    observed: &Observed,
) -> Result<Copied> {
    if from.name() == to.name() {
        bail!("--from and --to are the same place");
    }
    let source = from.open_source().await;
    let source = source.with_context(|| format!("cannot copy from {}", from.name()))?;
    let target = open_target(&*source, to, observed).await;
    let (target, found) = target.with_context(|| format!("cannot copy to {}", to.name()))?;
    let plan = arguments.plan(from, to);
    let transfer = Transfer {
        source: &*source,
        target: &*target,
        plan: &plan,
        observed,
    };
    Ok(transfer.run(found.start(&plan)?).await?)
}

/// Opens the target, and lets it begin after the source if it can.
async fn open_target(
    source: &dyn Store,
    to: &Place,
    observed: &Observed,
) -> Result<(Arc<dyn Store>, Found)> {
    let mut target = to.open_target().await?;
    let mut found = Found::look(source, &*target, &observed.waiting).await?;
    if let Some(after) = found.should_begin_after() {
        drop(target);
        target = to.begin_after(after).await?;
        found = Found::look(source, &*target, &observed.waiting).await?;
    }
    Ok((target, found))
}

impl Arguments {
    fn places(&self) -> Result<(Place, Place)> {
        let prefix = &self.from_etcd.from_etcd_prefix;
        let from = Place::new(&self.from, prefix, &self.from_etcd.identity());
        let from = from.context("see the flags that begin with --from-etcd")?;
        let prefix = &self.to_etcd.to_etcd_prefix;
        let to = Place::new(&self.to, prefix, &self.to_etcd.identity());
        let to = to.context("see the flags that begin with --to-etcd")?;
        Ok((from, to))
    }

    fn plan(&self, from: &Place, to: &Place) -> Plan {
        let pages = [from, to].map(Place::page_entries_max);
        Plan {
            source_name: from.name(),
            run: format!("{:016x}", fastrand::u64(..)),
            existing: match self.merge {
                true => Existing::Merged,
                false => Existing::Refused,
            },
            event_lifetime: Duration::from_secs(self.event_ttl_seconds),
            commits: to.commit_bounds(),
            page_entries_max: pages.into_iter().min().unwrap_or(1),
        }
    }
}

/// Refuses to serve a store into which a copy was begun and not finished.
pub(crate) async fn refuse_unfinished(store: &dyn Store) -> Result<()> {
    if marker::is_unfinished(store).await? {
        bail!(
            "a copy into this place has not finished, so that objects are missing; run the same \
             `listwatch copy` again to finish it"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
