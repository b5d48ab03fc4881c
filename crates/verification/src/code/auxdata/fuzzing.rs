use contracts::minimal_proxy_target;

use super::{Auxdata, Entry, LENGTH_BYTES, MAX_ENTRIES, Value};
use crate::{code::without_nested_code, settings::Fingerprint};

/// Code as it might stand on a chain, with the CBOR map of a compiler at its end or anywhere in it.
pub fn contract_code(code: &[u8]) {
    if let Some(found) = Auxdata::at_end_of(code) {
        assert_eq!(found.span.end, code.len());
        assert_eq!(Auxdata::starting_at(code, found.span.start).as_ref(), Some(&found));
    }
    for start in 0..code.len() {
        if let Some(found) = Auxdata::starting_at(code, start) {
            check(code, start, &found);
        }
    }
    for offset in [0, code.len() / 2, code.len()] {
        if let Some(found) = Auxdata::around(code, offset) {
            assert!(found.span.contains(&offset) && found.has_fields());
            assert_eq!(Auxdata::starting_at(code, found.span.start), Some(found));
        }
    }
    if let Some(target) = minimal_proxy_target(code) {
        assert!(code.len() < 64 || code.windows(4).any(|window| target.ends_with(window)));
    }
    assert!(code.starts_with(without_nested_code(code)));
    let _ = Fingerprint::of(code);
}

/// What was read, written by another hand, is read as the same.
fn check(code: &[u8], start: usize, found: &Auxdata) {
    assert!(found.span.start == start && found.span.end <= code.len());
    assert!(found.entries.len() <= MAX_ENTRIES && found.has_shape_of(found));
    let mut map = vec![0xa0 | u8::try_from(found.entries.len()).expect("a few entries")];
    if found.entries.len() > 23 {
        return;
    }
    found.entries.iter().for_each(|entry| write(&mut map, entry));
    assert!(map.len() <= found.span.len() - LENGTH_BYTES, "the shortest form is not longer");
    let length = u16::try_from(map.len()).expect("a map whose length fits into two bytes");
    map.extend(length.to_be_bytes());
    let again = Auxdata::at_end_of(&map).expect("what was written is read");
    assert_eq!(again.entries, found.entries);
    assert_eq!((again.hash(), again.compiler()), (found.hash(), found.compiler()));
}

fn write(map: &mut Vec<u8>, entry: &Entry) {
    write_head(map, 3, entry.key.len());
    map.extend(entry.key.as_bytes());
    match &entry.value {
        Value::Bytes(bytes) => {
            write_head(map, 2, bytes.len());
            map.extend(bytes);
        }
        Value::Text(text) => {
            write_head(map, 3, text.len());
            map.extend(text.as_bytes());
        }
        Value::Bool(value) => map.push(0xf4 + u8::from(*value)),
    }
}

fn write_head(map: &mut Vec<u8>, kind: u8, length: usize) {
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(short), _) if short < 24 => map.push(kind << 5 | short),
        (Ok(byte), _) => map.extend([kind << 5 | 24, byte]),
        (_, Ok(number)) => {
            map.push(kind << 5 | 25);
            map.extend(number.to_be_bytes());
        }
        _ => panic!("a length of more than two bytes was read"),
    }
}
