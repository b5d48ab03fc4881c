//! The tables of options that most operators need say what the short help says, a snapshot that the end-to-end tests compare with the
//! binary. They also compare all options with the configuration.

use std::collections::BTreeSet;

use repository::{
    options::{assert_same, in_document, in_help},
    tables::rows,
};

use crate::files::{files, read};

const SHORT_HELP: &str = "crates/explorer/tests/it/snapshots/help-run-short.snap";

#[test]
fn the_configuration_begins_with_what_most_operators_need() {
    let document = read("docs/configuration.md");
    let section = document.split_once("## What most operators need").unwrap().1.split("\n## ").next().unwrap();
    assert_same(in_document(section), in_help(&read(SHORT_HELP)), "its section of options that most operators need");
}

#[test]
fn the_readme_names_ten_options_as_the_help_does() {
    let documented = in_document(&read("README.md"));
    assert_eq!(documented.len(), 10);
    let mut options = in_help(&read(SHORT_HELP));
    options.retain(|name, _| documented.contains_key(name));
    assert_same(documented, options, "README.md");
}

/// These are the fields behind `only in the file` in the groups of options.
#[test]
fn the_configuration_describes_what_is_only_in_the_file() {
    let mut keys = BTreeSet::new();
    for path in files("crates/explorer/src/config", ".rs") {
        for group in read(&path).split("only in the file {").skip(1) {
            let fields = group.split_once('}').unwrap().0.split("pub(crate) ").skip(1);
            keys.extend(fields.map(|field| field.split_once(':').unwrap().0.replace('_', "-")));
        }
    }
    keys.retain(|key| !key.starts_with('$'));
    let document = read("docs/configuration.md");
    let section = document.split_once("## Only in the file").unwrap().1;
    let name = |cells: Vec<String>| cells[0].split('`').nth(1).unwrap().trim_matches(['[', ']']).to_owned();
    assert_eq!(rows(section).map(name).collect::<BTreeSet<_>>(), keys);
}

#[test]
fn cells_may_contain_escaped_bars() {
    let text = "| a | b |\n|---|:-:|\n| `x\\|y` | |\n\ntext\n| c |\n|---|\n| z |";
    assert_eq!(rows(text).collect::<Vec<_>>(), [vec!["`x|y`", ""], vec!["z"]]);
}
