//! Who may use whom: the table in ARCHITECTURE.md against what cargo knows.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use cargo_metadata::{MetadataCommand, Package};

/// In the table, for a crate that may use every other one.
const ALL: &str = "all";

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Reads the rows below `| crate | what it owns | uses |`.
fn allowed() -> BTreeMap<String, BTreeSet<String>> {
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
fn every_crate_uses_only_those_that_the_architecture_allows() {
    let (allowed, packages) = (allowed(), packages());
    let names: BTreeSet<String> = packages.iter().map(|package| package.name.to_string()).collect();
    assert_eq!(
        allowed.keys().cloned().collect::<BTreeSet<_>>(),
        names,
        "the table and the workspace name other crates"
    );
    for package in &packages {
        let allowed = &allowed[package.name.as_str()];
        // Of every kind: a test that reaches around a border is a way around it too.
        let used = package.dependencies.iter().map(|dependency| &dependency.name).filter(|name| names.contains(*name));
        let forbidden: Vec<_> = used.filter(|used| !allowed.contains(ALL) && !allowed.contains(*used)).collect();
        assert!(forbidden.is_empty(), "{} uses {forbidden:?}, which ARCHITECTURE.md does not allow", package.name);
    }
}

#[test]
fn the_table_goes_downwards_only() {
    let allowed = allowed();
    let uses = |name: &str, other: &str| allowed[name].contains(other);
    for (name, others) in allowed.iter().filter(|(_, others)| !others.contains(ALL)) {
        for other in others {
            assert!(allowed.contains_key(other), "{name} may use {other}, which there is not");
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
