//! ABI words of 32 bytes in events, calls and results.

use alloy_primitives::{Address, Bytes, U256};
use domain::Selector;

pub(crate) const WORD: usize = 32;

pub(crate) type Word = [u8; WORD];

/// The word at a byte offset; None if the data is too short.
pub(crate) fn word_at(data: &[u8], offset: usize) -> Option<Word> {
    data.get(offset..offset.checked_add(WORD)?)?.try_into().ok()
}

/// Data of exactly `N` words.
pub(crate) fn words<const N: usize>(data: &[u8]) -> Option<[Word; N]> {
    let mut words = [[0; WORD]; N];
    if data.len() != N * WORD {
        return None;
    }
    for (word, bytes) in words.iter_mut().zip(data.chunks_exact(WORD)) {
        word.copy_from_slice(bytes);
    }
    Some(words)
}

/// None if the word is not an address.
pub(crate) fn address(word: &Word) -> Option<Address> {
    let (zeros, address) = word.split_at(WORD - Address::len_bytes());
    zeros.iter().all(|byte| *byte == 0).then(|| Address::from_slice(address))
}

pub(crate) fn number(word: &Word) -> U256 {
    U256::from_be_bytes(*word)
}

/// A length or offset; None if it exceeds `usize`.
pub(crate) fn position(word: &Word) -> Option<usize> {
    usize::try_from(number(word)).ok()
}

pub(crate) fn address_word(address: Address) -> Word {
    address.into_word().0
}

/// The data of a call.
pub(crate) fn call_data(selector: Selector, arguments: &[Word]) -> Bytes {
    let mut data = Vec::with_capacity(selector.len() + arguments.len() * WORD);
    data.extend(selector);
    arguments.iter().for_each(|argument| data.extend(argument));
    data.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_padded_with_twelve_zeros() {
        let clean = address_word(Address::repeat_byte(7));
        assert_eq!(address(&clean), Some(Address::repeat_byte(7)));
        for index in 0..12 {
            let mut dirty = clean;
            dirty[index] = 1;
            assert_eq!(address(&dirty), None);
        }
    }

    #[test]
    fn data_must_have_the_exact_number_of_words() {
        assert_eq!(words::<1>(&[1; 32]), Some([[1; 32]]));
        assert_eq!(words::<1>(&[1; 31]), None);
        assert_eq!(words::<1>(&[1; 33]), None);
        assert_eq!(words::<0>(&[]), Some([]));
    }

    #[test]
    fn a_word_must_be_inside_the_data() {
        assert_eq!(word_at(&[1; 40], 8), Some([1; 32]));
        assert_eq!(word_at(&[1; 40], 9), None);
        assert_eq!(word_at(&[1; 40], usize::MAX), None);
        assert_eq!(position(&[0xff; 32]), None);
    }
}
