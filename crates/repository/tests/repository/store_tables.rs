//! The tables in the README of the embedded store are those in its code.

use repository::tables::rows;

use crate::files::read;

#[test]
fn the_readme_of_the_embedded_store_lists_its_tables() {
    let code = read("crates/store-embedded/src/keys/table.rs");
    let tables = code.split_once("\ntables! {\n").unwrap().1.split_once("\n}").unwrap().0;
    let mut expected = Vec::new();
    let mut doc = String::new();
    for line in tables.lines().map(str::trim) {
        if let Some(more) = line.strip_prefix("///") {
            doc += more;
            continue;
        }
        // `Name = 0x10, Group, Origin;`
        let parts: Vec<_> = line.trim_end_matches(';').split([' ', ',', '=']).filter(|part| !part.is_empty()).collect();
        let [name, _, group, origin] = parts[..] else { panic!("not a table: {line}") };
        let (key, value) = doc.trim().trim_end_matches('.').split_once(" -> ").unwrap();
        expected.push((group.to_owned(), [name, key, value, &origin.to_lowercase()].map(str::to_owned)));
        doc.clear();
    }
    let readme = read("crates/store-embedded/README.md");
    let mut documented = Vec::new();
    for section in readme.split("\n### ").skip(1) {
        let group = section.split(':').next().unwrap();
        documented.extend(rows(section).map(|cells| (group.to_owned(), <[String; 4]>::try_from(cells).unwrap())));
    }
    assert!(expected.len() > 60, "{} tables", expected.len());
    expected.sort();
    documented.sort();
    assert_eq!(documented, expected, "the README is on the left, keys/table.rs on the right");
}
