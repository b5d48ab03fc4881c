//! Compares the dependencies of the workspace crates with the table in ARCHITECTURE.md.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use cargo_metadata::{MetadataCommand, Package};

/// In the table, for a crate that may use all others.
const ALL: &str = "all";

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Parses the rows below `| crate | what it owns | uses |`.
fn allowed_dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
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

#[test]
fn one_file_names_the_storage_engine() {
    let mut folders = vec![root().join("crates/explorer/src")];
    let mut naming = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if std::fs::read_to_string(&path).unwrap().contains("store_embedded") {
                naming.push(path.file_name().unwrap().to_owned());
            }
        }
    }
    assert_eq!(naming, ["stores.rs"]);
}
