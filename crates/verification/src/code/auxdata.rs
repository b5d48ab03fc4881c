#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub(crate) mod fuzzing;

use std::ops::Range;

use alloy_primitives::B256;

use super::MetadataHash;

/// Bytes of the length after the map.
const LENGTH_BYTES: usize = 2;
/// More entries than any compiler writes.
const MAX_ENTRIES: usize = 16;
/// The prefix of an IPFS hash: SHA-256, 32 bytes.
const SHA256_MULTIHASH: [u8; 2] = [0x12, 0x20];

/// What a compiler appends to code: a CBOR map with the metadata hash, and the map's length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Auxdata {
    /// Its range in the code, the length bytes included.
    pub span: Range<usize>,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    key: String,
    value: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Bytes(Vec<u8>),
    Text(String),
    Bool(bool),
}

impl Auxdata {
    /// Parses the end of code; None if there is no valid auxdata.
    #[must_use]
    pub(crate) fn at_end_of(code: &[u8]) -> Option<Self> {
        let map_end = code.len().checked_sub(LENGTH_BYTES)?;
        let length = usize::from(u16::from_be_bytes(code.get(map_end..)?.try_into().ok()?));
        let found = Self::starting_at(code, map_end.checked_sub(length)?)?;
        (found.span.end == code.len()).then_some(found)
    }

    /// Parses auxdata that starts at an offset: a map followed by the map's length.
    #[must_use]
    pub(crate) fn starting_at(code: &[u8], start: usize) -> Option<Self> {
        let mut reader = Cbor { rest: code.get(start..)? };
        let entries = reader.map()?;
        let length = code.len() - start - reader.rest.len();
        let declared = u16::from_be_bytes(reader.take(LENGTH_BYTES)?.try_into().ok()?);
        (usize::from(declared) == length).then(|| Self { span: start..start + length + LENGTH_BYTES, entries })
    }

    /// The metadata hash, if there is one.
    #[must_use]
    pub fn hash(&self) -> Option<MetadataHash> {
        self.entries.iter().find_map(|entry| match (entry.key.as_str(), &entry.value) {
            ("ipfs", Value::Bytes(bytes)) => {
                let digest = bytes.strip_prefix(&SHA256_MULTIHASH)?;
                Some(MetadataHash::Ipfs(B256::try_from(digest).ok()?))
            }
            ("bzzr1", Value::Bytes(bytes)) => Some(MetadataHash::Bzzr1(B256::try_from(bytes.as_slice()).ok()?)),
            ("bzzr0", Value::Bytes(bytes)) => Some(MetadataHash::Bzzr0(B256::try_from(bytes.as_slice()).ok()?)),
            _ => None,
        })
    }

    /// The compiler version: `0.8.20`, or the full name of a nightly build.
    #[must_use]
    pub fn compiler(&self) -> Option<String> {
        self.entries.iter().find(|entry| entry.key == "solc").and_then(|entry| match &entry.value {
            Value::Bytes(bytes) => match bytes[..] {
                [major, minor, patch] => Some(format!("{major}.{minor}.{patch}")),
                _ => None,
            },
            Value::Text(text) => Some(text.clone()),
            Value::Bool(_) => None,
        })
    }

    /// Whether it has any entry. An empty map is three bytes that can occur in any code.
    pub(crate) fn has_fields(&self) -> bool {
        !self.entries.is_empty()
    }

    /// Whether both have the same fields with the same lengths.
    #[must_use]
    pub(crate) fn has_shape_of(&self, other: &Self) -> bool {
        let shape = |entry: &Entry| match &entry.value {
            Value::Bytes(bytes) => (entry.key.clone(), 0, bytes.len()),
            Value::Text(text) => (entry.key.clone(), 1, text.len()),
            Value::Bool(value) => (entry.key.clone(), 2, usize::from(*value)),
        };
        self.entries.iter().map(shape).eq(other.entries.iter().map(shape))
    }

    /// The auxdata that contains a byte of code, found by scanning backwards for the start of a map.
    pub(crate) fn around(code: &[u8], offset: usize) -> Option<Self> {
        // The longest map that a compiler writes: a nightly's name and a hash.
        const MAX_LENGTH: usize = 160;
        let earliest = offset.saturating_sub(MAX_LENGTH);
        (earliest..=offset).rev().find_map(|start| {
            let found = Self::starting_at(code, start)?;
            (found.span.contains(&offset) && !found.entries.is_empty()).then_some(found)
        })
    }
}

/// The subset of CBOR that compilers use.
pub(super) struct Cbor<'a> {
    pub(super) rest: &'a [u8],
}

impl<'a> Cbor<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    /// The major type and the length of the next item, or its value if it is a number.
    pub(super) fn head(&mut self) -> Option<(u8, usize)> {
        let first = *self.take(1)?.first()?;
        let (kind, short) = (first >> 5, first & 0x1f);
        let length = match short {
            0..=23 => usize::from(short),
            24 => usize::from(*self.take(1)?.first()?),
            25 => usize::from(u16::from_be_bytes(self.take(2)?.try_into().ok()?)),
            26 => usize::try_from(u32::from_be_bytes(self.take(4)?.try_into().ok()?)).ok()?,
            _ => return None,
        };
        Some((kind, length))
    }

    fn map(&mut self) -> Option<Vec<Entry>> {
        let (5, count) = self.head()? else { return None };
        if count > MAX_ENTRIES {
            return None;
        }
        (0..count).map(|_| Some(Entry { key: self.text()?, value: self.value()? })).collect()
    }

    pub(super) fn text(&mut self) -> Option<String> {
        let (3, length) = self.head()? else { return None };
        String::from_utf8(self.take(length)?.to_vec()).ok()
    }

    fn value(&mut self) -> Option<Value> {
        match self.head()? {
            (2, length) => Some(Value::Bytes(self.take(length)?.to_vec())),
            (3, length) => Some(Value::Text(String::from_utf8(self.take(length)?.to_vec()).ok()?)),
            (7, 20) => Some(Value::Bool(false)),
            (7, 21) => Some(Value::Bool(true)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::hex;

    use super::*;

    fn with_code(auxdata: &str) -> Vec<u8> {
        [hex!("6080604052").as_slice(), &hex::decode(auxdata).unwrap()].concat()
    }

    #[test]
    fn auxdata_of_all_compiler_generations_is_parsed() {
        let hash = "11".repeat(32);
        let digest = B256::repeat_byte(0x11);
        for (tail, expected, compiler) in [
            (format!("a165627a7a72305820{hash}0029"), Some(MetadataHash::Bzzr0(digest)), None),
            (
                format!("a265627a7a72315820{hash}64736f6c634300050a0032"),
                Some(MetadataHash::Bzzr1(digest)),
                Some("0.5.10"),
            ),
            (
                format!("a264697066735822 1220{hash}64736f6c63430008140033").replace(' ', ""),
                Some(MetadataHash::Ipfs(digest)),
                Some("0.8.20"),
            ),
            ("a164736f6c634300081a000a".to_owned(), None, Some("0.8.26")),
        ] {
            let code = with_code(&tail);
            let found = Auxdata::at_end_of(&code).unwrap();
            assert_eq!(found.span, 5..code.len());
            assert_eq!(found.hash(), expected);
            assert_eq!(found.compiler().as_deref(), compiler);
        }
    }

    #[test]
    fn auxdata_of_experimental_and_nightly_builds_is_parsed() {
        let name = hex::encode("0.8.20-nightly.2023.4.1");
        let tail = format!("a26c6578706572696d656e74616cf564736f6c6377{name}");
        let tail = format!("{tail}{:04x}", tail.len() / 2);
        let found = Auxdata::at_end_of(&with_code(&tail)).unwrap();
        assert_eq!((found.hash(), found.compiler().as_deref()), (None, Some("0.8.20-nightly.2023.4.1")));
    }

    #[test]
    fn invalid_auxdata_is_rejected() {
        for code in [
            "",
            "00",
            "0000",
            "ffff",
            "a164736f6c6343000814000b",
            "a164736f6c634300081a0009",
            "a264736f6c634300081a000a",
            "bf64736f6c634300081a000a",
        ] {
            assert_eq!(Auxdata::at_end_of(&hex::decode(code).unwrap()), None, "{code}");
        }
    }

    #[test]
    fn auxdata_is_found_from_any_byte_of_its_hash() {
        let region = format!("a26469706673582212 20{}64736f6c63430008140033", "ab".repeat(32)).replace(' ', "");
        let code = hex::decode(format!("6080{region}6001")).unwrap();
        for offset in 12..44 {
            assert_eq!(Auxdata::around(&code, offset).unwrap().span, 2..code.len() - 2, "{offset}");
        }
        assert_eq!(Auxdata::around(&code, 0), None);
        assert_eq!(Auxdata::around(&code, code.len() - 1), None);
    }

    #[test]
    fn shapes_differ_in_fields_and_lengths() {
        let read = |tail: &str| Auxdata::at_end_of(&hex::decode(tail).unwrap()).unwrap();
        let bzzr = |byte: &str| read(&format!("a165627a7a72305820{}0029", byte.repeat(32)));
        assert!(bzzr("11").has_shape_of(&bzzr("22")));
        assert!(!bzzr("11").has_shape_of(&read("a164736f6c634300081a000a")));
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(code: Vec<u8>, offset: usize) {
            let _ = Auxdata::at_end_of(&code);
            let _ = Auxdata::around(&code, offset % (code.len() + 1));
        }
    }
}
