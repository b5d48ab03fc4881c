use alloy_primitives::{Address, hex};

/// The code of EIP-1167 before and after the address.
const HEAD: [u8; 9] = hex!("363d3d373d3d3d363d");
const TAIL: [u8; 5] = hex!("5af43d8280");
/// The variant with PUSH0.
const HEAD_PUSH0: [u8; 9] = hex!("365f5f375f5f365f73");
const TAIL_PUSH0: [u8; 2] = hex!("5af4");
const ADDRESS_BYTES: usize = 20;

/// The target of a minimal proxy (EIP-1167), also if leading zeros of the address are omitted; None for any other code.
#[must_use]
pub fn minimal_proxy_target(code: &[u8]) -> Option<Address> {
    if let Some(rest) = code.strip_prefix(&HEAD_PUSH0) {
        let (address, rest) = rest.split_at_checked(ADDRESS_BYTES)?;
        return rest.starts_with(&TAIL_PUSH0).then(|| Address::from_slice(address));
    }
    let rest = code.strip_prefix(&HEAD)?;
    let (push, rest) = rest.split_first()?;
    let width = usize::from(push.checked_sub(0x5f)?);
    if !(1..=ADDRESS_BYTES).contains(&width) {
        return None;
    }
    let (pushed, rest) = rest.split_at_checked(width)?;
    rest.starts_with(&TAIL).then(|| Address::left_padding_from(pushed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_of_all_minimal_proxy_variants_are_found() {
        let tail = "5af43d82803e903d91602b57fd5bf3";
        let full = hex::decode(format!("363d3d373d3d3d363d73{}{tail}", "ab".repeat(20))).unwrap();
        assert_eq!(minimal_proxy_target(&full), Some(Address::repeat_byte(0xab)));
        let short = hex::decode(format!("363d3d373d3d3d363d6f{}{tail}", "cd".repeat(16))).unwrap();
        assert_eq!(minimal_proxy_target(&short), Some(Address::left_padding_from(&[0xcd; 16])));
        let newer =
            hex::decode(format!("365f5f375f5f365f73{}5af43d5f5f3e5f3d91602a57fd5bf3", "ef".repeat(20))).unwrap();
        assert_eq!(minimal_proxy_target(&newer), Some(Address::repeat_byte(0xef)));
        assert_eq!(minimal_proxy_target(&full[..20]), None);
        assert_eq!(minimal_proxy_target(&hex!("6080604052")), None);
    }
}
