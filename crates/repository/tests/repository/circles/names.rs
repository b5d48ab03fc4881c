//! Which modules a module uses: its paths, followed to where the names are defined.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::{CodePath, Module, Modules};

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Module(usize),
    /// Something that the module defines.
    ItemOf(usize),
}

impl Target {
    fn module(self) -> usize {
        let (Self::Module(module) | Self::ItemOf(module)) = self;
        module
    }
}

/// By module and the module that it uses: lines and paths.
pub(super) type Uses = BTreeMap<(usize, usize), BTreeSet<(usize, String)>>;

/// The uses of all modules, where those of a file are one.
pub(super) fn uses(modules: &Modules) -> Uses {
    let mut uses = Uses::new();
    for (id, module) in modules.all.iter().enumerate() {
        let mut add = |targets: BTreeSet<Target>, line: usize, path: &str| {
            for target in targets {
                let to = modules.all[target.module()].file;
                if to != module.file {
                    uses.entry((module.file, to)).or_default().insert((line, path.to_owned()));
                }
            }
        };
        for import in &module.imports {
            // What is only re-exported is not used.
            if !import.is_public || module.words.contains(&import.name) {
                add(modules.resolve(id, &import.path), import.path.line, &import.path.words.join("::"));
            }
        }
        for path in &module.paths {
            add(modules.resolve(id, path), path.line, &path.words.join("::"));
        }
        for name in module.words.iter().filter(|name| !module.names(name)) {
            for glob in &module.globs {
                for target in modules.resolve(id, glob) {
                    let found = modules.find(target.module(), name, &mut BTreeSet::new());
                    add(found, glob.line, &format!("{}::{name}", glob.words.join("::")));
                }
            }
        }
    }
    uses
}

impl Module {
    fn names(&self, name: &str) -> bool {
        self.children.contains_key(name)
            || self.defines.contains(name)
            || self.imports.iter().any(|import| import.name == name)
    }
}

impl Modules {
    fn resolve(&self, from: usize, path: &CodePath) -> BTreeSet<Target> {
        self.follow(from, &path.words, &mut BTreeSet::new())
    }

    /// What a path in a module leads to: nothing if that is in another crate. `seen` ends circles of re-exports.
    fn follow(&self, from: usize, words: &[String], seen: &mut BTreeSet<(usize, String)>) -> BTreeSet<Target> {
        let Some((first, rest)) = words.split_first() else { return BTreeSet::new() };
        let mut targets = match first.as_str() {
            "crate" => BTreeSet::from([Target::Module(0)]),
            "self" => BTreeSet::from([Target::Module(from)]),
            "super" => self.all[from].parent.map(Target::Module).into_iter().collect(),
            name => self.find(from, name, seen),
        };
        for word in rest {
            let mut next = BTreeSet::new();
            for target in targets {
                match target {
                    // `Type::function`
                    Target::ItemOf(_) => drop(next.insert(target)),
                    Target::Module(module) if word == "super" => {
                        next.extend(self.all[module].parent.map(Target::Module))
                    }
                    Target::Module(module) => {
                        let found = self.find(module, word, &mut seen.clone());
                        // What a macro defines is not known by name.
                        let is_elsewhere =
                            found.is_empty() && self.all[module].imports.iter().any(|import| import.name == *word);
                        next.extend(if found.is_empty() && !is_elsewhere {
                            BTreeSet::from([Target::ItemOf(module)])
                        } else {
                            found
                        });
                    }
                }
            }
            targets = next;
        }
        targets
    }

    /// What a name in a module stands for.
    fn find(&self, module: usize, name: &str, seen: &mut BTreeSet<(usize, String)>) -> BTreeSet<Target> {
        if !seen.insert((module, name.to_owned())) {
            return BTreeSet::new();
        }
        let Module { children, imports, globs, defines, .. } = &self.all[module];
        let mut targets: BTreeSet<_> = children.get(name).map(|child| Target::Module(*child)).into_iter().collect();
        if defines.contains(name) {
            targets.insert(Target::ItemOf(module));
        }
        for import in imports.iter().filter(|import| import.name == name) {
            targets.extend(self.follow(module, &import.path.words, seen));
        }
        if targets.is_empty() && !imports.iter().any(|import| import.name == name) {
            for glob in globs {
                for target in self.follow(module, &glob.words, seen) {
                    targets.extend(self.find(target.module(), name, seen));
                }
            }
        }
        targets
    }
}
