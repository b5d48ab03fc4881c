//! The options in the help of a command and in the tables of documents.

use std::collections::{BTreeMap, BTreeSet};

use crate::tables::rows;

/// What the help or a document says about an option.
#[derive(Debug, PartialEq, Eq)]
pub struct Described {
    /// Behind the name, such as `<URL>`.
    value: String,
    default: String,
}

/// The paragraphs of each option in a help.
pub fn paragraphs(help: &str) -> BTreeMap<String, (String, String)> {
    let mut options = BTreeMap::new();
    for option in help
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

pub fn in_help(help: &str) -> BTreeMap<String, Described> {
    let describe = |(name, (placeholder, text)): (String, (String, String))| {
        (name, Described { value: value(&placeholder, &text), default: default(&text) })
    };
    paragraphs(help).into_iter().map(describe).collect()
}

/// The options in the tables of a document.
pub fn in_document(document: &str) -> BTreeMap<String, Described> {
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

pub fn assert_same(documented: BTreeMap<String, Described>, options: BTreeMap<String, Described>, document: &str) {
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
