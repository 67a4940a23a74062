//! 25 watches look on while ConfigMaps are created, updated twice and deleted.

use std::sync::Arc;

use anyhow::Result;

use super::{
    drive::{Driven, Limit, Load, drive_metered},
    endpoint::{Content, Endpoint},
    measure::{Bar, Unit},
    objects::{self, COLLECTION},
    stage::Stage,
    template::Template,
    watch::{Tally, Watches},
};

/// Watches that look on.
const WATCHES: u64 = 25;
/// Writes of each ConfigMap.
const STEPS: u64 = 4;
/// Connections at which it is held to its bars.
const CONNECTIONS_BARRED: usize = 1_000;

/// Measures.
pub(crate) async fn measure(stage: &mut Stage<'_>) -> Result<()> {
    objects::make_namespaces(&stage.running.endpoint).await?;
    for connections in stage.sizes.churn_connections.clone() {
        churn(stage, connections).await?;
    }
    Ok(())
}

async fn churn(stage: &mut Stage<'_>, connections: usize) -> Result<()> {
    let endpoint = stage.running.endpoint.clone();
    let objects = stage.sizes.churn;
    let tally = Tally::new(objects * STEPS);
    let mut open = Watches::new();
    open.open_resuming(&endpoint, &tally, (WATCHES, COLLECTION))
        .await?;
    let load = Load {
        steps: STEPS,
        ..Load::closed(connections, Limit::Turns(objects))
    };
    let (requests, sending) = (requests(&endpoint), Arc::clone(&tally));
    let driven = drive_metered(&stage.running, load, move |turn, request| {
        let mark = sending.sending(turn.number * STEPS + turn.step);
        requests[turn.step as usize].fill(turn.number, mark, request);
    });
    let (driven, meter) = driven.await?;
    let events = tally.reach(driven.granted * WATCHES).await;
    let spent = meter.stop()?;
    let rate = events as f64 / tally.last_event_after(driven.begun).as_secs_f64();
    let name = format!("churn over {connections} connections");
    let found = stage
        .findings
        .add(format!("{name}: events"), rate, Unit::PerSecond);
    let barred = connections == CONNECTIONS_BARRED;
    if barred {
        found.bar(Bar::Better(5.0));
    }
    note(stage, &name, &driven, (events, &tally));
    let measures = &mut stage.findings.measures;
    for measure in measures
        .iter_mut()
        .filter(|it| barred && it.scenario.starts_with(&name))
    {
        match measure.unit {
            Unit::Count => measure.bar(Bar::Below(1.0)),
            Unit::Percent => measure.bar(Bar::AtLeast(100.0)),
            _ => {}
        }
    }
    if let Some(refusal) = &driven.refusal {
        stage.note(format!(
            "{name}: the first write that failed got `{}`",
            refusal.trim()
        ));
    }
    if tally.ended() > 0 {
        stage.note(format!(
            "{name}: the server ended {} watches, which went on where they were",
            tally.ended()
        ));
    }
    stage.cpu(format!("{name}: CPU per write"), spent, driven.granted);
    Ok(())
}

fn note(stage: &mut Stage<'_>, name: &str, driven: &Driven, (events, tally): (u64, &Tally)) {
    let found = &mut stage.findings;
    let lag = |part| tally.latency.quantile(part);
    found.add(format!("{name}: writes"), driven.rate(), Unit::PerSecond);
    found.time(format!("{name}: p50 of the lag"), lag(0.5));
    found.time(format!("{name}: p99 of the lag"), lag(0.99));
    let failed = driven.failed as f64;
    found.add(format!("{name}: failed writes"), failed, Unit::Count);
    let delivered = 100.0 * events as f64 / (driven.granted * WATCHES).max(1) as f64;
    found.add(format!("{name}: delivered"), delivered, Unit::Percent);
}

/// Create, update, update, delete.
fn requests(endpoint: &Endpoint) -> [Template; STEPS as usize] {
    let body = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"churn-#NUMBER#"},
        "data":{"sequence":"seq@#REPEAT#","text":"as long as a setting or two may be"}}"#;
    let one = format!("{COLLECTION}/churn-#NUMBER#");
    let update = endpoint.request("PUT", &one, Content::Object(body));
    [
        endpoint.request("POST", COLLECTION, Content::Object(body)),
        update.clone(),
        update,
        endpoint.request("DELETE", &one, Content::None),
    ]
}
