//! The data of a log in fewer bytes: it consists of words, most of which begin with zeros.

const WORD: usize = 32;

/// Appends, for each word, its length without leading zeros and those bytes. What follows the last word is appended as it is.
pub fn pack(data: &[u8], out: &mut Vec<u8>) {
    let (words, rest) = data.as_chunks::<WORD>();
    for word in words {
        let zeros = word.iter().take_while(|byte| **byte == 0).count();
        let bytes = word.get(zeros..).unwrap_or_default();
        out.push(u8::try_from(bytes.len()).unwrap_or(u8::MAX));
        out.extend_from_slice(bytes);
    }
    out.extend_from_slice(rest);
}

/// The data of this size that was packed; None if nothing of this size was packed to these bytes.
pub fn unpack(mut packed: &[u8], size: u32) -> Option<Vec<u8>> {
    let size = usize::try_from(size).ok()?;
    // Each word takes a byte at least.
    if size / WORD > packed.len() {
        return None;
    }
    let mut data = Vec::with_capacity(size);
    for _ in 0..size / WORD {
        let (length, rest) = packed.split_first()?;
        let (bytes, rest) = rest.split_at_checked(usize::from(*length))?;
        data.resize(data.len() + WORD.checked_sub(bytes.len())?, 0);
        data.extend_from_slice(bytes);
        packed = rest;
    }
    data.extend_from_slice(packed);
    (data.len() == size).then_some(data)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packed(data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        pack(data, &mut out);
        out
    }

    #[test]
    fn an_amount_takes_few_bytes() {
        let mut amount = [0; WORD];
        amount[24..].copy_from_slice(&1_000_000_000_000_000_000_u64.to_be_bytes());
        assert_eq!(packed(&amount).len(), 9);
    }

    #[test]
    fn bytes_of_another_size_are_refused() {
        let bytes = packed(&[7; 40]);
        for size in [0, 8, 31, 39, 41, 96, u32::MAX] {
            assert_eq!(unpack(&bytes, size), None, "{size}");
        }
        assert_eq!(unpack(&[33; 34], 32), None);
    }

    proptest! {
        #[test]
        fn data_is_read_back(data in prop::collection::vec(prop_oneof![3 => Just(0_u8), 1 => any::<u8>()], 0..200)) {
            prop_assert_eq!(unpack(&packed(&data), u32::try_from(data.len()).unwrap()), Some(data));
        }
    }
}
