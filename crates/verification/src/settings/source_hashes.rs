//! Derives the metadata for changed sources without compiling, by replacing the source hashes.

use std::{collections::BTreeMap, ops::Range};

use alloy_primitives::keccak256;

use super::template::Object;
use crate::code::{HashKind, MetadataHash, hash_metadata};

type Files = BTreeMap<String, String>;

/// Replaces the hashes of `old` sources in metadata by those of `new` ones with the same names. None if the metadata does
/// not contain the hashes of the old ones as computed here: then only a compiler can produce it.
pub(crate) fn replace_sources(metadata: &str, old: &Files, new: &Files) -> Option<String> {
    let whole = Object::at(metadata, 0)?;
    let sources = Object::at(metadata, whole.find("sources")?.value.start)?;
    let mut replaced = String::with_capacity(metadata.len());
    let mut done = 0;
    for source in &sources.members {
        let quoted = metadata.get(source.key.start.checked_sub(1)?..=source.key.end)?;
        let name: String = serde_json::from_str(quoted).ok()?;
        let (old, new) = (old.get(&name)?, new.get(&name)?);
        for (range, kind) in hashes_in(metadata, source.value.clone())? {
            if metadata.get(range.clone())? != kind.of(old)? {
                return None;
            }
            replaced.push_str(metadata.get(done..range.start)?);
            replaced.push_str(&kind.of(new)?);
            done = range.end;
        }
    }
    replaced.push_str(metadata.get(done..)?);
    Some(replaced)
}

/// The kinds of source hashes in metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SourceHash {
    Keccak,
    Bzzr0,
    Bzzr1,
    Ipfs,
}

impl SourceHash {
    fn of(self, content: &str) -> Option<String> {
        let hash = |kind| hash_metadata(kind, content.as_bytes());
        Some(match self {
            Self::Keccak => format!("0x{:x}", keccak256(content)),
            Self::Bzzr0 => format!("{:x}", hash(HashKind::Bzzr0)?.digest()),
            Self::Bzzr1 => format!("{:x}", hash(HashKind::Bzzr1)?.digest()),
            Self::Ipfs => match hash(HashKind::Ipfs)? {
                MetadataHash::Ipfs(digest) => base58(&[&[0x12, 0x20], digest.as_slice()].concat()),
                _ => return None,
            },
        })
    }
}

/// The ranges of the hashes in one entry of the sources, in text order.
fn hashes_in(metadata: &str, entry: Range<usize>) -> Option<Vec<(Range<usize>, SourceHash)>> {
    const SCHEMES: [(&str, SourceHash); 3] =
        [("bzzr://", SourceHash::Bzzr0), ("bzz-raw://", SourceHash::Bzzr1), ("dweb:/ipfs/", SourceHash::Ipfs)];
    let object = Object::at(metadata, entry.start)?;
    // With literal content, more than the hashes would have to change.
    if object.find("content").is_some() {
        return None;
    }
    let keccak = object.find("keccak256")?.value.clone();
    let mut ranges = vec![(keccak.start + 1..keccak.end - 1, SourceHash::Keccak)];
    let urls = object.find("urls")?.value.clone();
    let text = metadata.get(urls.clone())?;
    for (scheme, kind) in SCHEMES {
        for (at, _) in text.match_indices(scheme) {
            let start = urls.start + at + scheme.len();
            let end = start + metadata.get(start..)?.find('"')?;
            ranges.push((start..end, kind));
        }
    }
    ranges.sort_by_key(|(range, _)| range.start);
    Some(ranges)
}

/// The encoding of IPFS hashes.
fn base58(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    let mut digits: Vec<u32> = Vec::with_capacity(bytes.len() * 138 / 100 + 1);
    for byte in bytes {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            carry += *digit << 8;
            *digit = carry % 58;
            carry /= 58;
        }
        while carry > 0 {
            digits.push(carry % 58);
            carry /= 58;
        }
    }
    let zeros = bytes.iter().take_while(|byte| **byte == 0).map(|_| '1');
    #[expect(clippy::indexing_slicing, reason = "a digit is a remainder of 58")]
    let digits = digits.iter().rev().map(|digit| char::from(ALPHABET[*digit as usize]));
    zeros.chain(digits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(content: &str) -> Files {
        BTreeMap::from([("a \"b\".sol".to_owned(), content.to_owned())])
    }

    /// The relevant part of metadata as solc 0.8.20 writes it.
    const MODERN: &str = r#"{"settings":{"x":"keccak256"},"sources":{"a \"b\".sol":{"keccak256":"KECCAK","urls":["bzz-raw://BZZ","dweb:/ipfs/IPFS"]}},"version":1}"#;

    fn metadata(content: &str) -> String {
        MODERN
            .replace("KECCAK", &SourceHash::Keccak.of(content).unwrap())
            .replace("BZZ", &SourceHash::Bzzr1.of(content).unwrap())
            .replace("IPFS", &SourceHash::Ipfs.of(content).unwrap())
    }

    #[test]
    fn ipfs_hashes_are_base58_encoded() {
        assert_eq!(SourceHash::Ipfs.of("hello world\n").unwrap(), "QmT78zSuBmuS4z925WZfrqQ1qHaJ56DQaTfyMUF7F8ff5o");
        assert_eq!(base58(&[0, 0, 1]), "112");
    }

    #[test]
    fn every_hash_of_a_source_is_replaced() {
        let (old, new) = ("contract A {}\n", "contract A {}\r\n");
        assert_eq!(replace_sources(&metadata(old), &files(old), &files(new)), Some(metadata(new)));
    }

    #[test]
    fn unknown_source_hashes_are_not_replaced() {
        let (old, new) = ("contract A {}\n", "contract A {}\r\n");
        assert_eq!(replace_sources(&metadata(old), &files(new), &files(old)), None);
        assert_eq!(replace_sources(&metadata(old), &Files::new(), &files(new)), None);
        let literal = metadata(old).replace(r#""keccak256""#, r#""content":"","keccak256""#);
        assert_eq!(replace_sources(&literal, &files(old), &files(new)), None);
        for broken in ["", "{}", r#"{"sources":{}"#, r#"{"sources":5}"#] {
            assert_eq!(replace_sources(broken, &files(old), &files(new)), None, "{broken}");
        }
    }
}
