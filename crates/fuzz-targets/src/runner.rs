//! Runs a target on its corpus and on mutations of it.

use std::{
    fmt, fs, io,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{Random, Target, mutate};

/// Time limit for one input. Inputs take milliseconds, so a longer time indicates superlinear complexity.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// What to run.
#[derive(Debug, Clone)]
pub struct Plan {
    pub iterations: u64,
    pub seed: u64,
    /// The folder to which failing inputs are written.
    pub failures: PathBuf,
    /// Writes every input before it is run, so that it is available if the process ends (stack overflow, out of memory).
    pub save_inputs: bool,
}

/// An input for which a property does not hold.
#[derive(Debug)]
pub struct Failure {
    target: &'static str,
    /// The file of the corpus, or the number of the mutation.
    origin: String,
    what: String,
    written_to: PathBuf,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, origin, what, written_to } = self;
        let path = written_to.display();
        write!(f, "{target}: {what}\n{origin}; the input is in {path}: add it to fuzz/corpus/{target}")
    }
}

/// # Errors
/// The first failing input.
///
/// # Panics
/// If the corpus cannot be read.
pub fn run(target: Target, corpus: &Path, plan: &Plan) -> Result<(), Failure> {
    let files = read(corpus).unwrap_or_else(|error| panic!("{}: {error}", corpus.display()));
    for (name, input) in &files {
        try_input(target, input, plan, || format!("corpus file {name}"))?;
    }
    let corpus: Vec<Vec<u8>> = files.into_iter().map(|(_, input)| input).collect();
    let mut random = Random::new(plan.seed);
    for iteration in 0..plan.iterations {
        let input = mutate(&mut random, &corpus);
        try_input(target, &input, plan, || format!("mutation {iteration} with FUZZ_SEED={}", plan.seed))?;
    }
    Ok(())
}

/// The files sorted by name, so that mutations are deterministic.
fn read(corpus: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(corpus)? {
        let path = entry?.path();
        files.push((path.file_name().unwrap_or_default().to_string_lossy().into_owned(), fs::read(&path)?));
    }
    files.sort();
    Ok(files)
}

fn try_input(target: Target, input: &[u8], plan: &Plan, origin: impl Fn() -> String) -> Result<(), Failure> {
    let path = plan.failures.join(format!("{}.input", target.name));
    let keep = || fs::create_dir_all(&plan.failures).and_then(|()| fs::write(&path, input));
    let failed = |what: String| {
        let what = keep().map_or_else(|error| format!("{what} ({error})"), |()| what.clone());
        Err(Failure { target: target.name, origin: origin(), what, written_to: path.clone() })
    };
    if plan.save_inputs
        && let Err(error) = keep()
    {
        return failed(error.to_string());
    }
    let begun = Instant::now();
    if let Err(cause) = panic::catch_unwind(AssertUnwindSafe(|| (target.run)(input))) {
        let text = cause.downcast_ref::<String>().map(String::as_str).or_else(|| cause.downcast_ref::<&str>().copied());
        return failed(text.unwrap_or("a panic").to_owned());
    }
    match begun.elapsed() {
        taken if taken > TIME_LIMIT => failed(format!("{} bytes took {taken:?}", input.len())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_its_target_and_seed_and_leaves_its_input() {
        let folder = std::env::temp_dir().join(format!("fuzz-runner-{}", std::process::id()));
        let (corpus, failures) = (folder.join("corpus"), folder.join("failures"));
        fs::create_dir_all(&corpus).unwrap();
        fs::write(corpus.join("seed"), b"xx").unwrap();
        let picky = |input: &[u8]| assert!(!input.contains(&b'y'), "unexpected letter");
        let target = Target { name: "picky", run: picky, iterations: 0 };
        let plan = |iterations| Plan { iterations, seed: 7, failures: failures.clone(), save_inputs: false };
        assert!(run(target, &corpus, &plan(0)).is_ok());
        let message = run(target, &corpus, &plan(1_000_000)).unwrap_err().to_string();
        assert!(message.starts_with("picky: unexpected letter\n") && message.contains("FUZZ_SEED=7"), "{message}");
        assert!(fs::read(failures.join("picky.input")).unwrap().contains(&b'y'));
        fs::write(corpus.join("worse"), b"y").unwrap();
        let message = run(target, &corpus, &plan(0)).unwrap_err().to_string();
        assert!(message.contains("corpus file worse"), "{message}");
        fs::remove_dir_all(folder).unwrap();
    }
}
