//! Sanitises names and symbols, which contracts choose freely.

use crate::abi::{WORD, position, word_at};

const MAX_CHARACTERS: usize = 256;

/// Decodes a result as an ABI string or, for early tokens, as 32 bytes padded with NULs; anything else is empty. Drops
/// invalid UTF-8 and invisible characters that could make a name look like another, and cuts at 256 characters.
pub(super) fn read_text(result: &[u8]) -> String {
    let bytes = if result.len() == WORD { result } else { string(result).unwrap_or_default() };
    let characters = bytes.utf8_chunks().flat_map(|chunk| chunk.valid().chars());
    let shown: String = characters
        .filter(|character| !is_hidden(*character))
        .skip_while(|character| character.is_whitespace())
        .take(MAX_CHARACTERS)
        .collect();
    shown.trim_end().to_owned()
}

/// The bytes of an ABI string, which must be inside the data.
fn string(result: &[u8]) -> Option<&[u8]> {
    let offset = position(&word_at(result, 0)?)?;
    let length = position(&word_at(result, offset)?)?;
    let start = offset.checked_add(WORD)?;
    result.get(start..start.checked_add(length)?)
}

/// Control characters, line and paragraph separators, and bidirectional marks, which could make a name look like another.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::decode::samples::uint;

    fn abi(bytes: &[u8]) -> Vec<u8> {
        let mut result = [uint(32), uint(bytes.len() as u64)].concat();
        result.extend(bytes);
        result.resize(result.len().next_multiple_of(32), 0);
        result
    }

    fn padded(bytes: &[u8]) -> Vec<u8> {
        let mut word = bytes.to_vec();
        word.resize(32, 0);
        word
    }

    #[test]
    fn results_of_real_tokens_are_decoded() {
        for (result, text) in [
            (abi(b"Tether USD"), "Tether USD"),
            (abi("Ünïcødé 🥞".as_bytes()), "Ünïcødé 🥞"),
            (abi(b""), ""),
            (padded(b"Maker"), "Maker"),
            (padded(&[b'x'; 32]), "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
            (vec![0; 32], ""),
            (vec![], ""),
            // Not padded to whole words, as by some compilers.
            ([uint(32).to_vec(), uint(3).to_vec(), b"abc".to_vec()].concat(), "abc"),
            // With data between the offset and the string.
            ([uint(64).to_vec(), uint(7).to_vec(), uint(3).to_vec(), padded(b"abc")].concat(), "abc"),
        ] {
            assert_eq!(read_text(&result), text, "{result:?}");
        }
    }

    #[test]
    fn invalid_offsets_and_lengths_are_empty() {
        for invalid in [
            [uint(4096), uint(3), uint(0)].concat(),
            [[0xff; 32], uint(3), uint(0)].concat(),
            [uint(32), uint(4096), uint(0)].concat(),
            [uint(32), [0xff; 32], uint(0)].concat(),
            [uint(u64::MAX), uint(u64::MAX)].concat(),
            vec![b'a'; 31],
            vec![b'a'; 33],
            vec![b'a'; 5],
        ] {
            assert_eq!(read_text(&invalid), "", "{invalid:?}");
        }
    }

    #[test]
    fn invisible_characters_and_invalid_utf8_are_dropped() {
        for (bytes, text) in [
            (&b"a\0b\nc\x7fd\x1b[31m"[..], "abcd[31m"),
            (b"a\xff\xfeb\xc3", "ab"),
            ("a\u{202e}b\u{2066}c\u{200f}d\u{2028}e\u{9f}f".as_bytes(), "abcdef"),
            (b"  spaced out \0 ", "spaced out"),
        ] {
            assert_eq!(read_text(&abi(bytes)), text, "{bytes:?}");
        }
    }

    #[test]
    fn long_names_are_cut_at_256_characters() {
        assert_eq!(read_text(&abi(&vec![b'x'; 1 << 20])), "x".repeat(256));
        assert_eq!(read_text(&abi("é".repeat(300).as_bytes())), "é".repeat(256));
    }

    proptest! {
        #[test]
        fn any_answer_gives_a_short_visible_text(
            head in prop::collection::vec(prop_oneof![(0u64..200).prop_map(uint), any::<[u8; 32]>()], 0..3),
            rest in prop::collection::vec(any::<u8>(), 0..400),
        ) {
            let text = read_text(&[head.concat(), rest].concat());
            prop_assert!(text.chars().count() <= 256);
            prop_assert!(!text.chars().any(is_hidden));
            prop_assert_eq!(text.trim(), &text);
        }
    }
}
