//! Revert reasons as text.

use alloy_dyn_abi::DynSolType;
use alloy_primitives::{U256, hex};
use alloy_sol_types::{Panic, Revert, SolError};

use crate::{
    Interface,
    abi::{AbiJson, decode_all},
};

/// Characters of a reason that are kept.
const MAX_CHARACTERS: usize = 500;

/// The reason given by the contract, else the node's error message.
pub(super) fn reason(data: Option<&[u8]>, message: &str, interfaces: &[Interface]) -> String {
    let decoded = match data.and_then(<[u8]>::split_first_chunk::<4>) {
        Some((&Revert::SELECTOR, rest)) => text(rest),
        Some((&Panic::SELECTOR, rest)) => panic(rest),
        Some((selector, rest)) => custom(*selector, rest, interfaces),
        None => None,
    };
    let reason = decoded.unwrap_or_else(|| match data {
        Some([]) => "without a reason".to_owned(),
        Some(data) => format!("with the data {}", hex::encode_prefixed(data)),
        None => message.to_owned(),
    });
    reason.chars().filter(|character| !character.is_control()).take(MAX_CHARACTERS).collect()
}

fn text(data: &[u8]) -> Option<String> {
    let value = DynSolType::String.abi_decode_params(data).ok()?;
    Some(value.as_str()?.to_owned())
}

fn panic(data: &[u8]) -> Option<String> {
    let code = U256::try_from_be_slice(data.get(..32)?)?;
    let meaning = match u8::try_from(code).ok() {
        Some(0x01) => "assertion failed",
        Some(0x11) => "arithmetic overflow or underflow",
        Some(0x12) => "division by zero",
        Some(0x21) => "value outside of the enum",
        Some(0x22) => "invalid encoding of a byte array in storage",
        Some(0x31) => "pop on an empty array",
        Some(0x32) => "index out of bounds",
        Some(0x41) => "too much memory allocated",
        Some(0x51) => "call of an uninitialized function pointer",
        _ => "unknown panic code",
    };
    Some(format!("panic {code:#04x}: {meaning}"))
}

/// A custom error of the contract's ABI.
fn custom(selector: [u8; 4], data: &[u8], interfaces: &[Interface]) -> Option<String> {
    let mut errors = interfaces.iter().flat_map(|interface| &interface.errors);
    let error = errors.find(|error| error.selector().0 == selector)?;
    let values = decode_all(&error.inputs, data)?;
    let shown = |(param, value): (&alloy_json_abi::Param, &alloy_dyn_abi::DynSolValue)| {
        let value = AbiJson::of(value, &param.components);
        let value = match value.as_text() {
            Some(text) => text.to_owned(),
            None => serde_json::to_string(&value).unwrap_or_default(),
        };
        if param.name.is_empty() { value } else { format!("{}: {value}", param.name) }
    };
    let values: Vec<String> = error.inputs.iter().zip(&values).map(shown).collect();
    Some(format!("{}({})", error.name, values.join(", ")))
}

#[cfg(test)]
mod tests {
    use alloy_json_abi::Error;

    use super::*;

    #[test]
    fn reasons_panics_and_custom_errors_are_decoded() {
        let declared = Interface {
            errors: vec![Error::parse("error TooLow(uint256 needed, address who, string)").unwrap()],
            ..Interface::default()
        };
        let shown =
            |data: &str| reason(Some(&hex::decode(data).unwrap()), "node message", std::slice::from_ref(&declared));
        let word = |number: u64| format!("{number:064x}");
        let text = format!("{}{}{:0<64}", word(32), word(4), hex::encode("nope"));
        assert_eq!(shown(&format!("08c379a0{text}")), "nope");
        assert_eq!(shown(&format!("4e487b71{}", word(0x11))), "panic 0x11: arithmetic overflow or underflow");
        let selector = hex::encode(declared.errors[0].selector());
        let values = format!("{}{}{}{}{:0<64}", word(7), word(0xaa), word(96), word(2), hex::encode("hi"));
        assert_eq!(
            shown(&format!("{selector}{values}")),
            "TooLow(needed: 7, who: 0x00000000000000000000000000000000000000aa, hi)"
        );
        assert_eq!(shown(""), "without a reason");
        assert_eq!(shown("01020304"), "with the data 0x01020304");
        assert_eq!(shown("08c379a0ff"), "with the data 0x08c379a0ff");
        assert_eq!(reason(None, "out of gas", &[]), "out of gas");
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_revert_data_is_shown_and_never_panics(data: Vec<u8>) {
            let shown = reason(Some(&data), "", &[]);
            proptest::prop_assert!(shown.chars().count() <= MAX_CHARACTERS);
            let _ = reason(Some(&[&Revert::SELECTOR[..], &data].concat()), "", &[]);
            let _ = reason(Some(&[&Panic::SELECTOR[..], &data].concat()), "", &[]);
        }
    }
}
