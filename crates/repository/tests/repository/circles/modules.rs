//! The modules of a crate: what each defines, imports and names.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use proc_macro2::{Delimiter, TokenTree};

use super::tokens::{group, is_ident, is_punct, is_separator, parse, path, without_tests};

/// A path in the code, with its line.
#[derive(Debug, Clone)]
pub(super) struct CodePath {
    pub(super) words: Vec<String>,
    pub(super) line: usize,
}

/// One name of a `use`.
#[derive(Debug)]
pub(super) struct Import {
    pub(super) path: CodePath,
    /// `_` for none.
    pub(super) name: String,
    pub(super) is_public: bool,
}

#[derive(Debug, Default)]
pub(super) struct Module {
    pub(super) parent: Option<usize>,
    /// `crate::a::b`
    pub(super) name: String,
    /// The module that is the file in which this one is written.
    pub(super) file: usize,
    pub(super) children: BTreeMap<String, usize>,
    pub(super) imports: Vec<Import>,
    /// Modules of `use module::*`.
    pub(super) globs: Vec<CodePath>,
    pub(super) defines: BTreeSet<String>,
    /// Paths outside of imports.
    pub(super) paths: Vec<CodePath>,
    /// All words outside of imports.
    pub(super) words: BTreeSet<String>,
}

#[derive(Debug)]
pub(super) struct Modules {
    pub(super) all: Vec<Module>,
}

impl Modules {
    /// The modules of the crate whose root is this file.
    pub(super) fn of(root: &Path, read: &dyn Fn(&Path) -> Option<String>) -> Self {
        let mut modules = Self { all: vec![Module { name: "crate".to_owned(), ..Module::default() }] };
        let text = read(root).unwrap_or_else(|| panic!("no file {}", root.display()));
        let folder = root.parent().unwrap().to_owned();
        modules.scan(0, &parse(&text), &folder, read);
        modules
    }

    pub(super) fn file_names(&self) -> Vec<String> {
        self.all.iter().map(|module| module.name.clone()).collect()
    }

    fn add(&mut self, parent: usize, name: &str, file: Option<usize>) -> usize {
        let id = self.all.len();
        let full = format!("{}::{name}", self.all[parent].name);
        self.all.push(Module { parent: Some(parent), name: full, file: file.unwrap_or(id), ..Module::default() });
        self.all[parent].children.insert(name.to_owned(), id);
        id
    }

    /// Reads the tokens of a module, or of a part of one. The files of its submodules are in `folder`.
    fn scan(&mut self, module: usize, tokens: &[TokenTree], folder: &Path, read: &dyn Fn(&Path) -> Option<String>) {
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => self.scan(module, &without_tests(group.stream()), folder, read),
                // `'static`
                TokenTree::Punct(punct) if punct.as_char() == '\'' => at += 1,
                TokenTree::Ident(word) if word == "use" => {
                    let is_public = is_public(tokens, at);
                    let end = (at..tokens.len()).find(|at| is_punct(&tokens[*at], ';')).unwrap_or(tokens.len());
                    self.import(module, &tokens[at + 1..end], Vec::new(), is_public);
                    at = end;
                }
                TokenTree::Ident(word) if word == "mod" => at = self.declare(module, tokens, at, folder, read),
                // The group of `pub(crate)` is no path.
                TokenTree::Ident(word) if word == "pub" && is_restricted(tokens, at) => at += 1,
                TokenTree::Ident(word) => {
                    self.define(module, &word.to_string(), tokens, at);
                    let (words, next) = path(tokens, at);
                    let is_absolute = at >= 2 && is_separator(tokens, at - 2);
                    let module = &mut self.all[module];
                    module.words.extend(words.iter().cloned());
                    if words.len() > 1 && !is_absolute {
                        module.paths.push(CodePath { words, line: word.span().start().line });
                    }
                    at = next - 1;
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// `mod name;` or `mod name { ... }`
    fn declare(
        &mut self,
        module: usize,
        tokens: &[TokenTree],
        at: usize,
        folder: &Path,
        read: &dyn Fn(&Path) -> Option<String>,
    ) -> usize {
        let (Some(TokenTree::Ident(name)), Some(after)) = (tokens.get(at + 1), tokens.get(at + 2)) else { return at };
        let name = name.to_string();
        let inner = folder.join(&name);
        if let Some(body) = group(after, Delimiter::Brace) {
            let file = self.all[module].file;
            let child = self.add(module, &name, Some(file));
            self.scan(child, &without_tests(body), &inner, read);
        } else if is_punct(after, ';') {
            let places: [PathBuf; 2] = [folder.join(format!("{name}.rs")), inner.join("mod.rs")];
            let text = places.iter().find_map(|place| read(place));
            let text = text.unwrap_or_else(|| panic!("no file for {name} in {}", folder.display()));
            let child = self.add(module, &name, None);
            self.scan(child, &parse(&text), &inner, read);
        }
        at + 2
    }

    /// Notes the name of an item that begins with this word.
    fn define(&mut self, module: usize, word: &str, tokens: &[TokenTree], at: usize) {
        const KINDS: [&str; 8] = ["fn", "struct", "enum", "union", "trait", "type", "const", "static"];
        let name = match word {
            "macro_rules" => tokens.get(at + 2),
            _ if KINDS.contains(&word) => tokens.get(at + 1),
            _ => None,
        };
        if let Some(TokenTree::Ident(name)) = name {
            self.all[module].defines.insert(name.to_string());
        }
    }

    /// The tokens of a `use` after the words that it begins with.
    fn import(&mut self, module: usize, tokens: &[TokenTree], before: Vec<String>, is_public: bool) {
        let mut words = before;
        let mut at = 0;
        let mut line = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Ident(word) if word == "as" => break,
                TokenTree::Ident(word) => {
                    line = word.span().start().line;
                    words.push(word.to_string());
                }
                TokenTree::Punct(punct) if punct.as_char() == '*' => {
                    let line = punct.span().start().line;
                    self.all[module].globs.push(CodePath { words, line });
                    return;
                }
                TokenTree::Group(group) => {
                    let inner: Vec<_> = group.stream().into_iter().collect();
                    for part in inner.split(|token| is_punct(token, ',')).filter(|part| !part.is_empty()) {
                        self.import(module, part, words.clone(), is_public);
                    }
                    return;
                }
                _ => {}
            }
            at += 1;
        }
        // `use a::{self}`
        if words.len() > 1 && words.last().is_some_and(|word| word == "self") {
            words.pop();
        }
        let renamed = tokens.iter().position(|token| is_ident(token, "as")).and_then(|at| tokens.get(at + 1));
        let name = renamed.map(ToString::to_string).or_else(|| words.last().cloned()).unwrap_or_default();
        self.all[module].imports.push(Import { path: CodePath { words, line }, name, is_public });
    }
}

/// Whether `pub` or `pub(...)` is before this position.
fn is_public(tokens: &[TokenTree], at: usize) -> bool {
    let is_pub = |back: usize| at >= back && is_ident(&tokens[at - back], "pub");
    is_pub(1) || (is_pub(2) && group(&tokens[at - 1], Delimiter::Parenthesis).is_some())
}

/// Whether the `pub` at this position is one of `pub(crate)`, `pub(super)` and the like.
fn is_restricted(tokens: &[TokenTree], at: usize) -> bool {
    let words = ["crate", "super", "self", "in"];
    let inner = tokens.get(at + 1).and_then(|next| group(next, Delimiter::Parenthesis));
    inner
        .and_then(|inner| inner.into_iter().next())
        .is_some_and(|first| words.iter().any(|word| is_ident(&first, word)))
}
