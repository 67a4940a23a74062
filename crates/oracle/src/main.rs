//! Runs scripts on client-go's informer and on ours, and looks for a difference nobody chose.
#![expect(clippy::print_stdout, reason = "a tool that talks to a person")]

mod client_go;
mod comparison;
mod differences;
mod generator;
mod log;
mod replay;
mod script;
mod shrink;
mod source;
mod trial;

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;

use crate::{client_go::ClientGo, comparison::Comparison, differences::Meaning, generator::Mood};

/// Compares our informer with client-go's, script by script.
#[derive(Debug, Parser)]
struct Arguments {
    /// Scripts, or folders of them. All of `conformance/informer_oracle/scripts` when there are
    /// neither these nor a seed.
    scripts: Vec<PathBuf>,
    /// The first seed of random scripts; the next ones follow it.
    #[arg(long)]
    seed: Option<u64>,
    /// How many random scripts.
    #[arg(long, default_value_t = 1)]
    count: u64,
    /// What random scripts keep to.
    #[arg(long, value_enum, default_value_t = Mood::Careful)]
    mood: Mood,
    /// The program of client-go's side, built by `cargo xtask tools informer_oracle`.
    #[arg(long, default_value = ".tools/informer_oracle")]
    client_go: PathBuf,
    /// Prints each script, and the logs of those in files.
    #[arg(long)]
    logs: bool,
}

const FOLDER: &str = "conformance/informer_oracle";

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(scripts) => {
            println!("{scripts} scripts: the informers agree");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Compares what is asked for, and says how many scripts that was.
fn run(arguments: &Arguments) -> Result<usize> {
    let listed = differences::read(&Path::new(FOLDER).join("differences.json"))?;
    let rules = listed.iter().filter_map(|meaning| match meaning {
        Meaning::Rule(rule) => Some(*rule),
        Meaning::Policy(_) => None,
    });
    let client_go = ClientGo::start(&arguments.client_go)?;
    let mut comparison = Comparison::new(client_go, rules.collect());
    if arguments.seed.is_none() && arguments.scripts.is_empty() {
        compare_all_written(&mut comparison)?;
        show_policies(&mut comparison, &listed)?;
    }
    for path in &arguments.scripts {
        for script in scripts_in(path)? {
            if arguments.logs {
                println!("{}", comparison.logs(&fs::read_to_string(&script)?)?);
            }
            compare_file(&mut comparison, &script)?;
        }
    }
    if let Some(first) = arguments.seed {
        for seed in first..first + arguments.count {
            compare_random(&mut comparison, seed, arguments)
                .with_context(|| format!("seed {seed}"))?;
        }
    }
    Ok(comparison.checked())
}

fn compare_random(comparison: &mut Comparison, seed: u64, arguments: &Arguments) -> Result<()> {
    let script = generator::generate(seed, arguments.mood);
    if arguments.logs {
        println!("{script}");
    }
    match arguments.mood {
        Mood::Careful => comparison.check(&script),
        Mood::Wild => comparison.check_end(&script),
    }
}

/// Compares the scripts written by hand, and looks whether each listed difference is still there.
fn compare_all_written(comparison: &mut Comparison) -> Result<()> {
    let mut scripts = Vec::new();
    for path in scripts_in(&Path::new(FOLDER).join("scripts"))? {
        compare_file(comparison, &path)?;
        scripts.push(fs::read_to_string(path)?);
    }
    let gone = comparison.unneeded_rules(&scripts)?;
    if !gone.is_empty() {
        bail!("no script shows these differences any more, so they must not be listed: {gone:?}");
    }
    Ok(())
}

/// Looks whether each policy that is listed shows in the script of its name, and no other has one.
fn show_policies(comparison: &mut Comparison, listed: &[Meaning]) -> Result<()> {
    let folder = Path::new(FOLDER).join("differences");
    for path in scripts_in(&folder)? {
        let stem = path.file_stem().and_then(OsStr::to_str);
        let name = stem.unwrap_or_default().to_owned();
        let is_listed = listed.contains(&Meaning::Policy(name.clone()));
        ensure!(is_listed, "differences.json does not list {name}");
    }
    for meaning in listed {
        if let Meaning::Policy(name) = meaning {
            let path = folder.join(format!("{name}.script"));
            let script = fs::read_to_string(&path);
            let script = script.with_context(|| format!("cannot read {}", path.display()))?;
            comparison
                .check_policy(&script)
                .with_context(|| path.display().to_string())?;
        }
    }
    Ok(())
}

fn compare_file(comparison: &mut Comparison, path: &Path) -> Result<()> {
    let name = path.display();
    let script = fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
    comparison.check(&script).with_context(|| name.to_string())
}

/// The script at this path, or all scripts of the folder in the order of their names.
fn scripts_in(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut scripts = Vec::new();
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        if path.extension() == Some(OsStr::new("script")) {
            scripts.push(path);
        }
    }
    scripts.sort();
    Ok(scripts)
}
