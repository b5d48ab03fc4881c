//! ABI decoding with a size limit. A few words can encode more values than fit in memory: nested arrays whose entries all
//! point to the same offset. So the number of values is counted before anything is decoded.

use alloy_dyn_abi::{DynSolType, DynSolValue, Specifier};
use alloy_primitives::U256;

const WORD: usize = 32;
/// Values allowed per word of data. A regular encoding uses at least one word per value.
pub(super) const VALUES_PER_WORD: usize = 8;
/// Values allowed whatever the length of the data: types such as `uint256[100]` allocate before decoding.
pub(super) const MIN_ALLOWED_VALUES: usize = 1 << 14;

/// Decodes one value per type; None if the data does not match the types or expands to too many values.
pub fn decode_all<'a, P>(params: impl IntoIterator<Item = &'a P>, data: &[u8]) -> Option<Vec<DynSolValue>>
where
    P: Specifier<DynSolType> + 'a,
{
    let kinds: Vec<DynSolType> = params.into_iter().map(|param| param.resolve().ok()).collect::<Option<_>>()?;
    let all = DynSolType::Tuple(kinds);
    let mut budget = Budget { left: MIN_ALLOWED_VALUES + VALUES_PER_WORD * (data.len() / WORD) };
    budget.spend(fixed_values(&all))?;
    let DynSolType::Tuple(kinds) = &all else { return None };
    budget.charge_members(kinds, data)?;
    match all.abi_decode_sequence(data).ok()? {
        DynSolValue::Tuple(values) => Some(values).filter(|values| values.iter().all(is_of_its_type)),
        _ => None,
    }
}

/// The decoder takes whole words, also where the type has room for less: a uint8 may come out as 256.
fn is_of_its_type(value: &DynSolValue) -> bool {
    match value {
        DynSolValue::Uint(number, bits) => number.bit_len() <= *bits,
        DynSolValue::Int(number, bits) => {
            let magnitude = if number.is_negative() { !number.into_raw() } else { number.into_raw() };
            magnitude.bit_len() < *bits
        }
        DynSolValue::FixedBytes(word, length) => word.iter().skip(*length).all(|byte| *byte == 0),
        DynSolValue::Array(values) | DynSolValue::FixedArray(values) | DynSolValue::Tuple(values) => {
            values.iter().all(is_of_its_type)
        }
        _ => true,
    }
}

struct Budget {
    left: usize,
}

impl Budget {
    fn spend(&mut self, values: usize) -> Option<()> {
        self.left = self.left.checked_sub(values)?;
        Some(())
    }

    /// Charges the value whose head is at `head`; offsets count from the start of `frame`.
    fn charge(&mut self, kind: &DynSolType, frame: &[u8], head: usize) -> Option<()> {
        if !is_dynamic(kind) {
            return Some(());
        }
        let body = frame.get(number_at(frame, head)?..)?;
        match kind {
            DynSolType::Bytes | DynSolType::String => self.spend(number_at(body, 0)? / WORD),
            DynSolType::Array(inner) => {
                let length = number_at(body, 0)?;
                self.spend(length.checked_mul(fixed_values(inner))?)?;
                self.charge_entries(inner, length, body.get(WORD..)?)
            }
            DynSolType::FixedArray(inner, length) => self.charge_entries(inner, *length, body),
            DynSolType::Tuple(kinds) => self.charge_members(kinds, body),
            _ => Some(()),
        }
    }

    fn charge_entries(&mut self, kind: &DynSolType, length: usize, frame: &[u8]) -> Option<()> {
        if !is_dynamic(kind) {
            return Some(());
        }
        (0..length).try_for_each(|index| self.charge(kind, frame, index.checked_mul(WORD)?))
    }

    fn charge_members(&mut self, kinds: &[DynSolType], frame: &[u8]) -> Option<()> {
        let mut head: usize = 0;
        for kind in kinds {
            self.charge(kind, frame, head)?;
            let words = if is_dynamic(kind) { 1 } else { kind.minimum_words() };
            head = head.checked_add(words.checked_mul(WORD)?)?;
        }
        Some(())
    }
}

/// A length or an offset; None if it does not fit a usize.
fn number_at(frame: &[u8], offset: usize) -> Option<usize> {
    let word = frame.get(offset..offset.checked_add(WORD)?)?;
    usize::try_from(U256::from_be_slice(word)).ok()
}

/// The values that a type allocates before anything is decoded.
pub(super) fn fixed_values(kind: &DynSolType) -> usize {
    match kind {
        DynSolType::Array(inner) => fixed_values(inner).saturating_add(1),
        DynSolType::FixedArray(inner, length) => fixed_values(inner).saturating_mul(*length).saturating_add(1),
        DynSolType::Tuple(kinds) => kinds.iter().map(fixed_values).fold(1, usize::saturating_add),
        _ => 1,
    }
}

fn is_dynamic(kind: &DynSolType) -> bool {
    match kind {
        DynSolType::Bytes | DynSolType::String | DynSolType::Array(_) => true,
        DynSolType::FixedArray(inner, _) => is_dynamic(inner),
        DynSolType::Tuple(kinds) => kinds.iter().any(is_dynamic),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use alloy_json_abi::Param;
    use proptest::prelude::*;

    use super::*;

    /// CPU time of this thread, which does not depend on how busy the machine is; 0 on other systems than Linux.
    fn cpu_nanoseconds() -> u64 {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        stat.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0)
    }

    fn params(kinds: &[&str]) -> Vec<Param> {
        kinds.iter().map(|kind| Param::parse(kind).unwrap()).collect()
    }

    fn words(numbers: &[usize]) -> Vec<u8> {
        numbers.iter().flat_map(|number| U256::from(*number).to_be_bytes::<32>()).collect()
    }

    /// Nested arrays: all entries of each point to the next array, the innermost is `last`.
    fn bomb(depth: usize, width: usize, last: &[usize]) -> Vec<u8> {
        let mut data = words(&[WORD]);
        for _ in 0..depth {
            data.extend(words(&[width]));
            data.extend(words(&vec![width * WORD; width]));
        }
        data.extend(words(last));
        data
    }

    #[test]
    fn encoded_values_are_decoded() {
        let kinds = params(&["uint256[][]", "string", "(bytes,uint8[2])[]", "bool", "string[2]"]);
        let number = |number: u64| DynSolValue::Uint(U256::from(number), 256);
        let small = |number: u64| DynSolValue::Uint(U256::from(number), 8);
        let text = |text: &str| DynSolValue::String(text.to_owned());
        let values = vec![
            DynSolValue::Array(vec![DynSolValue::Array(vec![number(1), number(2)]), DynSolValue::Array(Vec::new())]),
            text(&"long ".repeat(20)),
            DynSolValue::Array(vec![DynSolValue::Tuple(vec![
                DynSolValue::Bytes(vec![7; 40]),
                DynSolValue::FixedArray(vec![small(1), small(2)]),
            ])]),
            DynSolValue::Bool(true),
            DynSolValue::FixedArray(vec![text("a"), text("b")]),
        ];
        let data = DynSolValue::Tuple(values.clone()).abi_encode_params();
        assert_eq!(decode_all(&kinds, &data), Some(values));
        assert_eq!(decode_all(&kinds, &data[..data.len() / 2]), None);
    }

    #[test]
    fn a_few_words_that_expand_to_billions_of_values_are_rejected_quickly() {
        let started = cpu_nanoseconds();
        assert_eq!(decode_all(&params(&["uint256[][][]"]), &bomb(2, 1_000, &[0])), None);
        assert_eq!(decode_all(&params(&["uint256[][][][][][][]"]), &bomb(6, 200, &[0])), None);
        // One long string that is referenced a thousand times.
        let mut data = bomb(1, 1_000, &[32_000]);
        data.extend([b'x'; 32_000]);
        assert_eq!(decode_all(&params(&["string[]"]), &data), None);
        let took = cpu_nanoseconds() - started;
        assert!(took < 1_000_000_000, "{took} ns");
    }

    #[test]
    fn a_type_with_more_values_than_fit_in_memory_is_rejected_quickly() {
        for kind in ["uint256[4000000000][]", "uint256[100000][100000]", "uint256[9000][][]", "string[4000000000]"] {
            assert_eq!(decode_all(&params(&[kind]), &bomb(1, 100, &[])), None, "{kind}");
        }
    }

    #[test]
    fn a_word_outside_the_range_of_its_type_is_rejected() {
        let word = |kind: &str, word: [u8; 32]| decode_all(&params(&[kind]), &word).is_some();
        let number = |kind: &str, number: i64| {
            word(kind, alloy_primitives::I256::try_from(number).unwrap().into_raw().to_be_bytes())
        };
        assert!(number("uint8", 255) && !number("uint8", 256) && !number("uint8", -1));
        assert!(number("int8", 127) && number("int8", -128) && !number("int8", 128) && !number("int8", -129));
        assert!(number("int256", i64::MIN) && number("uint256", -1));
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&[1, 2, 3, 4]);
        assert!(word("bytes4", bytes) && word("bytes32", [0xff; 32]));
        bytes[4] = 1;
        assert!(!word("bytes4", bytes));
    }

    #[test]
    fn a_large_regular_array_is_decoded() {
        let many = DynSolValue::Array(vec![DynSolValue::String("x".to_owned()); 20_000]);
        let data = DynSolValue::Tuple(vec![many.clone()]).abi_encode_params();
        assert_eq!(decode_all(&params(&["string[]"]), &data), Some(vec![many]));
    }

    proptest! {
        #[test]
        fn arbitrary_data_never_panics(data: Vec<u8>, numbers in prop::collection::vec(0_usize..300, 0..40)) {
            let kinds = params(&["uint256[][]", "(string,bytes[])[]", "uint8[2][]", "string"]);
            let _ = decode_all(&kinds, &data);
            let _ = decode_all(&kinds, &words(&numbers));
        }
    }
}
