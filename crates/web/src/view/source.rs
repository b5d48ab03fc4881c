//! Syntax highlighting of Solidity and Vyper. The output is always escaped markup, line by line.

use askama::filters::{Html, escape};
use domain::Language;

use super::text::is_invisible;

const SOLIDITY_KEYWORDS: [&str; 62] = [
    "abstract",
    "anonymous",
    "as",
    "assembly",
    "assert",
    "break",
    "calldata",
    "case",
    "catch",
    "constant",
    "constructor",
    "continue",
    "contract",
    "delete",
    "do",
    "else",
    "emit",
    "enum",
    "error",
    "event",
    "external",
    "fallback",
    "false",
    "final",
    "for",
    "from",
    "function",
    "if",
    "immutable",
    "import",
    "indexed",
    "interface",
    "internal",
    "is",
    "let",
    "library",
    "mapping",
    "memory",
    "modifier",
    "new",
    "override",
    "payable",
    "pragma",
    "private",
    "public",
    "pure",
    "receive",
    "require",
    "return",
    "returns",
    "revert",
    "storage",
    "struct",
    "switch",
    "this",
    "true",
    "try",
    "unchecked",
    "using",
    "view",
    "virtual",
    "while",
];

const VYPER_KEYWORDS: [&str; 48] = [
    "False",
    "None",
    "True",
    "and",
    "as",
    "assert",
    "break",
    "class",
    "constant",
    "continue",
    "def",
    "elif",
    "else",
    "enum",
    "event",
    "exports",
    "extcall",
    "external",
    "flag",
    "for",
    "from",
    "if",
    "immutable",
    "implements",
    "import",
    "in",
    "indexed",
    "initializes",
    "interface",
    "internal",
    "log",
    "nonpayable",
    "nonreentrant",
    "not",
    "or",
    "pass",
    "payable",
    "public",
    "pure",
    "raise",
    "range",
    "return",
    "self",
    "staticcall",
    "struct",
    "transient",
    "uses",
    "view",
];

const DOCSTRING: &str = "\"\"\"";

/// The kind of a piece of source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Keyword,
    Type,
    Number,
    Text,
    Comment,
}

impl Kind {
    fn class(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Keyword => Some("k"),
            Self::Type => Some("t"),
            Self::Number => Some("n"),
            Self::Text => Some("s"),
            Self::Comment => Some("c"),
        }
    }
}

/// The highlighted lines of a source.
pub(crate) fn lines(source: &str, language: Language) -> Vec<String> {
    let mut lines = vec![String::new()];
    for (kind, piece) in pieces(source, language) {
        for (index, part) in piece.split('\n').enumerate() {
            if index > 0 {
                lines.push(String::new());
            }
            if let Some(line) = lines.last_mut() {
                write(line, kind, part.trim_end_matches('\r'));
            }
        }
    }
    lines
}

fn write(line: &mut String, kind: Kind, text: &str) {
    if text.is_empty() {
        return;
    }
    let Ok(escaped) = escape(text, Html);
    let shown = reveal(escaped.to_string());
    match kind.class() {
        Some(class) => line.push_str(&format!("<span class=\"{class}\">{shown}</span>")),
        None => line.push_str(&shown),
    }
}

/// Replaces invisible characters by their code points: characters that change the text direction or end a line only for the
/// compiler can make source look like something else ("Trojan Source").
fn reveal(text: String) -> String {
    let is_hidden = |char: char| char != '\t' && is_invisible(char);
    if !text.contains(is_hidden) {
        return text;
    }
    let mut shown = String::with_capacity(text.len() + 64);
    for char in text.chars() {
        if is_hidden(char) {
            shown.push_str(&format!("<span class=\"u\">U+{:04X}</span>", u32::from(char)));
        } else {
            shown.push(char);
        }
    }
    shown
}

/// Splits a source into pieces without losing a character.
fn pieces(source: &str, language: Language) -> Vec<(Kind, &str)> {
    let mut pieces = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let (kind, length) = next_piece(rest, first, language);
        let (piece, after) = rest.split_at(length);
        pieces.push((kind, piece));
        rest = after;
    }
    pieces
}

fn next_piece(rest: &str, first: char, language: Language) -> (Kind, usize) {
    let (line, (open, close)) = match language {
        Language::Solidity => ("//", ("/*", "*/")),
        Language::Vyper => ("#", (DOCSTRING, DOCSTRING)),
    };
    if rest.starts_with(line) {
        return (Kind::Comment, rest.find('\n').unwrap_or(rest.len()));
    }
    if let Some(inside) = rest.strip_prefix(open) {
        let length = inside.find(close).map_or(rest.len(), |end| open.len() + end + close.len());
        return (Kind::Comment, length);
    }
    if first == '"' || first == '\'' {
        return (Kind::Text, quoted_length(rest, first));
    }
    let is_word = |char: char| char.is_alphanumeric() || char == '_' || char == '$';
    if is_word(first) {
        let length = rest.find(|char: char| !is_word(char)).unwrap_or(rest.len());
        return (word_kind(&rest[..length], first, language), length);
    }
    (Kind::Plain, first.len_utf8())
}

/// The length up to the closing quote, or to the end of the line if there is none.
fn quoted_length(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (index, char) in rest.char_indices().skip(1) {
        match char {
            '\n' => return index,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if char == quote => return index + 1,
            _ => {}
        }
    }
    rest.len()
}

fn word_kind(word: &str, first: char, language: Language) -> Kind {
    let keywords: &[&str] = match language {
        Language::Solidity => &SOLIDITY_KEYWORDS,
        Language::Vyper => &VYPER_KEYWORDS,
    };
    if first.is_ascii_digit() {
        Kind::Number
    } else if keywords.binary_search(&word).is_ok() {
        Kind::Keyword
    } else if is_type(word) {
        Kind::Type
    } else {
        Kind::Plain
    }
}

fn is_type(word: &str) -> bool {
    let is_sized =
        |name: &str| word.strip_prefix(name).is_some_and(|size| size.chars().all(|digit| digit.is_ascii_digit()));
    matches!(word, "address" | "bool" | "string" | "Bytes" | "String" | "DynArray" | "HashMap" | "decimal")
        || ["uint", "int", "bytes"].into_iter().any(is_sized)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(source: &str) -> Vec<String> {
        super::lines(source, Language::Solidity)
    }

    #[test]
    fn keywords_are_sorted_for_binary_search() {
        assert!(SOLIDITY_KEYWORDS.is_sorted() && VYPER_KEYWORDS.is_sorted());
    }

    #[test]
    fn keywords_types_numbers_strings_and_comments_are_highlighted() {
        let shown = lines("uint256 x = 0x1f; // \"no\"\nreturn 'a\\'b';").join("\n");
        assert_eq!(
            shown,
            "<span class=\"t\">uint256</span> x = <span class=\"n\">0x1f</span>; <span class=\"c\">// &#34;no&#34;</span>\n\
             <span class=\"k\">return</span> <span class=\"s\">&#39;a\\&#39;b&#39;</span>;"
        );
    }

    #[test]
    fn a_multi_line_comment_is_highlighted_on_each_line() {
        assert_eq!(lines("/* a\nb */c"), ["<span class=\"c\">/* a</span>", "<span class=\"c\">b */</span>c"]);
    }

    #[test]
    fn comments_of_vyper_are_highlighted() {
        let shown = super::lines("x = 4 // 2 # \"half\"\n\"\"\"a\nb\"\"\"\ndef f(): pass", Language::Vyper);
        assert_eq!(
            shown,
            [
                "x = <span class=\"n\">4</span> // <span class=\"n\">2</span> <span class=\"c\"># &#34;half&#34;</span>",
                "<span class=\"c\">&#34;&#34;&#34;a</span>",
                "<span class=\"c\">b&#34;&#34;&#34;</span>",
                "<span class=\"k\">def</span> f(): <span class=\"k\">pass</span>",
            ]
        );
    }

    #[test]
    fn source_is_escaped() {
        for source in ["<script>alert(1)</script>", "\"<img src=x>", "/*<b>", "'<i>\\", "// <u>\u{202e}"] {
            assert!(
                !lines(source).join("").replace("<span class=\"", "").replace("</span>", "").contains('<'),
                "{source}"
            );
        }
    }

    #[test]
    fn invisible_characters_are_shown_as_code_points() {
        let shown = lines("/*\u{202e} } \u{2066}if (isAdmin)\u{2069} */\tx // a\rb").join("\n");
        assert!(shown.contains("/*<span class=\"u\">U+202E</span> }"), "{shown}");
        assert!(shown.contains("// a<span class=\"u\">U+000D</span>b"), "{shown}");
        assert!(shown.contains('\t') && !shown.contains(['\u{202e}', '\u{2066}', '\u{2069}', '\r']), "{shown}");
    }

    #[test]
    fn the_pieces_joined_are_the_source() {
        let source = "a\"b\n/*c*/ d_$ 12e3 'é\\\n' /* open";
        assert_eq!(pieces(source, Language::Solidity).into_iter().map(|(_, piece)| piece).collect::<String>(), source);
    }
}
