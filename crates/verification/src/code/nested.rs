/// The contract's own code without the code of contracts that it creates. A heuristic: embedded code follows a STOP or
/// INVALID and starts by setting the free memory pointer.
pub(crate) fn without_nested_code(code: &[u8]) -> &[u8] {
    let begins_nested = |window: &[u8]| {
        matches!(window, [0x00 | 0xfe, 0x60, _, 0x60, 0x40, 0x52, ..] | [0x00 | 0xfe, 0x60, _, 0x80, 0x60, 0x40, 0x52])
    };
    let end = code.windows(7).position(begins_nested);
    end.and_then(|end| code.get(..end)).unwrap_or(code)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::hex;

    use super::*;

    #[test]
    fn embedded_contracts_are_cut_off() {
        assert_eq!(without_nested_code(&hex!("6080604052600056fe608060405260018080")), hex!("6080604052600056"));
        assert_eq!(without_nested_code(&hex!("6080604052600056fe60a0806040526001")), hex!("6080604052600056"));
        for whole in [hex!("6080604052600056608060405201").as_slice(), &hex!("fe60"), &[]] {
            assert_eq!(without_nested_code(whole), whole);
        }
    }
}
