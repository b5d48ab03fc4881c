//! Rust code as tokens: what to skip, and where paths are.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Keywords with which an item begins. What has an attribute and none of them is a field, a variant or an argument.
const ITEMS: [&str; 14] = [
    "pub",
    "mod",
    "use",
    "fn",
    "struct",
    "enum",
    "trait",
    "impl",
    "type",
    "const",
    "static",
    "async",
    "unsafe",
    "macro_rules",
];

pub(super) fn parse(text: &str) -> Vec<TokenTree> {
    let stream: TokenStream = text.parse().unwrap_or_else(|error| panic!("{error} in {text}"));
    without_tests(stream)
}

/// The tokens without those that only tests have.
pub(super) fn without_tests(stream: TokenStream) -> Vec<TokenTree> {
    let mut tokens = stream.into_iter().peekable();
    let mut left = Vec::new();
    while let Some(token) = tokens.next() {
        let is_attribute =
            is_punct(&token, '#') && tokens.peek().is_some_and(|next| group(next, Delimiter::Bracket).is_some());
        left.push(token);
        if !is_attribute {
            continue;
        }
        let attribute = tokens.next();
        if !attribute.as_ref().is_some_and(is_for_tests) {
            left.extend(attribute);
            continue;
        }
        left.pop();
        // Further attributes, then the item.
        while tokens.peek().is_some_and(|next| is_punct(next, '#')) {
            tokens.next();
            tokens.next();
        }
        let is_item =
            matches!(tokens.peek(), Some(TokenTree::Ident(word)) if ITEMS.contains(&word.to_string().as_str()));
        let mut is_use = false;
        for token in tokens.by_ref() {
            is_use |= is_ident(&token, "use");
            let ends_item = is_punct(&token, ';') || (!is_use && group(&token, Delimiter::Brace).is_some());
            if ends_item || (!is_item && is_punct(&token, ',')) {
                break;
            }
        }
    }
    left
}

/// Whether this is the group of `#[cfg(test)]` or of `#[cfg(any(test, ...))]`.
fn is_for_tests(attribute: &TokenTree) -> bool {
    let text: String = attribute.to_string().split_whitespace().collect();
    text.starts_with("[cfg(test") || text.starts_with("[cfg(any(test") || text.starts_with("[cfg(all(test")
}

pub(super) fn is_punct(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

pub(super) fn is_ident(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}

pub(super) fn group(token: &TokenTree, delimiter: Delimiter) -> Option<TokenStream> {
    match token {
        TokenTree::Group(group) if group.delimiter() == delimiter => Some(group.stream()),
        _ => None,
    }
}

/// Whether `::` is at this position.
pub(super) fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    tokens.get(at).is_some_and(|token| is_punct(token, ':'))
        && tokens.get(at + 1).is_some_and(|token| is_punct(token, ':'))
}

/// The words of the path that begins with the word at this position, and the position after it.
pub(super) fn path(tokens: &[TokenTree], at: usize) -> (Vec<String>, usize) {
    let mut words = vec![tokens[at].to_string()];
    let mut next = at + 1;
    while is_separator(tokens, next) {
        let Some(TokenTree::Ident(word)) = tokens.get(next + 2) else { break };
        words.push(word.to_string());
        next += 3;
    }
    (words, next)
}
