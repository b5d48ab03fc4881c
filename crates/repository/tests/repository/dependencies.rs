//! Compares all dependencies, of every platform and feature, with deny.toml: licenses, duplicates, sources and banned crates.
//! cargo-deny reads the same file, but takes minutes to compile.

mod license;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
};

use cargo_metadata::MetadataCommand;
use serde::Deserialize;

use crate::files::{read, root};

/// The sections of deny.toml that are checked here. A setting of theirs that is not implemented is an error.
#[derive(Debug, Deserialize)]
struct Rules {
    graph: Graph,
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Graph {
    all_features: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Licenses {
    allow: BTreeSet<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Bans {
    multiple_versions: Deny,
    wildcards: Deny,
    allow_wildcard_paths: bool,
    deny: Vec<CrateSpec>,
    skip: Vec<CrateSpec>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Sources {
    unknown_registry: Deny,
    unknown_git: Deny,
}

/// The only level that these tests implement.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Deny {
    Deny,
}

/// `name` or `name@version`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CrateSpec {
    #[serde(rename = "crate")]
    name: String,
}

/// A crate as `cargo tree` prints it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Dependency {
    name: String,
    /// Without build metadata, which deny.toml leaves out.
    version: String,
    /// None for crates.io, else a path, a repository or the name of another registry.
    source: Option<String>,
    license: String,
}

fn rules() -> Rules {
    toml::from_str(&read("deny.toml")).unwrap()
}

/// The lines of `cargo tree`, each with a package in a format.
fn cargo_tree(arguments: &[&str], format: &str) -> Vec<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["tree", "--locked", "--prefix", "none", "--format", format]).args(arguments).current_dir(root());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines = lines.lines().filter(|line| !line.is_empty());
    lines.map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
}

/// What a build of the workspace with all features uses on any platform. `cargo metadata` also lists crates that only
/// disabled features of dependencies would use.
fn dependencies(edges: &str) -> BTreeSet<Dependency> {
    let arguments = ["--workspace", "--all-features", "--target", "all", "--edges", edges];
    cargo_tree(&arguments, "{p}|{l}").iter().map(|line| parse(line)).collect()
}

/// A package with other features is another build of it, and of everything that uses it.
#[test]
fn tests_and_the_binary_share_their_builds() {
    let features = |arguments: &[&str]| {
        let lines = cargo_tree(arguments, "{p}|{f}");
        lines.into_iter().map(|line| line.replace(" (proc-macro)", "")).collect::<BTreeSet<_>>()
    };
    let tests = features(&["--workspace", "--edges", "normal,build,dev"]);
    let binary = features(&["--package", "explorer", "--edges", "normal,build"]);
    assert!(binary.len() > 100, "{binary:?}");
    let built_again: Vec<_> = binary.difference(&tests).collect();
    assert!(built_again.is_empty(), "with other features in tests: {built_again:#?}");
}

/// Parses `name v1.2.3 (proc-macro) (source)|license`.
fn parse(line: &str) -> Dependency {
    let (package, license) = line.split_once('|').unwrap();
    let (package, source) = match package.split_once(" (") {
        Some((package, marks)) => (package, marks.trim_end_matches(')').trim_start_matches("proc-macro")),
        None => (package, ""),
    };
    let (name, version) = package.split_once(" v").unwrap_or_else(|| panic!("{line}"));
    let version = version.split_once('+').map_or(version, |(version, _)| version);
    let source = source.trim_start_matches(") (");
    let source = (!source.is_empty()).then(|| source.to_owned());
    Dependency { name: name.to_owned(), version: version.to_owned(), source, license: license.to_owned() }
}

#[test]
fn what_is_said_about_unmaintained_crates_holds() {
    let built = dependencies("normal,build,dev");
    let is_built = |name: &str| built.iter().any(|dependency| dependency.name == name);
    assert!(!is_built("derivative"), "deny.toml says that it is only in the lock file");
    assert!(is_built("paste"), "nothing uses it any more: remove its reason from deny.toml");
}

#[test]
fn licenses_and_sources_of_dependencies_are_allowed() {
    let Rules { graph, licenses, bans, sources } = rules();
    assert!(graph.all_features, "only the graph with all features is checked here");
    assert!(matches!((sources.unknown_registry, sources.unknown_git), (Deny::Deny, Deny::Deny)));
    let root = root();
    let dependencies = dependencies("normal,build,dev");
    assert!(dependencies.len() > 100, "{} dependencies", dependencies.len());
    for Dependency { name, version, source, license } in &dependencies {
        let is_allowed = license::permits(license, &|license| licenses.allow.contains(license));
        let is_allowed = is_allowed.unwrap_or_else(|error| panic!("the license of {name} {version}: {error}"));
        assert!(is_allowed, "{name} {version} has the license {license:?}: see [licenses] in deny.toml");
        let is_ours = source.as_ref().is_none_or(|source| Path::new(source).starts_with(&root));
        assert!(is_ours, "{name} {version} comes from {source:?}, not from crates.io");
        let banned = bans.deny.iter().any(|banned| banned.name == *name || banned.name == format!("{name}@{version}"));
        assert!(!banned, "{name} is banned by deny.toml: `cargo tree --invert {name}` shows what uses it");
    }
}

/// Dev-dependencies do not count, as in cargo-deny.
#[test]
fn only_the_dependencies_in_the_skip_list_have_two_versions() {
    let bans = rules().bans;
    assert!(matches!(bans.multiple_versions, Deny::Deny));
    let mut versions = BTreeMap::<String, BTreeSet<String>>::new();
    for dependency in dependencies("normal,build") {
        versions.entry(dependency.name).or_default().insert(dependency.version);
    }
    let duplicates: BTreeMap<_, _> = versions.into_iter().filter(|(_, versions)| versions.len() > 1).collect();
    let mut skipped = BTreeSet::new();
    for CrateSpec { name } in &bans.skip {
        let (name, version) = name.split_once('@').unwrap_or_else(|| panic!("no version: {name}"));
        let needed = duplicates.get(name).is_some_and(|versions| versions.contains(version));
        assert!(needed, "deny.toml skips {name}@{version}, which is not used beside another version: remove it");
        assert!(skipped.insert((name, version)), "deny.toml skips {name}@{version} twice");
    }
    for (name, versions) in &duplicates {
        let left = versions.iter().filter(|version| !skipped.contains(&(name.as_str(), version.as_str()))).count();
        assert!(
            left <= 1,
            "{name} is used in the versions {versions:?}: update what needs an old one, or see deny.toml"
        );
    }
}

#[test]
fn dependencies_name_their_versions() {
    let bans = rules().bans;
    assert!(matches!((bans.wildcards, bans.allow_wildcard_paths), (Deny::Deny, true)));
    let manifest = root().join("Cargo.toml");
    let metadata = MetadataCommand::new().manifest_path(manifest).no_deps().exec().unwrap();
    for package in metadata.packages {
        for dependency in package.dependencies.iter().filter(|dependency| dependency.path.is_none()) {
            assert_ne!(dependency.req.to_string(), "*", "{} of {}", dependency.name, package.name);
        }
    }
}

#[test]
fn lines_of_cargo_tree_are_parsed() {
    let cases = [
        ("adler2 v2.0.1|0BSD OR MIT", ("adler2", "2.0.1", None, "0BSD OR MIT")),
        ("paste v1.0.15 (proc-macro)|MIT", ("paste", "1.0.15", None, "MIT")),
        ("wasi v0.14.7+wasi-0.2.4|Apache-2.0", ("wasi", "0.14.7", None, "Apache-2.0")),
        ("api v0.1.0 (/somewhere/api)|MIT", ("api", "0.1.0", Some("/somewhere/api"), "MIT")),
        ("own v1.0.0 (proc-macro) (https://host/own#1a2b)|", ("own", "1.0.0", Some("https://host/own#1a2b"), "")),
    ];
    for (line, (name, version, source, license)) in cases {
        let expected = Dependency {
            name: name.to_owned(),
            version: version.to_owned(),
            source: source.map(str::to_owned),
            license: license.to_owned(),
        };
        assert_eq!(parse(line), expected);
    }
}
