//! Revert reasons as text.

use alloy_dyn_abi::DynSolType;
use alloy_primitives::{U256, hex};
use alloy_sol_types::{Panic, Revert, SolError};

use crate::{decode::Decoder, standards};

/// Characters of a reason that are kept.
const MAX_CHARACTERS: usize = 500;

/// The reason given by the contract, else the node's error message. A custom error is looked up in the given interfaces, then in
/// those of standards.
#[must_use]
pub fn revert_reason<'a>(
    data: Option<&[u8]>,
    message: &str,
    interfaces: impl IntoIterator<Item = &'a Decoder>,
) -> String {
    let decoded = match data.and_then(<[u8]>::split_first_chunk::<4>) {
        Some((&Revert::SELECTOR, rest)) => text(rest),
        Some((&Panic::SELECTOR, rest)) => panic(rest),
        Some(_) => data.and_then(|data| {
            let mut interfaces = interfaces.into_iter().chain([standards()]);
            Some(interfaces.find_map(|interface| interface.error(data))?.in_one_line())
        }),
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

#[cfg(test)]
mod tests {
    use alloy_json_abi::Error;

    use super::*;
    use crate::Interface;

    #[test]
    fn reasons_panics_and_custom_errors_are_decoded() {
        let too_low = Error::parse("error TooLow(uint256 needed, address who, string)").unwrap();
        let declared = Decoder::new(Interface { errors: vec![too_low.clone()], ..Interface::default() });
        let shown = |data: &str| revert_reason(Some(&hex::decode(data).unwrap()), "node message", [&declared]);
        let word = |number: u64| format!("{number:064x}");
        let text = format!("{}{}{:0<64}", word(32), word(4), hex::encode("nope"));
        assert_eq!(shown(&format!("08c379a0{text}")), "nope");
        assert_eq!(shown(&format!("4e487b71{}", word(0x11))), "panic 0x11: arithmetic overflow or underflow");
        let selector = hex::encode(too_low.selector());
        let values = format!("{}{}{}{}{:0<64}", word(7), word(0xaa), word(96), word(2), hex::encode("hi"));
        assert_eq!(
            shown(&format!("{selector}{values}")),
            "TooLow(needed: 7, who: 0x00000000000000000000000000000000000000aa, hi)"
        );
        assert_eq!(shown(""), "without a reason");
        assert_eq!(shown("01020304"), "with the data 0x01020304");
        assert_eq!(shown("08c379a0ff"), "with the data 0x08c379a0ff");
        assert_eq!(
            shown(&format!("118cdaa7{}", word(0xaa))),
            "OwnableUnauthorizedAccount(account: 0x00000000000000000000000000000000000000aa)"
        );
        assert_eq!(revert_reason(None, "out of gas", []), "out of gas");
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_revert_data_is_shown_and_never_panics(data: Vec<u8>) {
            let shown = revert_reason(Some(&data), "", []);
            proptest::prop_assert!(shown.chars().count() <= MAX_CHARACTERS);
            let _ = revert_reason(Some(&[&Revert::SELECTOR[..], &data].concat()), "", []);
            let _ = revert_reason(Some(&[&Panic::SELECTOR[..], &data].concat()), "", []);
        }
    }
}
