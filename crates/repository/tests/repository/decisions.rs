//! The list of decisions has every record, with its title and state.

use std::collections::BTreeMap;

use repository::tables::rows;

use crate::files::{files, read};

#[test]
fn every_decision_is_listed_once_with_its_title_and_state() {
    let list = read("docs/decisions/README.md");
    let mut listed = BTreeMap::new();
    for cells in rows(&list) {
        let [record, title, state] = &cells[..] else { panic!("not three cells: {cells:?}") };
        let (number, file) = record.trim_matches(['[', ')']).split_once("](").unwrap();
        assert!(file.starts_with(&format!("{number}-")), "{record}");
        assert!(listed.insert(file.to_owned(), (title.clone(), state.clone())).is_none(), "{record} is listed twice");
    }
    for path in files("docs/decisions", ".md") {
        let file = path.file_name().unwrap().to_str().unwrap();
        if file == "README.md" {
            continue;
        }
        let text = read(&path);
        let heading = text.lines().next().unwrap();
        let (title, state) = listed.remove(file).unwrap_or_else(|| panic!("{file} is not listed"));
        let number: u32 = file[..4].parse().unwrap();
        assert_eq!(heading, format!("# {number}. {title}"), "{file}");
        let superseded = text.lines().find_map(|line| line.strip_prefix("Superseded by "));
        let expected = superseded.map(|by| format!("superseded by {}", by.trim_end_matches('.')));
        assert!(expected.map_or(state.starts_with("in force"), |expected| state == expected), "{file} is {state}");
    }
    assert!(listed.is_empty(), "no such records: {:?}", listed.keys());
}
