use std::fmt;

use domain::KeyDigest;
use rand::{Rng, distr::Alphanumeric};
use sha2::{Digest, Sha256};

/// Lets secret scanners find leaked keys.
const SERVICE_PREFIX: &str = "expl_";
const RANDOM_CHARACTERS: usize = 32;
const CHECKSUM_CHARACTERS: usize = 6;
const LENGTH: usize = SERVICE_PREFIX.len() + RANDOM_CHARACTERS + CHECKSUM_CHARACTERS;
/// The part of a key that may be shown again: the service's prefix and 41 random bits.
const SHOWN_CHARACTERS: usize = 12;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A full API key: `expl_`, 32 random characters and a checksum. Secret, so never logged.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyText(String);

impl KeyText {
    /// Generates a key with a cryptographically secure generator.
    pub(crate) fn generate() -> Self {
        let random = rand::rng().sample_iter(Alphanumeric).take(RANDOM_CHARACTERS).map(char::from);
        let mut text: String = SERVICE_PREFIX.chars().chain(random).collect();
        text.push_str(&checksum(&text));
        Self(text)
    }

    /// Parses a key. The checksum detects typing errors without a lookup in the store.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok().filter(|text| text.len() == LENGTH)?;
        let (body, sum) = text.split_at_checked(LENGTH - CHECKSUM_CHARACTERS)?;
        let random = body.strip_prefix(SERVICE_PREFIX)?;
        let is_valid = random.bytes().all(|byte| byte.is_ascii_alphanumeric()) && sum == checksum(body);
        is_valid.then(|| Self(text.to_owned()))
    }

    /// The secret itself, to be shown to its owner once.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The first characters, by which the owner identifies the key.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.0[..SHOWN_CHARACTERS]
    }

    pub(crate) fn digest(&self) -> KeyDigest {
        KeyDigest::new(Sha256::digest(self.0.as_bytes()).into())
    }
}

impl fmt::Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyText(redacted)")
    }
}

/// CRC32 of the preceding text in base 62, most significant digit first.
fn checksum(body: &str) -> String {
    let mut rest = crc32fast::hash(body.as_bytes());
    let mut digits = [b'0'; CHECKSUM_CHARACTERS];
    for digit in digits.iter_mut().rev() {
        #[expect(clippy::indexing_slicing, reason = "there are 62 digits")]
        let last = BASE62[(rest % 62) as usize];
        *digit = last;
        rest /= 62;
    }
    digits.map(char::from).iter().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_generated_key_is_parsed_back() {
        let key = KeyText::generate();
        assert!(key.reveal().starts_with("expl_"));
        assert_eq!(key.reveal().len(), 43);
        assert_eq!(key.prefix(), &key.reveal()[..12]);
        assert_eq!(KeyText::parse(key.reveal().as_bytes()), Some(key));
    }

    #[test]
    fn the_checksum_is_the_documented_one() {
        // As Python's zlib computes it.
        let body = format!("expl_{}", "a".repeat(32));
        assert_eq!(crc32fast::hash(body.as_bytes()), 0x55b11203);
        assert_eq!(checksum(&body), "1ZIJ51");
    }

    #[test]
    fn every_changed_character_is_detected() {
        let key = KeyText::generate();
        for position in 0..LENGTH {
            for other in [b'x', b'0', b'-', 0xff] {
                let mut text = key.reveal().as_bytes().to_vec();
                if text[position] != other {
                    text[position] = other;
                    assert_eq!(KeyText::parse(&text), None);
                }
            }
        }
        for text in ["", "expl_", &key.reveal()[1..], &format!("{} ", key.reveal()), &key.reveal()[..42]] {
            assert_eq!(KeyText::parse(text.as_bytes()), None);
        }
    }

    #[test]
    fn generated_keys_are_unique() {
        let keys: HashSet<String> = (0..1_000).map(|_| KeyText::generate().reveal().to_owned()).collect();
        assert_eq!(keys.len(), 1_000);
    }

    #[test]
    fn debug_does_not_show_the_key() {
        let key = KeyText::generate();
        assert_eq!(format!("{key:?} {:?}", key.digest()), "KeyText(redacted) KeyDigest(redacted)");
    }
}
