//! Untrusted text, such as names and symbols of tokens. Escaping prevents injected markup; this module removes characters that
//! make text look like something else.

/// Maximum length of a name in a table.
const MAX_NAME_CHARACTERS: usize = 32;

/// Removes invisible and direction-changing characters from a name, and limits its length.
pub(crate) fn sanitize_name(text: &str) -> String {
    let name = text.chars().filter(|char| !is_invisible(*char));
    first(name, MAX_NAME_CHARACTERS).trim().to_owned()
}

/// The same for text of several lines.
pub(crate) fn sanitize_text(text: &str, max: usize) -> String {
    first(text.chars().filter(|char| *char == '\n' || !is_invisible(*char)), max)
}

/// Bytes that people wrote as text, such as a message beside a payment; None if they are not all readable.
pub(crate) fn readable_text(bytes: &[u8], max: usize) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let is_readable = |char: char| char == '\n' || char == '\t' || !char.is_control();
    let shown = text.chars().all(is_readable).then(|| sanitize_text(text, max))?;
    Some(shown).filter(|shown| !shown.is_empty())
}

fn first(mut text: impl Iterator<Item = char>, max: usize) -> String {
    let mut shown: String = text.by_ref().take(max).collect();
    if text.next().is_some() {
        shown.push('…');
    }
    shown
}

/// Encodes text for the query of a URL.
pub(crate) fn url_encode(text: &str) -> String {
    askama::filters::urlencode_strict(text).map(|encoded| encoded.to_string()).unwrap_or_default()
}

/// Whether a name mixes alphabets that have letters of the same look, as one does that imitates another name.
pub(crate) fn has_mixed_scripts(name: &str) -> bool {
    let mut scripts = name.chars().filter_map(script);
    let first = scripts.next();
    scripts.any(|script| Some(script) != first)
}

/// An alphabet with letters that look like those of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    Latin,
    Greek,
    Cyrillic,
    Armenian,
    Cherokee,
    /// Letters of formulas and wide letters, which look like Latin ones.
    Styled,
}

fn script(char: char) -> Option<Script> {
    Some(match char {
        'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => Script::Latin,
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Script::Greek,
        '\u{400}'..='\u{52f}' | '\u{1c80}'..='\u{1c8f}' => Script::Cyrillic,
        '\u{530}'..='\u{58f}' => Script::Armenian,
        '\u{13a0}'..='\u{13ff}' | '\u{ab70}'..='\u{abbf}' => Script::Cherokee,
        '\u{ff21}'..='\u{ff5a}' | '\u{1d400}'..='\u{1d7ff}' => Script::Styled,
        _ => return None,
    })
}

pub(super) fn is_invisible(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn direction_changing_characters_are_removed() {
        assert_eq!(sanitize_name("USD\u{202e}TDSU\u{200b}\0"), "USDTDSU");
    }

    #[test]
    fn a_name_of_several_alphabets_is_noticed() {
        for odd in ["USD\u{422}", "\u{405}USHI", "W\u{395}TH", "\u{ff35}SDT"] {
            assert!(has_mixed_scripts(odd), "{odd}");
        }
        for plain in ["USDT", "Ünïcörn 代币 🦄", "Тест", "1INCH", "₿TC", ""] {
            assert!(!has_mixed_scripts(plain), "{plain}");
        }
    }

    #[test]
    fn a_long_name_is_cut() {
        let cut = sanitize_name(&"x".repeat(1024));
        assert_eq!(cut.chars().count(), MAX_NAME_CHARACTERS + 1);
        assert!(cut.ends_with('…'));
    }

    #[test]
    fn only_text_is_shown_as_text() {
        assert_eq!(readable_text("Grüße\nan alle".as_bytes(), 99).as_deref(), Some("Grüße\nan alle"));
        for other in [&[][..], &[0xa9, 0x05, 0x9c, 0xbb], b"a\0b", &[0x1b, b'['], "\u{200b}".as_bytes()] {
            assert_eq!(readable_text(other, 99), None, "{other:?}");
        }
    }

    #[test]
    fn other_scripts_and_emoji_are_kept() {
        assert_eq!(sanitize_name("🦄 Ünïcörn 代币"), "🦄 Ünïcörn 代币");
    }
}
