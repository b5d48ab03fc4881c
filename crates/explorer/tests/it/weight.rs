//! The weight of the binary, and of its hot paths. What it repeats is also what makes the build slow.
#![cfg(all(target_os = "linux", target_pointer_width = "64"))]

#[cfg(target_arch = "x86_64")]
mod instructions;

use std::collections::HashMap;

const BINARY: &str = env!("CARGO_BIN_EXE_explorer");
/// The binary without symbols, as loaded.
const MAX_BYTES: usize = 30_700_000;
/// Bodies of one async function of ours: one for each type that it is generic over, and for each unit of code that inlines it.
const MAX_COPIES: usize = 8;
/// Thin functions that decode a request or a response, once for each of its types.
const GENERIC: [&str; 2] = ["devchain::rpc::handler::typed", "node::endpoint::upstream::Upstream::call"];

#[test]
fn the_binary_stays_small() {
    let binary = std::fs::read(BINARY).unwrap();
    // As `strip` leaves it: the sections that are loaded.
    let loaded = sections(&binary).into_iter().filter(|section| section.is_loaded).map(|section| section.bytes.len());
    let bytes: usize = loaded.sum();
    assert!(bytes <= MAX_BYTES, "{bytes} bytes: see docs/decisions/0101-seams-between-crates.md");
}

#[test]
fn no_async_function_of_a_crate_is_compiled_again_in_others() {
    let binary = std::fs::read(BINARY).unwrap();
    let mut copies: HashMap<String, usize> = HashMap::new();
    for name in function_names(&binary).iter().filter_map(|name| async_body(name)) {
        *copies.entry(name).or_default() += 1;
    }
    assert!(copies.contains_key("node::endpoint::upstream::Upstream::send_in_slot"), "names of functions are not read");
    for name in GENERIC {
        assert!(copies.remove(name).is_some(), "{name} is not in the binary");
    }
    let repeated: Vec<_> = copies.into_iter().filter(|(_, copies)| *copies > MAX_COPIES).collect();
    assert!(repeated.is_empty(), "return a boxed future from these: {repeated:?}");
}

/// The function whose async body a symbol is; None if it is something else.
/// `_ZN4node8endpoint8upstream8Upstream4send28_$u7b$$u7b$closure...` is `node::endpoint::upstream::Upstream::send`.
fn async_body(symbol: &str) -> Option<String> {
    let mut rest = symbol.strip_prefix("_ZN")?;
    let mut path = Vec::new();
    while let Some(digits) = rest.find(|c: char| !c.is_ascii_digit()).filter(|digits| *digits > 0) {
        let (length, name) = rest.split_at(digits);
        let (part, after) = name.split_at_checked(length.parse().ok()?)?;
        path.push(part);
        rest = after;
    }
    // The last part is a hash, the one before it the body.
    let [path @ .., body, _] = path.as_slice() else { return None };
    let is_ours = path.first().is_some_and(|first| CRATES.contains(first));
    let is_nested = path.last().is_some_and(|last| last.contains("closure"));
    (is_ours && !is_nested && body.contains("closure")).then(|| path.join("::"))
}

const CRATES: [&str; 14] = [
    "api",
    "contracts",
    "devchain",
    "dialects",
    "egress",
    "enrichment",
    "ingest",
    "node",
    "services",
    "store_embedded",
    "store_postgres",
    "verification",
    "web",
    "webhooks",
];

struct Section<'a> {
    kind: u32,
    is_loaded: bool,
    bytes: &'a [u8],
    /// The section with the names of symbols.
    link: usize,
}

/// The sections of an ELF file.
fn sections(file: &[u8]) -> Vec<Section<'_>> {
    assert_eq!(&file[..6], b"\x7fELF\x02\x01", "not a little-endian ELF file of 64 bits");
    let (start, count) = (read(file, 0x28, 8), read(file, 0x3c, 2));
    let section = |index| {
        let header = &file[start + index * 64..][..64];
        let (kind, flags) = (read(header, 4, 4), read(header, 8, 8));
        let (offset, size) = (read(header, 24, 8), read(header, 32, 8));
        let has_bytes = !matches!(kind, 0 | 8);
        Section {
            kind: u32::try_from(kind).unwrap(),
            is_loaded: has_bytes && flags & 2 != 0,
            bytes: if has_bytes { &file[offset..offset + size] } else { &[] },
            link: read(header, 40, 4),
        }
    };
    (0..count).map(section).collect()
}

fn function_names(file: &[u8]) -> Vec<String> {
    let sections = sections(file);
    let symbols = sections.iter().find(|section| section.kind == 2).expect("the binary has symbols");
    let names = sections[symbols.link].bytes;
    let functions = symbols.bytes.chunks_exact(24).filter(|symbol| symbol[4] & 0xf == 2);
    let name = |symbol: &[u8]| {
        let name = names[read(symbol, 0, 4)..].split(|byte| *byte == 0).next().unwrap();
        String::from_utf8_lossy(name).into_owned()
    };
    functions.map(name).collect()
}

fn read(bytes: &[u8], at: usize, length: usize) -> usize {
    let mut word = [0; 8];
    word[..length].copy_from_slice(&bytes[at..at + length]);
    usize::try_from(u64::from_le_bytes(word)).unwrap()
}
