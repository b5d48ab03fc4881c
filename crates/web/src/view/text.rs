//! Text that strangers chose: names and symbols of tokens. Escaping keeps it from being markup; this keeps it from
//! looking like something else.

/// Characters of a name that a table has room for.
const SHOWN: usize = 32;

/// A name as it may be shown: nothing that turns the direction of writing or shows as nothing, and not too long.
pub(crate) fn tame(text: &str) -> String {
    let name = text.chars().filter(|char| !is_invisible(*char));
    first(name, SHOWN).trim().to_owned()
}

/// A text of several lines as it may be shown, up to so many characters.
pub(crate) fn visible(text: &str, most: usize) -> String {
    first(text.chars().filter(|char| *char == '\n' || !is_invisible(*char)), most)
}

fn first(mut text: impl Iterator<Item = char>, most: usize) -> String {
    let mut shown: String = text.by_ref().take(most).collect();
    if text.next().is_some() {
        shown.push('…');
    }
    shown
}

/// A text as it may stand in the query of a link.
pub(crate) fn encoded(text: &str) -> String {
    askama::filters::urlencode_strict(text).map(|encoded| encoded.to_string()).unwrap_or_default()
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
    fn a_name_cannot_turn_the_direction_of_the_page() {
        assert_eq!(tame("USD\u{202e}TDSU\u{200b}\0"), "USDTDSU");
    }

    #[test]
    fn a_long_name_is_cut() {
        let cut = tame(&"x".repeat(1024));
        assert_eq!(cut.chars().count(), SHOWN + 1);
        assert!(cut.ends_with('…'));
    }

    #[test]
    fn other_scripts_and_emoji_stay() {
        assert_eq!(tame("🦄 Ünïcörn 代币"), "🦄 Ünïcörn 代币");
    }
}
