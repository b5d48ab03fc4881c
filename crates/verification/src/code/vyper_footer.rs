//! What Vyper appends to code about itself.

use std::ops::Range;

use super::{Span, auxdata::Cbor};

/// Bytes of the length at the end, which counts itself.
const LENGTH_BYTES: usize = 2;
const HASH_BYTES: usize = 32;
/// More than any contract has.
const MAX_SECTIONS: usize = 1_024;
const KEY: &str = "vyper";
const VERSION_PARTS: usize = 3;

/// The end of creation code from 0.3.10 on: a CBOR array of sizes and the version, from 0.4.1 on with a hash of the sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VyperFooter {
    /// Its range in the code, the length bytes included.
    pub(crate) span: Span,
    /// Where the hash of all sources is.
    pub(crate) integrity_hash: Option<Span>,
    /// Bytes of the runtime code, without immutable variables.
    pub(crate) runtime: usize,
    /// Bytes of the immutable variables, which the constructor appends to the runtime code.
    pub(crate) immutables: usize,
}

impl VyperFooter {
    /// Parses the end of creation code.
    pub(crate) fn at_end_of(code: &[u8]) -> Option<Self> {
        let end = code.len().checked_sub(LENGTH_BYTES)?;
        let length = usize::from(u16::from_be_bytes(code.get(end..)?.try_into().ok()?));
        let start = code.len().checked_sub(length)?;
        let mut cbor = Cbor { rest: code.get(start..end)? };
        let (4, items) = cbor.head()? else { return None };
        let integrity_hash = match items {
            4 => None,
            5 => Some(hash(&mut cbor, end)?),
            _ => return None,
        };
        let runtime = number(&mut cbor)?;
        skip_sections(&mut cbor)?;
        let immutables = number(&mut cbor)?;
        version(&mut cbor)?;
        cbor.rest.is_empty().then_some(Self { span: start..code.len(), integrity_hash, runtime, immutables })
    }
}

fn hash(cbor: &mut Cbor<'_>, end: usize) -> Option<Range<usize>> {
    let (2, HASH_BYTES) = cbor.head()? else { return None };
    let start = end - cbor.rest.len();
    cbor.take(HASH_BYTES)?;
    Some(start..start + HASH_BYTES)
}

fn number(cbor: &mut Cbor<'_>) -> Option<usize> {
    let (0, value) = cbor.head()? else { return None };
    Some(value)
}

/// The lengths of the data sections.
fn skip_sections(cbor: &mut Cbor<'_>) -> Option<()> {
    let (4, count) = cbor.head()? else { return None };
    if count > MAX_SECTIONS {
        return None;
    }
    (0..count).try_for_each(|_| number(cbor).map(drop))
}

/// `{"vyper": [0, 3, 10]}`.
fn version(cbor: &mut Cbor<'_>) -> Option<String> {
    let (5, 1) = cbor.head()? else { return None };
    if cbor.text()? != KEY {
        return None;
    }
    let (4, VERSION_PARTS) = cbor.head()? else { return None };
    let parts: Option<Vec<String>> = (0..VERSION_PARTS).map(|_| Some(number(cbor)?.to_string())).collect();
    Some(parts?.join("."))
}

/// The version at the end of runtime code, where 0.3.4 to 0.3.9 write it if there are no immutable variables.
pub(crate) fn vyper_version_at_end_of(runtime: &[u8]) -> Option<String> {
    /// A map with one text of five characters, an array of three numbers below 24.
    const BYTES: usize = 11;
    /// The length, which does not count itself; 0.3.4 writes none.
    const LENGTH: [u8; 2] = [0, 11];
    let map = runtime.strip_suffix(&LENGTH).unwrap_or(runtime);
    let mut cbor = Cbor { rest: map.get(map.len().checked_sub(BYTES)?..)? };
    let found = version(&mut cbor)?;
    cbor.rest.is_empty().then_some(found)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::hex;

    use super::*;

    fn code(footer: &str) -> Vec<u8> {
        let footer = hex::decode(footer).unwrap();
        let length = u16::try_from(footer.len() + LENGTH_BYTES).unwrap();
        [hex!("6003600c").as_slice(), &footer, &length.to_be_bytes()].concat()
    }

    #[test]
    fn sizes_are_read_from_the_end_of_creation_code() {
        // [300, [2, 20], 64, {"vyper": [0, 3, 10]}]
        let found =
            VyperFooter::at_end_of(&code("8419012c8202141840a165767970657283 00030a".replace(' ', "").as_str()));
        let expected = VyperFooter { span: 4..26, integrity_hash: None, runtime: 300, immutables: 64 };
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn the_hash_of_the_sources_is_located() {
        let hash = "ab".repeat(32);
        let code = code(&format!("855820{hash}08800 0a165767970657283000401").replace(' ', ""));
        let found = VyperFooter::at_end_of(&code).unwrap();
        assert_eq!((found.runtime, found.immutables), (8, 0));
        assert_eq!(code[found.integrity_hash.unwrap()], [0xab; 32]);
    }

    #[test]
    fn other_ends_of_code_are_no_footer() {
        for footer in [
            "",
            "80",
            "84",
            "8419012c80 00a16576797065728300030aff",
            "8419012c80 00a1657679706572820003",
            "8319012c00a16576797065728300030a",
            "8419012c8000a164736f6c6383000814",
            "9affffffff",
        ] {
            assert_eq!(VyperFooter::at_end_of(&code(&footer.replace(' ', ""))), None, "{footer}");
        }
        assert_eq!(VyperFooter::at_end_of(&[]), None);
    }

    #[test]
    fn the_version_at_the_end_of_runtime_code_is_read() {
        assert_eq!(vyper_version_at_end_of(&hex!("6000a165767970657283000304")).as_deref(), Some("0.3.4"));
        assert_eq!(vyper_version_at_end_of(&hex!("6000a165767970657283000309000b")).as_deref(), Some("0.3.9"));
        assert_eq!(vyper_version_at_end_of(&hex!("6000a164736f6c634300081a000a")), None);
        assert_eq!(vyper_version_at_end_of(&hex!("000b")), None);
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(code: Vec<u8>) {
            let _ = VyperFooter::at_end_of(&code);
            let _ = vyper_version_at_end_of(&code);
        }
    }
}
