//! The part of a document that runs write, and the drawings beside it.

use std::{fmt::Write as _, io::ErrorKind, path::Path};

use anyhow::{Context, Result};

use super::{
    machine::Run,
    measure::Unit,
    plot::{self, Across, Drawing, Series},
    report::Section,
    results::{Results, create},
};

/// Where the part of the document begins and ends that is written here.
const BEGIN: &str = "<!-- servers: begin -->";
const END: &str = "<!-- servers: end -->";

/// Replaces the marked part of the document, the results beside it and the drawings.
pub(crate) fn write(results: &Results, file: &Path) -> Result<()> {
    results.write(&file.with_extension("json"))?;
    let document = match std::fs::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.with_context(|| format!("cannot read {}", file.display()))?,
    };
    let mut text = format!("{}\n\n{NOTES}\n\n{}", preface(results), bars(results));
    for section in &results.sections {
        let _ = writeln!(text, "\n{}", section.markdown().trim_end());
    }
    for drawing in Drawing::ALL {
        let series = series(results, drawing);
        let Some(picture) = plot::svg(drawing.title(), &series) else {
            continue;
        };
        create(&file.with_file_name(drawing.file()), &picture)?;
        let (title, name) = (drawing.title(), drawing.file());
        let _ = writeln!(text, "\n## {title}\n\n![{title}]({name})");
        let _ = write!(text, "\n{}", points(&series));
    }
    let _ = write!(text, "\n{}", cost(&results.sections));
    create(file, &replace(&document, &text))
}

/// Who used the processor.
pub(crate) fn cost(sections: &[Section]) -> String {
    let mut text = String::from(
        "## What the runs took\n\n\
         | group | server | took | CPU, server and store | CPU, etcd | CPU, load generator |\n\
         |---|---|---|---|---|---|\n",
    );
    for row in sections.iter().flat_map(Section::cost) {
        let _ = writeln!(text, "{row}");
    }
    text
}

/// On what, with what, when and by which commands.
fn preface(results: &Results) -> String {
    let runs = || results.sections.iter().map(|section| &section.run);
    let commands = distinct(runs().map(|run| format!("cargo xtask bench {}", run.command)));
    let each = |of: fn(&Run) -> String| distinct(runs().map(of)).join("; ");
    let mut text = format!("Made by\n\n```text\n{}\n```\n\n", commands.join("\n"));
    let _ = write!(
        text,
        "on {}: {}; load before it {}. {}.",
        each(|run| run.date.clone()),
        each(|run| run.machine.clone()),
        each(|run| run.load.clone()),
        each(Run::versions_text),
    );
    for note in distinct(runs().flat_map(|run| run.missing.iter().cloned())) {
        let _ = write!(text, " {note}");
    }
    text
}

fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for text in texts {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// Everything that something is expected of, in one table.
fn bars(results: &Results) -> String {
    let rows: Vec<String> = results.sections.iter().flat_map(Section::bars).collect();
    if rows.is_empty() {
        return String::new();
    }
    let head = "| what | ours | beside it | relation | wanted | |\n|---|---|---|---|---|---|";
    format!("## What is wanted\n\n{head}\n{}\n", rows.join("\n"))
}

/// The points of this drawing, by server.
fn series(results: &Results, drawing: Drawing) -> Vec<Series<'_>> {
    let mut all: Vec<Series<'_>> = Vec::new();
    let outcomes = results.sections.iter().flat_map(|it| &it.outcomes);
    for outcome in outcomes {
        let points = outcome.findings.points.iter();
        let points = points.filter(|point| point.drawing == drawing);
        match all.iter_mut().find(|it| it.name == outcome.name) {
            Some(one) => one.points.extend(points),
            None => all.push(Series {
                name: &outcome.name,
                points: points.collect(),
            }),
        }
    }
    all.retain(|one| !one.points.is_empty());
    all
}

/// The points of a drawing as a table: a row for each place, a column for each server.
fn points(series: &[Series<'_>]) -> String {
    let names: Vec<&str> = series.iter().map(|one| one.name).collect();
    let mut text = format!(
        "| | {} |\n|---|{}\n",
        names.join(" | "),
        "---|".repeat(names.len())
    );
    for panel in plot::panels(series) {
        let mut places: Vec<Across> = Vec::new();
        for point in series.iter().flat_map(|it| &it.points) {
            if point.panel == panel && !places.contains(&point.across) {
                places.push(point.across);
            }
        }
        for place in places {
            let cell = |one: &Series<'_>| {
                let mut points = one.points.iter();
                let found = points.find(|it| it.panel == panel && it.across == place);
                found.map_or(String::new(), |it| Unit::Seconds.text(it.seconds))
            };
            let cells: Vec<String> = series.iter().map(cell).collect();
            let _ = writeln!(
                text,
                "| {panel}: {} | {} |",
                place.text(),
                cells.join(" | ")
            );
        }
    }
    text
}

/// The document with its part replaced by this text; at its end if it has none yet.
fn replace(document: &str, text: &str) -> String {
    let part = format!("{BEGIN}\n{}\n{END}", text.trim());
    let before = document.split_once(BEGIN).map(|(before, _)| before);
    let after = document.split_once(END).map(|(_, after)| after);
    match (before, after) {
        (Some(before), Some(after)) => format!("{before}{part}{after}"),
        (_, _) => format!("{}\n\n{part}\n", document.trim_end()),
    }
}

/// What a reader must know to read the tables.
const NOTES: &str = "\
*ours* keeps its objects in the embedded store and syncs every write before it answers, as etcd \
does below kube-apiserver. kube-apiserver runs with its defaults and is asked by a member of \
`system:masters`, whom it does not limit. Each group of scenarios starts each server anew, ours \
then theirs, on the same machine, for the same requests. CPU and memory are those of the server \
and its store together, from `/proc`, with etcd's part in parentheses; the CPU of an event \
includes its share of the write. Where several rounds were made, the one in the middle is shown. \
kube-apiserver is spoken to over TLS and ours is not, since it has none yet: some of the distance \
is TLS. *times better* is more work or less cost.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_marked_part_of_a_document_is_replaced() {
        let first = replace("# Title\n", "one");
        let second = replace(&first, "two\n");
        assert!(first.contains("# Title\n\n<!-- servers: begin -->\none\n<!--"));
        assert_eq!(second, first.replace("one", "two"));
    }
}
