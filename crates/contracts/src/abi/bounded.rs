//! Decoding with an end. In the ABI's encoding a few words can stand for more values than a machine has room for: arrays
//! whose entries all point to one place, and those there to one place again. So what would come of a decoding is added up
//! before it is done.

use alloy_dyn_abi::{DynSolType, DynSolValue, Specifier};
use alloy_primitives::U256;

const WORD: usize = 32;
/// Values that may come of a decoding for each word that is decoded. Whoever encodes honestly spends a word on each.
pub(super) const VALUES_PER_WORD: usize = 8;
/// Values that may come of any decoding: types have places for them, however few words there are.
pub(super) const VALUES_AT_LEAST: usize = 1 << 14;

/// The values of these types, one after the other; None where the data does not hold them, or far too many.
pub(crate) fn decode_all<'a, P>(params: impl IntoIterator<Item = &'a P>, data: &[u8]) -> Option<Vec<DynSolValue>>
where
    P: Specifier<DynSolType> + 'a,
{
    let kinds: Vec<DynSolType> = params.into_iter().map(|param| param.resolve().ok()).collect::<Option<_>>()?;
    let all = DynSolType::Tuple(kinds);
    let mut budget = Budget { left: VALUES_AT_LEAST + VALUES_PER_WORD * (data.len() / WORD) };
    budget.spend(places(&all))?;
    let DynSolType::Tuple(kinds) = &all else { return None };
    budget.weigh_members(kinds, data)?;
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

    /// Adds up what stands behind the head at a place of `frame`, from whose beginning offsets count.
    fn weigh(&mut self, kind: &DynSolType, frame: &[u8], head: usize) -> Option<()> {
        if !is_dynamic(kind) {
            return Some(());
        }
        let body = frame.get(number_at(frame, head)?..)?;
        match kind {
            DynSolType::Bytes | DynSolType::String => self.spend(number_at(body, 0)? / WORD),
            DynSolType::Array(inner) => {
                let length = number_at(body, 0)?;
                self.spend(length.checked_mul(places(inner))?)?;
                self.weigh_entries(inner, length, body.get(WORD..)?)
            }
            DynSolType::FixedArray(inner, length) => self.weigh_entries(inner, *length, body),
            DynSolType::Tuple(kinds) => self.weigh_members(kinds, body),
            _ => Some(()),
        }
    }

    fn weigh_entries(&mut self, kind: &DynSolType, length: usize, frame: &[u8]) -> Option<()> {
        if !is_dynamic(kind) {
            return Some(());
        }
        (0..length).try_for_each(|index| self.weigh(kind, frame, index.checked_mul(WORD)?))
    }

    fn weigh_members(&mut self, kinds: &[DynSolType], frame: &[u8]) -> Option<()> {
        let mut head: usize = 0;
        for kind in kinds {
            self.weigh(kind, frame, head)?;
            let words = if is_dynamic(kind) { 1 } else { kind.minimum_words() };
            head = head.checked_add(words.checked_mul(WORD)?)?;
        }
        Some(())
    }
}

/// A length or an offset; None where it leads out of any memory.
fn number_at(frame: &[u8], place: usize) -> Option<usize> {
    let word = frame.get(place..place.checked_add(WORD)?)?;
    usize::try_from(U256::from_be_slice(word)).ok()
}

/// The places that a type has before anything is decoded into them.
pub(super) fn places(kind: &DynSolType) -> usize {
    match kind {
        DynSolType::Array(inner) => places(inner).saturating_add(1),
        DynSolType::FixedArray(inner, length) => places(inner).saturating_mul(*length).saturating_add(1),
        DynSolType::Tuple(kinds) => kinds.iter().map(places).fold(1, usize::saturating_add),
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
    use std::time::{Duration, Instant};

    use alloy_json_abi::Param;
    use proptest::prelude::*;

    use super::*;

    fn params(kinds: &[&str]) -> Vec<Param> {
        kinds.iter().map(|kind| Param::parse(kind).unwrap()).collect()
    }

    fn words(numbers: &[usize]) -> Vec<u8> {
        numbers.iter().flat_map(|number| U256::from(*number).to_be_bytes::<32>()).collect()
    }

    /// Arrays whose entries all point to the next array, down to one that is `last`.
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
    fn what_was_encoded_is_decoded() {
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
    fn a_few_words_that_stand_for_billions_of_values_are_refused_at_once() {
        let begun = Instant::now();
        assert_eq!(decode_all(&params(&["uint256[][][]"]), &bomb(2, 1_000, &[0])), None);
        assert_eq!(decode_all(&params(&["uint256[][][][][][][]"]), &bomb(6, 200, &[0])), None);
        // One long text that is named a thousand times.
        let mut data = bomb(1, 1_000, &[32_000]);
        data.extend([b'x'; 32_000]);
        assert_eq!(decode_all(&params(&["string[]"]), &data), None);
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    }

    #[test]
    fn a_type_with_more_places_than_there_is_room_for_is_refused_at_once() {
        for kind in ["uint256[4000000000][]", "uint256[100000][100000]", "uint256[9000][][]", "string[4000000000]"] {
            assert_eq!(decode_all(&params(&[kind]), &bomb(1, 100, &[])), None, "{kind}");
        }
    }

    #[test]
    fn a_word_that_is_no_value_of_its_type_is_refused() {
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
    fn an_honest_crowd_has_room() {
        let many = DynSolValue::Array(vec![DynSolValue::String("x".to_owned()); 20_000]);
        let data = DynSolValue::Tuple(vec![many.clone()]).abi_encode_params();
        assert_eq!(decode_all(&params(&["string[]"]), &data), Some(vec![many]));
    }

    proptest! {
        #[test]
        fn whatever_the_data_it_is_never_a_panic(data: Vec<u8>, numbers in prop::collection::vec(0_usize..300, 0..40)) {
            let kinds = params(&["uint256[][]", "(string,bytes[])[]", "uint8[2][]", "string"]);
            let _ = decode_all(&kinds, &data);
            let _ = decode_all(&kinds, &words(&numbers));
        }
    }
}
