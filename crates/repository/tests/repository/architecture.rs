//! Compares the workspace with ARCHITECTURE.md: dependencies of the crates, and which files name the engine and JSON fields.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use cargo_metadata::{MetadataCommand, Package};

use crate::files::{files, read, root};

/// In the table, for a crate that may use all others.
const ALL: &str = "all";

/// Parses the rows below `| crate | what it owns | uses |`.
fn allowed_dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let text = read("ARCHITECTURE.md");
    let rows = text.lines().skip_while(|line| !line.starts_with("| crate |")).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [name, _, uses] = cells[..] else { panic!("not three cells: {row}") };
        let uses = uses.split(',').map(str::trim).filter(|name| !name.is_empty());
        (name.trim_matches('`').to_owned(), uses.map(str::to_owned).collect())
    })
    .collect()
}

fn packages() -> Vec<Package> {
    MetadataCommand::new().manifest_path(root().join("Cargo.toml")).no_deps().exec().unwrap().packages
}

#[test]
fn crates_use_only_the_dependencies_in_the_architecture() {
    let (allowed, packages) = (allowed_dependencies(), packages());
    let names: BTreeSet<String> = packages.iter().map(|package| package.name.to_string()).collect();
    assert_eq!(
        allowed.keys().cloned().collect::<BTreeSet<_>>(),
        names,
        "the table and the workspace have different crates"
    );
    for package in &packages {
        let allowed = &allowed[package.name.as_str()];
        // Dev-dependencies count too.
        let used = package.dependencies.iter().map(|dependency| &dependency.name).filter(|name| names.contains(*name));
        let forbidden: Vec<_> = used.filter(|used| !allowed.contains(ALL) && !allowed.contains(*used)).collect();
        assert!(forbidden.is_empty(), "{} uses {forbidden:?}, which ARCHITECTURE.md does not allow", package.name);
    }
}

#[test]
fn the_dependencies_in_the_table_have_no_cycles_of_two() {
    let allowed = allowed_dependencies();
    let uses = |name: &str, other: &str| allowed[name].contains(other);
    for (name, others) in allowed.iter().filter(|(_, others)| !others.contains(ALL)) {
        for other in others {
            assert!(allowed.contains_key(other), "{name} may use {other}, which is not in the table");
            assert!(!uses(other, name) && !allowed[other].contains(ALL), "{name} and {other} may use each other");
        }
    }
}

/// The Rust files below a folder, with their text.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    files(folder, ".rs").into_iter().map(|path| (path.clone(), read(path))).collect()
}

#[test]
fn one_file_names_the_storage_engine() {
    let sources = sources("crates/explorer/src");
    for engine in ["store_embedded", "store_postgres"] {
        let naming = sources.iter().filter(|(_, text)| text.contains(engine)).map(|(path, _)| path.as_path());
        assert_eq!(naming.collect::<Vec<_>>(), [Path::new("crates/explorer/src/stores.rs")], "{engine}");
    }
}

/// Whether a type in this source is written as JSON, which gives its fields their names.
fn is_serialized(text: &str) -> bool {
    let is_derive = |line: &str| line.contains("derive(") && line.replace("Deserialize", "").contains("Serialize");
    text.lines().any(|line| is_derive(line) || line.contains(" Serialize for "))
}

#[test]
fn names_in_json_are_only_in_the_files_that_the_architecture_lists() {
    let packages = packages();
    let domain = packages.iter().find(|package| package.name.as_str() == "domain").unwrap();
    assert!(domain.dependencies.iter().all(|dependency| !dependency.name.starts_with("serde")));

    let allowed = [
        "crates/api/src/wire",
        "crates/api/src/error/problem_code.rs",
        "crates/store/src/record_json.rs",
        "crates/store/src/record_lines.rs",
        "crates/store/src/raw_records.rs",
        "crates/store/src/records.rs",
        "crates/web/src/pages/search.rs",
        "crates/webhooks/src/payload.rs",
    ];
    let mut found = BTreeSet::new();
    for name in ["domain", "store", "store-embedded", "ingest", "enrichment", "webhooks", "api", "web"] {
        for (path, text) in sources(&format!("crates/{name}/src")) {
            // Tests are at the end of a file, in a file of their own, or in a fuzz target.
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let is_test = ["tests.rs", "test_node.rs", "fuzzing.rs"].iter().any(|name| path.ends_with(name));
            if !is_test && is_serialized(text) {
                let place = allowed.iter().find(|allowed| path.starts_with(allowed));
                found.insert(*place.unwrap_or_else(|| panic!("{} names fields of JSON", path.display())));
            }
        }
    }
    assert_eq!(found, BTreeSet::from(allowed), "some of the listed files name no fields of JSON");
}
