//! No circle of imports between the modules of a crate: each can be read after those that it uses.
//!
//! A module uses another one if a path in its code, in an import or elsewhere, leads to something that the other one defines; a
//! re-export leads on to the definition. A module and its submodules may use each other, as a router and its routes do: a circle is
//! excepted if one of its modules contains all others, and it is none without that module. Tests do not count.

mod graph;
mod modules;
mod names;
mod tokens;

use std::{collections::BTreeMap, fmt::Write, path::Path};

use crate::{
    circles::{
        graph::{Graph, circles},
        modules::Modules,
        names::uses,
    },
    files::root,
};

/// The crates that still have circles, and how many modules are in them.
const EXCEPTIONS: [(&str, usize); 0] = [];

/// The graph of the crate whose root is this file.
fn graph(file: &Path, read: &dyn Fn(&Path) -> Option<String>) -> Graph {
    let modules = Modules::of(file, read);
    let uses = uses(&modules);
    Graph { names: modules.file_names(), uses }
}

/// The smallest circle in this one, then all that its modules use of each other.
fn describe(graph: &Graph, circle: &[usize]) -> String {
    let smallest: Vec<_> = graph.smallest(circle).into_iter().map(|module| graph.names[module].as_str()).collect();
    let mut text = format!("  such as {}\n", smallest.join(" -> "));
    for from in circle {
        writeln!(text, "  {}", graph.names[*from]).unwrap();
        for to in circle {
            if let Some(places) = graph.uses.get(&(*from, *to)) {
                let shown: Vec<_> =
                    places.iter().take(3).map(|(line, path)| format!("{path} in line {line}")).collect();
                let more = if places.len() > shown.len() { ", ..." } else { "" };
                writeln!(text, "    uses {}: {}{more}", graph.names[*to], shown.join(", ")).unwrap();
            }
        }
    }
    text
}

#[test]
fn no_modules_of_a_crate_use_each_other_in_a_circle() {
    let mut found = BTreeMap::new();
    let mut report = String::new();
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let roots = ["lib.rs", "main.rs"].map(|root| folder.join("src").join(root));
        for file in roots.into_iter().filter(|file| file.exists()) {
            let graph = graph(&file, &|path| std::fs::read_to_string(path).ok());
            for circle in circles(&graph) {
                *found.entry(name.clone()).or_insert(0) += circle.len();
                writeln!(report, "{name}: a circle of {} modules", circle.len()).unwrap();
                report += &describe(&graph, &circle);
            }
        }
    }
    let expected: BTreeMap<_, _> = EXCEPTIONS.iter().map(|(name, modules)| ((*name).to_owned(), *modules)).collect();
    assert!(found == expected, "expected circles in {expected:?}, found some in {found:?}\n{report}");
}

/// The names of the modules in the circles of a crate with these files.
fn circles_of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let files: BTreeMap<_, _> = files.iter().map(|(path, text)| (Path::new(path), (*text).to_owned())).collect();
    let graph = graph(Path::new("lib.rs"), &|path| files.get(path).cloned());
    let circles = circles(&graph);
    circles.iter().map(|circle| circle.iter().map(|module| graph.names[*module].clone()).collect()).collect()
}

#[test]
fn a_circle_is_found_however_the_paths_are_written() {
    let circle = [["crate::a", "crate::b"]];
    let imports =
        [("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B; struct A;"), ("b.rs", "use super::a::A; struct B;")];
    assert_eq!(circles_of(&imports), circle);
    let inline =
        [("lib.rs", "mod a; mod b;"), ("a.rs", "fn a() { crate::b::b() }"), ("b.rs", "fn b() { vec![super::a::a()] }")];
    assert_eq!(circles_of(&inline), circle);
    let by_module = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::{b}; fn a() { b::b() }"),
        ("b.rs", "use crate::a::*; fn b() { a() }"),
    ];
    assert_eq!(circles_of(&by_module), circle);
}

#[test]
fn a_re_export_leads_to_the_definition() {
    let root = ("lib.rs", "mod a; mod b; pub use b::inner::Inner;");
    let b = ("b.rs", "pub(crate) mod inner; use crate::a::A; struct B;");
    // What `a` uses is defined in a module that does not use `a`.
    assert!(
        circles_of(&[root, b, ("a.rs", "use crate::Inner; struct A;"), ("b/inner.rs", "pub struct Inner;")]).is_empty()
    );
    let uses_a = ("b/inner.rs", "use crate::a::A; pub struct Inner;");
    assert_eq!(
        circles_of(&[root, b, ("a.rs", "use crate::Inner; struct A;"), uses_a]),
        [["crate::a", "crate::b::inner"]]
    );
}

#[test]
fn a_module_and_its_submodules_may_use_each_other() {
    let (root, a) = (("lib.rs", "mod a;"), ("a.rs", "mod b; mod c; use b::B; use c::C; struct A;"));
    let b = ("a/b.rs", "use super::A; use super::c::C; struct B;");
    assert!(circles_of(&[root, a, b, ("a/c.rs", "use crate::a::A; struct C;")]).is_empty());
    // Without `a` there is still one.
    assert_eq!(
        circles_of(&[root, a, b, ("a/c.rs", "use crate::a::b::B; struct C;")]),
        [["crate::a::b", "crate::a::c"]]
    );
}

#[test]
fn tests_do_not_count() {
    let tests = "struct B; #[cfg(test)] use crate::a::A; #[cfg(test)] mod tests { use crate::a::A; }";
    assert!(
        circles_of(&[("lib.rs", "mod a; mod b;"), ("a.rs", "use crate::b::B; struct A;"), ("b.rs", tests)]).is_empty()
    );
}
