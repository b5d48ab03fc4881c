//! The tables of options say what the command line says. The help is a snapshot that the end-to-end tests compare with the binary.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    files::{files, read},
    tables::rows,
};

/// What the help or a document says about an option.
#[derive(Debug, PartialEq, Eq)]
struct Described {
    /// Behind the name, such as `<URL>`.
    value: String,
    default: String,
}

/// The paragraphs of each option in the help of `run`.
fn help(snapshot: &str) -> BTreeMap<String, (String, String)> {
    let text = read(format!("crates/explorer/tests/it/snapshots/{snapshot}.snap"));
    let mut options = BTreeMap::new();
    for option in text
        .split_once("Options:\n")
        .unwrap()
        .1
        .split("\n      --")
        .map(|option| option.trim_start().trim_start_matches("--"))
    {
        let (head, text) = option.split_once('\n').unwrap();
        let text = text.split_once("\n  -h").map_or(text, |(text, _)| text);
        let end = head.find([' ', '[']).unwrap();
        options.insert(format!("--{}", &head[..end]), (head[end..].trim().to_owned(), text.to_owned()));
    }
    options
}

/// Possible values, or the name of one.
fn value(placeholder: &str, text: &str) -> String {
    let list = text.split_once("Possible values:").map_or("", |(_, list)| list);
    let lines = list.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split_once(':'));
    let mut values: Vec<_> = lines.map(|(value, _)| value.to_owned()).collect();
    if let Some((_, list)) = text.split_once("[possible values: ") {
        values = list.split_once(']').unwrap().0.split(", ").map(str::to_owned).collect();
    }
    if values.is_empty() || placeholder.starts_with('[') {
        placeholder.to_owned()
    } else {
        format!("<{}>", values.join("|"))
    }
}

fn default(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    let text = words.join(" ");
    text.split_once("[default: ").map_or(String::new(), |(_, rest)| rest.split_once(']').unwrap().0.to_owned())
}

fn in_help(snapshot: &str) -> BTreeMap<String, Described> {
    let describe = |(name, (placeholder, text)): (String, (String, String))| {
        (name, Described { value: value(&placeholder, &text), default: default(&text) })
    };
    help(snapshot).into_iter().map(describe).collect()
}

/// The options in the tables of a document.
fn in_document(document: &str) -> BTreeMap<String, Described> {
    let mut options = BTreeMap::new();
    for cells in rows(document).filter(|cells| cells[0].starts_with("`--")) {
        let [option, _, default] = &cells[..] else { panic!("not three cells: {cells:?}") };
        let option = option.trim_matches('`');
        let end = option.find([' ', '[']).unwrap_or_else(|| panic!("no value: {option}"));
        let (name, value) = (option[..end].to_owned(), option[end..].trim().to_owned());
        let is_new = options.insert(name, Described { value, default: default.clone() }).is_none();
        assert!(is_new, "{option} is described twice");
    }
    options
}

/// The order of values does not matter.
fn sorted(mut options: BTreeMap<String, Described>) -> BTreeMap<String, Described> {
    for described in options.values_mut() {
        let mut values: Vec<_> = described.value.trim_matches(['<', '>']).split('|').collect();
        values.sort_unstable();
        described.value = values.join("|");
    }
    options
}

fn assert_same(documented: BTreeMap<String, Described>, options: BTreeMap<String, Described>, document: &str) {
    let (documented, options) = (sorted(documented), sorted(options));
    let names = |options: &BTreeMap<String, Described>| options.keys().cloned().collect::<BTreeSet<_>>();
    let (in_document, in_help) = (names(&documented), names(&options));
    let missing: Vec<_> = in_help.difference(&in_document).collect();
    let unknown: Vec<_> = in_document.difference(&in_help).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "missing in {document}: {missing:?}, unknown: {unknown:?}");
    for (name, described) in &documented {
        assert_eq!(*described, options[name], "{name} in {document}, and in the help");
    }
}

#[test]
fn the_configuration_describes_every_option_with_its_values_and_default() {
    let document = read("docs/configuration.md");
    assert_same(in_document(&document), in_help("help-run"), "docs/configuration.md");
    let section = document.split_once("## What most operators need").unwrap().1.split("\n## ").next().unwrap();
    assert_same(in_document(section), in_help("help-run-short"), "its section of options that most operators need");
}

#[test]
fn every_option_has_the_variable_that_the_configuration_promises() {
    let options = help("help-run");
    assert!(options.len() > 30, "{} options", options.len());
    for (name, (_, text)) in options {
        let variable = format!("EXPLORER_{}", name.trim_start_matches("--").replace('-', "_").to_uppercase());
        assert!(text.contains(&format!("[env: {variable}")), "{name} is not set by {variable}");
    }
}

#[test]
fn the_readme_names_ten_options_as_the_help_does() {
    let documented = in_document(&read("README.md"));
    assert_eq!(documented.len(), 10);
    let mut options = in_help("help-run-short");
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
