use alloy_primitives::hex;

use super::EvmVersion;
use crate::code::without_nested_code;

/// Bytes at the start of code that contain the dispatcher.
const HEAD: usize = 160;
const SWAP1_POP: [u8; 2] = hex!("9050");
/// An address mask as a constant, and as computed by code that is optimized for size.
const FULL_MASK: [u8; 20] = [0xff; 20];
const SHORT_MASK: [u8; 8] = hex!("6001600160a01b03");

/// Patterns in code that indicate its compiler settings. Hints, not proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    /// Whether it was compiled via IR, if the dispatcher shows it.
    pub via_ir: Option<bool>,
    pub optimized: bool,
    /// Whether it is optimized for size (few runs), if it shows.
    pub optimized_for_size: Option<bool>,
    pub evm_range: EvmRange,
}

/// The range of EVM versions whose instructions the code uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvmRange {
    /// Without shifts.
    BeforeConstantinople,
    BeforeShanghai,
    FromShanghai,
    Unknown,
}

impl Fingerprint {
    #[must_use]
    pub fn of(code: &[u8]) -> Self {
        // Creation code is always optimized for size.
        let code = without_nested_code(code);
        let head = code.get(..HEAD).unwrap_or(code);
        let has = |wanted: &[u8]| contains(head, wanted);
        let mut old_dispatch = hex!("7c01").to_vec();
        old_dispatch.extend([0; 28]);
        let pushes_zero =
            has(&hex!("5f5ffd")) || has(&hex!("5f80fd")) || has(&hex!("5f3560e01c")) || has(&hex!("5ffd5b"));
        let evm_range = match () {
            () if pushes_zero => EvmRange::FromShanghai,
            () if has(&hex!("60e01c")) || has(&hex!("60e01b")) => EvmRange::BeforeShanghai,
            () if has(&old_dispatch) || has(&hex!("60e060020a")) => EvmRange::BeforeConstantinople,
            () => EvmRange::Unknown,
        };
        let swaps = code.windows(2).filter(|pair| **pair == SWAP1_POP).count();
        Self {
            via_ir: match (has(&hex!("361015")), has(&hex!("361061"))) {
                (true, false) => Some(true),
                (false, true) => Some(false),
                _ => None,
            },
            // Unoptimized code has such a pair every 50 to 170 bytes, optimized code every 500 bytes or more.
            optimized: swaps * 250 < code.len(),
            optimized_for_size: match (contains(code, &SHORT_MASK), contains(code, &FULL_MASK)) {
                (true, false) => Some(true),
                (false, true) => Some(false),
                _ => None,
            },
            evm_range,
        }
    }

    /// Whether code for this version can have this fingerprint.
    pub(crate) fn allows(&self, version: EvmVersion) -> bool {
        match self.evm_range {
            EvmRange::BeforeConstantinople => version < EvmVersion::Constantinople,
            EvmRange::BeforeShanghai => (EvmVersion::Constantinople..EvmVersion::Shanghai).contains(&version),
            EvmRange::FromShanghai => version >= EvmVersion::Shanghai,
            EvmRange::Unknown => true,
        }
    }
}

fn contains(code: &[u8], wanted: &[u8]) -> bool {
    code.windows(wanted.len()).any(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dispatchers_of_real_code_show_their_evm_version() {
        let evm_range = |head: &str| Fingerprint::of(&hex::decode(head).unwrap()).evm_range;
        assert_eq!(
            evm_range("608060405234801561000f575f80fd5b5060043610610055575f3560e01c8063"),
            EvmRange::FromShanghai
        );
        assert_eq!(
            evm_range("608060405234801561001057600080fd5b50600436106100575760003560e01c80"),
            EvmRange::BeforeShanghai
        );
        assert_eq!(
            evm_range("6080604052600436106100535763ffffffff60e060020a60003504166327e235e3"),
            EvmRange::BeforeConstantinople
        );
        let old =
            "60806040526004361061006d576000357c0100000000000000000000000000000000000000000000000000000000900463ff";
        assert_eq!(evm_range(old), EvmRange::BeforeConstantinople);
        assert_eq!(evm_range(""), EvmRange::Unknown);
    }

    #[test]
    fn masks_show_the_runs_unless_they_are_in_a_created_contract() {
        let optimized_for_size = |code: &str| Fingerprint::of(&hex::decode(code).unwrap()).optimized_for_size;
        let (long, short) = (format!("6080604052{}", "ff".repeat(20)), "60806040526001600160a01b03");
        assert_eq!((optimized_for_size(&long), optimized_for_size(short)), (Some(false), Some(true)));
        assert_eq!(optimized_for_size(&format!("{long}fe{short}00")), Some(false));
        assert_eq!(optimized_for_size(&format!("{long}{}", &short[10..])), None);
    }

    #[test]
    fn the_dispatcher_shows_ir_and_swaps_show_the_optimizer() {
        let fingerprint = |code: &str| Fingerprint::of(&hex::decode(code).unwrap());
        assert_eq!(fingerprint("6080806040526004361015610012575f80fd5b5f3560e01c9081").via_ir, Some(true));
        assert_eq!(fingerprint("608060405234801561000f575f80fd5b5060043610610055575f3560e01c").via_ir, Some(false));
        assert_eq!(fingerprint("6080604052").via_ir, None);
        assert!(!fingerprint(&"9050600160020150".repeat(20)).optimized);
        assert!(fingerprint(&format!("9050{}", "60016002".repeat(100))).optimized);
    }
}
