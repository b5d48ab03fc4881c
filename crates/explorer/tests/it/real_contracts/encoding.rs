//! ABI encoding as far as these tests need it: every argument is one word.

use alloy_primitives::{U256, hex, keccak256};
use serde_json::Value;

/// One argument of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word(U256);

impl From<u64> for Word {
    fn from(number: u64) -> Self {
        Self(U256::from(number))
    }
}

impl From<U256> for Word {
    fn from(number: U256) -> Self {
        Self(number)
    }
}

/// An address.
impl From<&String> for Word {
    fn from(address: &String) -> Self {
        Self(address.parse().unwrap())
    }
}

impl Word {
    fn hex(self) -> String {
        format!("{:064x}", self.0)
    }
}

pub(super) fn call_data(signature: &str, arguments: &[Word]) -> String {
    format!("{}{}", hex::encode_prefixed(&keccak256(signature)[..4]), words(arguments))
}

pub(super) fn words(arguments: &[Word]) -> String {
    arguments.iter().map(|argument| argument.hex()).collect()
}

/// Input of the Megaphone contract: topics and data in hexadecimal digits.
pub(super) fn megaphone_input(topics: &[String], data: &str) -> String {
    format!("0x{:02x}{}{data}", topics.len(), topics.concat())
}

pub(super) fn event(signature: &str) -> String {
    keccak256(signature).to_string()
}

/// The words of data, and the length of an incomplete last word.
pub(super) fn read_words(data: &Value) -> (Vec<U256>, usize) {
    let bytes = hex::decode(data.as_str().unwrap()).unwrap();
    let (words, rest) = bytes.as_chunks::<32>();
    (words.iter().map(|word| U256::from_be_bytes(*word)).collect(), rest.len())
}

/// An address in a word; None if the word is not an address.
pub(super) fn read_address(word: U256) -> Option<String> {
    (word.bit_len() <= 160).then(|| format!("0x{word:040x}"))
}

/// A returned text: with offset and length, or as bytes32.
pub(super) fn read_text(answer: &Value) -> String {
    let bytes = hex::decode(answer.as_str().unwrap()).unwrap();
    let text = match bytes.len() {
        0 => Vec::new(),
        32 => bytes.into_iter().take_while(|byte| *byte != 0).collect(),
        _ => {
            let length = usize::from(bytes[63]);
            bytes[64..64 + length].to_vec()
        }
    };
    String::from_utf8(text).unwrap()
}
