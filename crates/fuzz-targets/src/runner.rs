//! Runs a target over its corpus and over mutations of it.

use std::{
    fmt, fs, io,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{Random, Target, mutate};

/// For one input. All that is tested takes milliseconds at most: whoever takes this long goes through its input over and
/// over.
const LONGEST_RUN: Duration = Duration::from_secs(20);

/// How much is tried.
#[derive(Debug, Clone)]
pub struct Plan {
    pub iterations: u64,
    pub seed: u64,
    /// Where the input of a failure is written to.
    pub failures: PathBuf,
    /// Writes every input before it is run: what ends the process (a stack overflow, a lack of memory) is found there.
    pub keep_inputs: bool,
}

/// An input for which a property does not hold.
#[derive(Debug)]
pub struct Failure {
    target: &'static str,
    /// What was run: a file of the corpus, or which mutation.
    origin: String,
    what: String,
    written_to: PathBuf,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, origin, what, written_to } = self;
        let path = written_to.display();
        write!(f, "{target}: {what}\n{origin}; the input is in {path}: put it into fuzz/corpus/{target}")
    }
}

/// # Errors
/// With the first input that fails.
///
/// # Panics
/// Where the corpus cannot be read.
pub fn run(target: Target, corpus: &Path, plan: &Plan) -> Result<(), Failure> {
    let files = read(corpus).unwrap_or_else(|error| panic!("{}: {error}", corpus.display()));
    for (name, input) in &files {
        try_input(target, input, plan, || format!("the file {name} of the corpus"))?;
    }
    let corpus: Vec<Vec<u8>> = files.into_iter().map(|(_, input)| input).collect();
    let mut random = Random::new(plan.seed);
    for iteration in 0..plan.iterations {
        let input = mutate(&mut random, &corpus);
        try_input(target, &input, plan, || format!("mutation {iteration} with FUZZ_SEED={}", plan.seed))?;
    }
    Ok(())
}

/// The files in the order of their names: mutations are drawn from them.
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
    if plan.keep_inputs
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
        taken if taken > LONGEST_RUN => failed(format!("{} bytes took {taken:?}", input.len())),
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
        let picky = |input: &[u8]| assert!(!input.contains(&b'y'), "a letter too far");
        let target = Target { name: "picky", run: picky, iterations: 0 };
        let plan = |iterations| Plan { iterations, seed: 7, failures: failures.clone(), keep_inputs: false };
        assert!(run(target, &corpus, &plan(0)).is_ok());
        let told = run(target, &corpus, &plan(1_000_000)).unwrap_err().to_string();
        assert!(told.starts_with("picky: a letter too far\n") && told.contains("FUZZ_SEED=7"), "{told}");
        assert!(fs::read(failures.join("picky.input")).unwrap().contains(&b'y'));
        fs::write(corpus.join("worse"), b"y").unwrap();
        let told = run(target, &corpus, &plan(0)).unwrap_err().to_string();
        assert!(told.contains("the file worse of the corpus"), "{told}");
        fs::remove_dir_all(folder).unwrap();
    }
}
