//! The documents: their sizes, their links, and the files that they name.

use std::{
    collections::BTreeSet,
    path::{Component, Path, PathBuf},
};

use crate::files::{files, read, root};

/// All documents that readers of the repository see.
fn documents() -> Vec<PathBuf> {
    let at_the_root =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"].map(PathBuf::from);
    let of_crates = files("crates", "README.md");
    at_the_root.into_iter().chain(files("docs", ".md")).chain(of_crates).collect()
}

/// The text without blocks of code, and with what is in backticks replaced.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let mut prose = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            for (part, text) in line.split('`').enumerate() {
                prose += if part % 2 == 0 { text } else { "`" };
            }
            prose.push('\n');
        }
    }
    prose
}

/// The targets of links and pictures.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    prose.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())).collect()
}

/// The anchors of the headings in a document, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let mut anchors = BTreeSet::new();
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        if let (false, Some(heading)) = (is_code, line.strip_prefix('#')) {
            let heading = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
            anchors.insert(kept.collect::<String>().replace(' ', "-"));
        }
    }
    anchors
}

/// `a/b/../c` as `a/c`, so that a link out of the repository is found.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => assert!(normal.pop(), "{} leaves the repository", path.display()),
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

#[test]
fn links_between_documents_lead_to_files_and_headings() {
    let mut dead = Vec::new();
    for document in documents() {
        for link in links(&read(&document)).into_iter().filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let path = if file.is_empty() { document.clone() } else { normal(&document.parent().unwrap().join(file)) };
            let is_alive = root().join(&path).exists() && (anchor.is_empty() || anchors(&read(&path)).contains(anchor));
            if !is_alive {
                dead.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(dead.is_empty(), "dead links: {dead:#?}");
}

#[test]
fn every_document_and_picture_is_linked() {
    let linked: BTreeSet<PathBuf> = documents()
        .iter()
        .flat_map(|document| {
            let folder = document.parent().unwrap().to_owned();
            links(&read(document)).into_iter().filter(|link| !link.contains("://")).map(move |link| {
                let file = link.split('#').next().unwrap();
                normal(&folder.join(file))
            })
        })
        .collect();
    let pictures = [".svg", ".png"].into_iter().flat_map(|ending| files("docs", ending));
    let unlinked: Vec<_> =
        files("docs", ".md").into_iter().chain(pictures).filter(|path| !linked.contains(path)).collect();
    assert!(unlinked.is_empty(), "no document links {unlinked:?}");
}

#[test]
fn the_first_documents_are_short() {
    for (document, lines, kilobytes) in [("README.md", 150, 10), ("ARCHITECTURE.md", 200, 15)] {
        let text = read(document);
        assert!(text.lines().count() <= lines, "{document} has more than {lines} lines");
        assert!(text.len() <= kilobytes * 1024, "{document} has {} bytes, more than {kilobytes} KB", text.len());
    }
}

/// `a/{b,c}/d` as `a/b/d` and `a/c/d`.
fn alternatives(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else { return vec![path.to_owned()] };
    let (inner, after) = rest.split_once('}').unwrap_or_else(|| panic!("not closed: {path}"));
    inner.split(',').flat_map(|part| alternatives(&format!("{before}{}{after}", part.trim()))).collect()
}

/// Whether there is a file or folder of this name. `*` and `<entity>` stand for any part of a name.
fn exists(base: &Path, path: &str) -> bool {
    let Some((name, rest)) = path.split_once('/').map(|(name, rest)| (name, Some(rest))).or(Some((path, None))) else {
        return false;
    };
    let mut fixed = String::new();
    let mut is_placeholder = false;
    for letter in name.chars() {
        match letter {
            '<' => is_placeholder = true,
            '>' => {
                is_placeholder = false;
                fixed.push('*');
            }
            _ if is_placeholder => {}
            letter => fixed.push(letter),
        }
    }
    let rest_exists = |found: &Path| rest.filter(|rest| !rest.is_empty()).is_none_or(|rest| exists(found, rest));
    let Some((start, end)) = fixed.split_once('*') else {
        let found = base.join(&fixed);
        return found.exists() && rest_exists(&found);
    };
    let Ok(entries) = std::fs::read_dir(base) else { return false };
    entries.map(Result::unwrap).any(|entry| {
        let name = entry.file_name().into_string().unwrap();
        name.len() >= start.len() + end.len()
            && name.starts_with(start)
            && name.ends_with(end)
            && rest_exists(&entry.path())
    })
}

/// The words in backticks, outside of blocks of code.
fn quoted(text: &str) -> Vec<String> {
    let mut quoted = Vec::new();
    for (part, block) in text.split("\n```").enumerate() {
        if part % 2 == 0 {
            let words = block.split('`').skip(1).step_by(2);
            quoted.extend(words.map(|word| word.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
    }
    quoted
}

fn crates() -> BTreeSet<String> {
    let entries = std::fs::read_dir(root().join("crates")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The documents about code name files and types that exist: `crate/src/file.rs`, below `crates` or the root, and `crate::Type`.
#[test]
fn files_and_types_that_documents_name_exist() {
    let crates = crates();
    let folders = ["crates", "deploy", "docs", "fuzz", ".ci"];
    let mut missing = Vec::new();
    for document in documents() {
        for word in quoted(&read(&document)) {
            // The user's configuration file is in a folder of that name.
            if word == "explorer/config.toml" {
                continue;
            }
            let is_path = word.contains('/') && !word.contains([' ', '$', ':']) && !word.starts_with('/');
            let first = word.split('/').next().unwrap();
            let found = if is_path && folders.contains(&first) {
                alternatives(&word).iter().all(|path| exists(&root(), path))
            } else if is_path && crates.contains(first) {
                alternatives(&word).iter().all(|path| exists(&root().join("crates"), path))
            } else if let Some((name, item)) = word.split_once("::") {
                let name = name.replace('_', "-");
                !crates.contains(&name) || is_named(&name, item)
            } else {
                true
            };
            if !found {
                missing.push(format!("{}: {word}", document.display()));
            }
        }
    }
    assert!(missing.is_empty(), "no such files or types: {missing:#?}");
}

/// Whether the sources of a crate define the last word of a path.
fn is_named(name: &str, item: &str) -> bool {
    let item = item.split("::").last().unwrap().trim_end_matches("()");
    let kinds = ["struct", "enum", "trait", "fn", "type", "const", "mod", "static"];
    let definitions: Vec<_> = kinds.iter().map(|kind| format!("{kind} {item}")).collect();
    let is_end = |rest: &str| !rest.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_');
    files(&format!("crates/{name}/src"), ".rs").into_iter().any(|path| {
        let text = read(path);
        let mut found = definitions.iter().flat_map(|definition| text.match_indices(definition.as_str()));
        // A variant is a word of its own.
        found.any(|(at, definition)| is_end(&text[at + definition.len()..]))
            || text
                .lines()
                .any(|line| line.trim().strip_prefix(item).is_some_and(|rest| rest.starts_with([',', '(', ' '])))
    })
}

#[test]
fn paths_may_have_alternatives_and_placeholders() {
    assert_eq!(alternatives("a/{b,c}/d.rs"), ["a/b/d.rs", "a/c/d.rs"]);
    let root = root();
    for path in ["crates", "docs/", "crates/*/src", "crates/<crate>/Cargo.toml", "docs/decisions/0001-*.md"] {
        assert!(exists(&root, path), "{path}");
    }
    for path in ["crate", "crates/none/src", "crates/*/none", "docs/<page>.txt"] {
        assert!(!exists(&root, path), "{path}");
    }
}

#[test]
fn anchors_are_those_of_github() {
    let text = "# A `--page` of Foo, Bar\n```sh\n# no heading\n```\n## What's new?";
    assert_eq!(anchors(text), ["a---page-of-foo-bar", "whats-new"].map(str::to_owned).into());
}
