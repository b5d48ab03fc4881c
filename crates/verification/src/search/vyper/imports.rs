//! Which files a Vyper source may import, by their names. The compiler decides; these are only the candidates.

use std::{collections::BTreeSet, path::Path};

use crate::search::Files;

/// The files that a file may import, directly or through others, and itself.
pub(super) fn reachable(files: &Files, from: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::from([from.to_owned()]);
    let mut next = vec![from.to_owned()];
    while let Some(file) = next.pop() {
        for imported in direct(files, &file) {
            if found.insert(imported.clone()) {
                next.push(imported);
            }
        }
    }
    found
}

/// The files that a file may import itself: all whose names end as the import says.
pub(super) fn direct(files: &Files, from: &str) -> Vec<String> {
    let wanted = files.get(from).map(|text| imported_paths(text)).unwrap_or_default();
    let is_wanted = |file: &String| {
        let path = Path::new(file).with_extension("");
        wanted.iter().any(|wanted| path.ends_with(wanted))
    };
    files.keys().filter(|file| *file != from && is_wanted(file)).cloned().collect()
}

/// `a/b` for `import a.b as b`, `from a import b` and `from ..a import b`.
fn imported_paths(text: &str) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    let mut lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    while let Some(line) = lines.next() {
        if !line.starts_with("import ") && !line.starts_with("from ") {
            continue;
        }
        let mut statement = line.to_owned();
        while statement.ends_with('\\') || (statement.contains('(') && !statement.contains(')')) {
            let Some(more) = lines.next() else { break };
            statement.truncate(statement.trim_end_matches('\\').len());
            statement.push(' ');
            statement.push_str(more);
        }
        let words = statement.replace(['(', ')'], " ");
        if let Some(names) = words.strip_prefix("import ") {
            paths.extend(names.split(',').filter_map(|name| path_of("", name)));
        } else if let Some((module, names)) = words.strip_prefix("from ").and_then(|rest| rest.split_once(" import ")) {
            paths.extend(names.split(',').filter_map(|name| path_of(module, name)));
        }
    }
    paths
}

fn path_of(module: &str, name: &str) -> Option<String> {
    let name = name.split_ascii_whitespace().next()?;
    let module = module.trim().trim_start_matches('.');
    Some(if module.is_empty() { name.replace('.', "/") } else { format!("{module}.{name}").replace('.', "/") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_import_is_read() {
        let text = "import a\nimport b.c as c # why\nfrom . import d\nfrom ..e.f import g as h\nfrom i import (\n  j,\n  k as l,\n)\nfrom m import \\\n  n\ndef important(): pass\n";
        let expected = ["a", "b/c", "d", "e/f/g", "i/j", "i/k", "m/n"];
        assert_eq!(imported_paths(text).into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn files_are_reached_through_others() {
        let files = [
            ("src/a.vy", "from . import b"),
            ("src/b.vy", "import interfaces.IC as IC"),
            ("lib/interfaces/IC.json", "[]"),
            ("src/ab.vy", "import a"),
            ("src/unused.vy", ""),
        ];
        let files: Files = files.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        let found: Vec<String> = reachable(&files, "src/a.vy").into_iter().collect();
        assert_eq!(found, ["lib/interfaces/IC.json", "src/a.vy", "src/b.vy"]);
        assert_eq!(direct(&files, "src/ab.vy"), ["src/a.vy"]);
        assert!(direct(&files, "nowhere.vy").is_empty());
    }
}
