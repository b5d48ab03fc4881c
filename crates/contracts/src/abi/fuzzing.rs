use alloy_dyn_abi::{DynSolType, DynSolValue, Specifier};
use alloy_json_abi::Param;

use super::{
    AbiJson,
    bounded::{MIN_ALLOWED_VALUES, VALUES_PER_WORD, decode_all, fixed_values},
};

/// Types that an input may name: more than any interface that is read can nest.
const MAX_TYPES: usize = 8;
const MAX_TYPE_LENGTH: usize = 120;
const MAX_DEPTH: usize = 8;

/// Types with `;` between them up to the first line break, and what stands behind it.
pub(crate) fn typed(data: &[u8]) -> Option<(Vec<Param>, &[u8])> {
    let end = data.iter().position(|byte| *byte == b'\n')?;
    let (types, rest) = (std::str::from_utf8(&data[..end]).ok()?, &data[end + 1..]);
    let params: Option<Vec<Param>> = types.split(';').map(param).collect();
    params.filter(|params| params.len() <= MAX_TYPES).map(|params| (params, rest))
}

fn param(text: &str) -> Option<Param> {
    let is_flat = text.len() <= MAX_TYPE_LENGTH && text.matches(['[', '(']).count() <= MAX_DEPTH;
    is_flat.then(|| Param::parse(text).ok()).flatten()
}

/// Data is decoded as the plain decoder does it or refused, is never more than a few values for each word, and comes back
/// from its encoding.
pub fn abi_values(data: &[u8]) {
    let Some((params, data)) = typed(data) else { return };
    let Some(kinds) = params.iter().map(|param| param.resolve().ok()).collect::<Option<Vec<DynSolType>>>() else {
        return;
    };
    let most = MIN_ALLOWED_VALUES + VALUES_PER_WORD * (data.len() / 32);
    match decode_all(&params, data) {
        Some(values) => {
            let count: usize = values.iter().map(count).sum();
            assert!(count <= most, "{count} values of {} bytes", data.len());
            assert!(values.iter().all(is_clean), "values of other types: {values:?}");
            values.iter().zip(&params).for_each(|(value, param)| has_no_number(&AbiJson::of(value, &param.components)));
            let encoded = DynSolValue::Tuple(values.clone()).abi_encode_params();
            if count < MIN_ALLOWED_VALUES {
                assert_eq!(decode_all(&params, &encoded), Some(values));
            }
        }
        None => refused_for_a_reason(kinds, data, most),
    }
}

/// Where the plain decoder is safe to ask, it finds a fault or too many values as well.
fn refused_for_a_reason(kinds: Vec<DynSolType>, data: &[u8], most: usize) {
    let arrays = kinds.iter().map(|kind| kind.sol_type_name().matches("[]").count()).max().unwrap_or_default();
    let all = DynSolType::Tuple(kinds);
    if data.len() > 2_048 || arrays > 2 || fixed_values(&all) > 1_024 {
        return;
    }
    if let Ok(DynSolValue::Tuple(values)) = all.abi_decode_sequence(data) {
        let bytes: usize = values.iter().map(byte_words).sum();
        let count = values.iter().map(count).sum::<usize>() + 1;
        let is_clean = values.iter().all(is_clean);
        assert!(count + bytes > most || !is_clean, "{count} values of {} bytes are refused", data.len());
    }
}

fn inner(value: &DynSolValue) -> &[DynSolValue] {
    match value {
        DynSolValue::Array(values) | DynSolValue::FixedArray(values) | DynSolValue::Tuple(values) => values,
        _ => &[],
    }
}

fn count(value: &DynSolValue) -> usize {
    1 + inner(value).iter().map(count).sum::<usize>()
}

fn byte_words(value: &DynSolValue) -> usize {
    match value {
        DynSolValue::Bytes(bytes) => bytes.len() / 32,
        // What is no UTF-8 is replaced, by up to three bytes for one.
        DynSolValue::String(text) => text.len() / 32,
        other => inner(other).iter().map(byte_words).sum(),
    }
}

/// Whether a value is one of its type, by two shifts: they take away what is beyond it.
fn is_clean(value: &DynSolValue) -> bool {
    match value {
        DynSolValue::Uint(number, bits) => *number << (256 - bits) >> (256 - bits) == *number,
        DynSolValue::Int(number, bits) => (*number << (256 - bits)).asr(256 - bits) == *number,
        DynSolValue::FixedBytes(word, length) => word[*length..].iter().all(|byte| *byte == 0),
        other => inner(other).iter().all(is_clean),
    }
}

fn has_no_number(json: &AbiJson) {
    fn check(value: &serde_json::Value) {
        match value {
            serde_json::Value::Number(number) => panic!("{number} is a number"),
            serde_json::Value::Array(items) => items.iter().for_each(check),
            serde_json::Value::Object(members) => members.values().for_each(check),
            _ => {}
        }
    }
    let text = serde_json::to_string(json).expect("JSON");
    check(&serde_json::from_str(&text).expect("what was written is read"));
}
