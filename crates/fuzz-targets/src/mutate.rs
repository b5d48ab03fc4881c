//! Generates inputs by mutating the corpus.

use crate::Random;

/// Maximum length of an input, unless one of the corpus is longer.
const MAX_LENGTH: usize = 8 << 10;
/// Maximum changes to one input.
const MAX_CHANGES: usize = 5;
/// Maximum repetitions of a byte, for deep nesting and long numbers.
const MAX_REPETITIONS: usize = 2_000;
/// Boundary values, of which the low bytes are used.
const NUMBERS: [u64; 15] = [
    0,
    1,
    0x1f,
    0x20,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 53,
    i64::MAX as u64,
    u64::MAX,
];
/// Tokens of the tested formats.
const TOKENS: [&str; 32] = [
    "null", "true", "{}", "[]", "\"\"", "\"", "\\u0000", "\\ud800", "0x", "0X", "-", "-0", "1e999", "1.0", "0", ",",
    ":", ";", "(", ")", "[", "[]", "]", "%", "%00", "%c3%28", "&", "=", "..", "@", "\u{fffd}", "\u{feff}",
];

/// An input of the corpus with a few random changes.
pub fn mutate(random: &mut Random, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut input = random.pick(corpus).cloned().unwrap_or_default();
    let longest = input.len().max(MAX_LENGTH);
    for _ in 0..=random.below(MAX_CHANGES) {
        change(random, &mut input, corpus);
        input.truncate(longest);
    }
    input
}

fn change(random: &mut Random, input: &mut Vec<u8>, corpus: &[Vec<u8>]) {
    let (at, length) = (random.below(input.len() + 1), 1 + random.below(8));
    let end = (at + length).min(input.len());
    match random.below(14) {
        0 | 1 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        2 => {
            if let Some(byte) = input.get_mut(at) {
                *byte = random.number().to_le_bytes()[0];
            }
        }
        3 => overwrite(input, at, &number(random)),
        4 => insert(input, at, &number(random)),
        5 => drop(input.drain(at..end)),
        6 => {
            let end = at + random.below(input.len() - at + 1);
            drop(input.drain(at..end));
        }
        7 => {
            let piece = input.get(at..end).unwrap_or_default().to_vec();
            insert(input, at, &piece);
        }
        8 => {
            let end = at + random.below(input.len() - at + 1);
            let piece = input.get(at..end).unwrap_or_default().to_vec();
            let place = random.below(input.len() + 1);
            insert(input, place, &piece);
        }
        9 => {
            let other = random.pick(corpus).cloned().unwrap_or_default();
            let from = random.below(other.len() + 1);
            input.truncate(at);
            input.extend(other.into_iter().skip(from));
        }
        10 => {
            let other = random.pick(corpus).cloned().unwrap_or_default();
            let from = random.below(other.len() + 1);
            let to = from + random.below(other.len() - from + 1).min(64);
            insert(input, at, other.get(from..to).unwrap_or_default());
        }
        11 => {
            let token = random.pick(&TOKENS).copied().unwrap_or_default();
            insert(input, at, token.as_bytes());
        }
        12 => {
            // Replacing a character by one of the same class leaves most texts valid.
            if let Some(byte) = input.get_mut(at) {
                let other = random.number().to_le_bytes()[0];
                *byte = match byte {
                    b'0'..=b'9' => b'0' + other % 10,
                    b'a'..=b'z' => b'a' + other % 26,
                    b'A'..=b'Z' => b'A' + other % 26,
                    _ => other % 0x80,
                };
            }
        }
        _ => {
            let byte = input.get(at).copied().unwrap_or(b'[');
            let run = vec![byte; 1 + random.below(MAX_REPETITIONS)];
            insert(input, at, &run);
        }
    }
}

/// A boundary value of 1 to 8 or 32 bytes, in either byte order.
fn number(random: &mut Random) -> Vec<u8> {
    let number = random.pick(&NUMBERS).copied().unwrap_or_default().wrapping_sub(random.number() % 2);
    let width = random.pick(&[1, 2, 4, 8, 32]).copied().unwrap_or_default();
    let mut bytes = number.to_le_bytes().to_vec();
    bytes.resize(width, 0);
    if random.below(2) == 0 {
        bytes.reverse();
    }
    bytes
}

fn overwrite(input: &mut [u8], at: usize, bytes: &[u8]) {
    input.iter_mut().skip(at).zip(bytes).for_each(|(old, new)| *old = *new);
}

fn insert(input: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    input.splice(at..at, bytes.iter().copied());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_inputs() {
        let corpus = [b"one input".to_vec(), b"and another".to_vec()];
        let inputs = |seed| {
            let mut random = Random::new(seed);
            (0..1_000).map(|_| mutate(&mut random, &corpus)).collect::<Vec<_>>()
        };
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
        let changed = inputs(3).iter().filter(|input| !corpus.contains(input)).count();
        assert!(changed > 900, "{changed}");
    }

    #[test]
    fn an_empty_corpus_and_an_empty_input_are_mutated() {
        let mut random = Random::new(1);
        for corpus in [&[][..], &[Vec::new()]] {
            assert!((0..1_000).map(|_| mutate(&mut random, corpus)).any(|input| !input.is_empty()));
        }
    }
}
