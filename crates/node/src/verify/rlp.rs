//! RLP lists.

use alloy_rlp::Header;

/// Appends a list whose items are appended by `fill`.
pub(crate) fn list(out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    fill(out);
    let mut bytes = [0; 9];
    let mut rest = &mut bytes[..];
    Header { list: true, payload_length: out.len() - start }.encode(&mut rest);
    let unused = rest.len();
    out.splice(start..start, bytes.into_iter().take(bytes.len() - unused));
}

#[cfg(test)]
mod tests {
    use alloy_rlp::Encodable;

    use super::*;

    #[test]
    fn short_long_and_nested_lists_are_encoded() {
        let mut out = vec![0x02];
        list(&mut out, |_| ());
        assert_eq!(out, [0x02, 0xc0]);

        for count in [1, 55, 56, 70_000] {
            let numbers = vec![5u8; count];
            let (mut out, mut expected) = (Vec::new(), Vec::new());
            list(&mut out, |out| numbers.iter().for_each(|number| number.encode(out)));
            alloy_rlp::encode_list(&numbers, &mut expected);
            assert_eq!(out, expected, "{count}");
        }

        let mut nested = Vec::new();
        list(&mut nested, |out| {
            list(out, |_| ());
            list(out, |out| 7u8.encode(out));
        });
        assert_eq!(nested, [0xc3, 0xc0, 0xc1, 0x07]);
    }
}
