//! Balances of many accounts in one `eth_call`: it runs a program that reads and returns them.
//!
//! Like [`crate::methods::contract_calls`], the program is sent as the code of a contract to create. What it returns must not be longer than
//! code may be, so each balance has 16 bytes: more than any coin in use needs.

use alloy_primitives::{Bytes, U256, address};
use domain::Address;

/// Accounts whose balances one call returns: it must not be longer than 24,576 bytes.
pub const BALANCES_PER_CALL: usize = 1_535;
/// About 2,800 for each account, and 200 for each byte returned, which is 10 million in all.
pub(crate) const GAS: u64 = 30_000_000;
/// Some nodes give the sender of a call a balance, so it is not the zero address, which is often among the largest accounts.
pub(crate) const SENDER: Address = address!("0xb41a0ce5b41a0ce5b41a0ce5b41a0ce5b41a0ce5");
const BALANCE_BYTES: usize = 16;

/// Addresses follow the program. It returns a zero, since code may not begin with 0xef, and 16 bytes for each account: all ones if
/// its balance is larger. On the stack are where the addresses end, where the next balance is written and where the next
/// address is.
const PROGRAM: [u8; 62] = [
    // The addresses are copied to memory. Balances begin one byte after them.
    0x60, 62, 0x38, 0x03, 0x80, 0x60, 62, 0x60, 0, 0x39, // CODECOPY(0, 62, CODESIZE - 62)
    0x80, 0x60, 1, 0x01, 0x60, 0, // the end of the addresses, that plus one, 0
    // 16: the next address
    0x5b, 0x82, 0x81, 0x14, 0x60, 55, 0x57, // after the last one: jump to 55
    0x80, 0x51, 0x60, 96, 0x1c, 0x31, // BALANCE
    0x80, 0x60, 128, 0x1c, 0x15, 0x15, 0x60, 0, 0x03, 0x17, // | (all ones if it has more than 128 bits)
    0x60, 128, 0x1b, 0x82, 0x52, // MSTORE, with 16 zeros after it
    0x60, 20, 0x01, 0x90, 0x60, 16, 0x01, 0x90, 0x60, 16, 0x56, // jump to 16
    0x5b, 0x50, 0x81, 0x90, 0x03, 0x90, 0xf3, // 55: RETURN the zero and the balances
];

/// The code with the addresses.
pub(crate) fn pack(addresses: &[Address]) -> Bytes {
    let mut code = PROGRAM.to_vec();
    code.extend(addresses.iter().flat_map(|address| address.into_array()));
    code.into()
}

/// The balances of this many accounts, None for one that is too large to be returned; None if the program did not return them.
pub(crate) fn unpack(returned: &[u8], accounts: usize) -> Option<Vec<Option<U256>>> {
    let (0, balances) = returned.split_first().map(|(first, rest)| (*first, rest))? else { return None };
    let (balances, rest) = balances.as_chunks::<BALANCE_BYTES>();
    let balance = |bytes: &[u8; BALANCE_BYTES]| Some(u128::from_be_bytes(*bytes)).filter(|value| *value != u128::MAX);
    let balances: Vec<_> = balances.iter().map(|bytes| balance(bytes).map(U256::from)).collect();
    (rest.is_empty() && balances.len() == accounts).then_some(balances)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_accounts_as_allowed_stay_within_the_limits_of_code() {
        assert_eq!(pack(&[Address::ZERO; BALANCES_PER_CALL]).len(), 62 + 20 * BALANCES_PER_CALL);
        const { assert!(62 + 20 * BALANCES_PER_CALL <= 40 * 1024) };
        const { assert!(BALANCE_BYTES * BALANCES_PER_CALL < 24_576 && BALANCE_BYTES * (BALANCES_PER_CALL + 1) >= 24_576) };
    }

    #[test]
    fn balances_are_read_as_the_program_writes_them() {
        let mut returned = vec![0];
        returned.extend(5_u128.to_be_bytes());
        returned.extend(u128::MAX.to_be_bytes());
        assert_eq!(unpack(&returned, 2).unwrap(), [Some(U256::from(5)), None]);
        assert_eq!(unpack(&returned, 1), None);
        assert_eq!(unpack(&returned, 3), None);
        assert_eq!(unpack(&returned[..20], 1), None, "a part of a balance");
        assert_eq!(unpack(&[], 0), None);
        returned[0] = 1;
        assert_eq!(unpack(&returned, 2), None);
    }
}
