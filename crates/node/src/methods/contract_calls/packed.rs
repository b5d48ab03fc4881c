//! Many contract calls in one `eth_call`: it runs a program that makes them and returns what they returned.
//!
//! The program is sent as the code of a contract to create, which needs nothing on the chain. Each call has its own gas, so that
//! none can take that of the others.

use alloy_primitives::Bytes;

use super::contract_call::ContractCall;

/// Calls in one program. What it returns must not be longer than code may be, which is 24,576 bytes.
pub(crate) const MAX_CALLS: usize = 64;
/// Of the whole program: all calls but hostile ones take far less.
pub(crate) const GAS: u64 = 30_000_000;
/// Of the program with its calls: code that creates a contract must not be longer than 49,152 bytes.
const MAX_BYTES: usize = 40 * 1024;
/// Bytes that are returned of the result of one call.
const MAX_RETURNED: usize = 256;
/// Bytes before what a call returned: how it ended, and the size of the result.
const HEAD: usize = 5;
const SUCCEEDED: u8 = 1;
/// The call had all of its gas, so that its failure says what it would if it were called alone.
const HAD_GAS: u8 = 2;

/// Calls follow the program: the address, the length of the data in two bytes, and the data. It returns a zero, since code may not
/// begin with 0xef, and for each call how it ended (1 byte), the size of the result (4) and up to 256 bytes of it. On the stack are
/// where the calls end, where the next result begins and where the next call does.
const PROGRAM: [u8; 118] = [
    // The calls are copied to memory. Results begin one byte after them.
    0x60, 118, 0x38, 0x03, 0x80, 0x60, 118, 0x60, 0, 0x39, // CODECOPY(0, 118, CODESIZE - 118)
    0x80, 0x60, 1, 0x01, 0x60, 0, // the end of the calls, that plus one, 0
    // 16: the next call
    0x5b, 0x82, 0x81, 0x14, 0x60, 111, 0x57, // after the last one: jump to 111
    0x80, 0x51, 0x80, 0x60, 80, 0x1c, 0x61, 0xff, 0xff, 0x16, // the length of its data
    0x90, 0x60, 96, 0x1c, 0x91, 0x60, 22, 0x01, // its address; its data begins after 22 bytes
    0x60, 0, 0x60, 0, 0x83, 0x83, 0x86, 0x62, 0x4c, 0x4b, 0x40, 0xfa, // STATICCALL with 5,000,000 gas
    0x62, 0x4d, 0xd1, 0xe0, 0x5a, 0x11, 0x60, 1, 0x1b, 0x17, // | (GAS > 5,100,000) << 1
    0x91, 0x01, 0x92, 0x91, 0x50, // the next call begins after the data
    0x81, 0x53, 0x3d, 0x80, 0x60, 224, 0x1b, 0x82, 0x60, 1, 0x01, 0x52, // how it ended, and RETURNDATASIZE
    0x61, 1, 0, 0x81, 0x11, 0x60, 91, 0x57, 0x60, 96, 0x56, // more than 256 bytes: jump to 91, else to 96
    0x5b, 0x50, 0x61, 1, 0, // 91: only 256
    0x5b, 0x90, 0x60, 5, 0x01, 0x81, 0x60, 0, 0x82, 0x3e, 0x01, // 96: RETURNDATACOPY
    0x90, 0x60, 16, 0x56, // jump to 16
    0x5b, 0x50, 0x81, 0x90, 0x03, 0x90, 0xf3, // 111: RETURN the zero and the results
];

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Packed {
    Returned(Bytes),
    Failed,
    /// The result is too long, or the call failed for lack of gas: it has to be called alone.
    Unclear,
}

/// The code with the calls; None if it would be too long.
pub(crate) fn pack(calls: &[ContractCall]) -> Option<Bytes> {
    let mut code = PROGRAM.to_vec();
    for ContractCall { to, data } in calls {
        code.extend_from_slice(to.as_slice());
        code.extend_from_slice(&u16::try_from(data.len()).ok()?.to_be_bytes());
        code.extend_from_slice(data);
    }
    (code.len() <= MAX_BYTES).then(|| code.into())
}

/// The results of this many calls; None if the program did not return them.
pub(crate) fn unpack(returned: &[u8], calls: usize) -> Option<Vec<Packed>> {
    let (0, mut rest) = returned.split_first().map(|(first, rest)| (*first, rest))? else { return None };
    let mut results = Vec::with_capacity(calls);
    for _ in 0..calls {
        let (&[status, ref size @ ..], after) = rest.split_first_chunk::<HEAD>()?;
        let size = usize::try_from(u32::from_be_bytes(*size)).ok()?;
        let (data, after) = after.split_at_checked(size.min(MAX_RETURNED))?;
        results.push(match status {
            _ if status & SUCCEEDED != 0 && size > MAX_RETURNED => Packed::Unclear,
            _ if status & SUCCEEDED != 0 => Packed::Returned(Bytes::copy_from_slice(data)),
            _ if status & HAD_GAS != 0 => Packed::Failed,
            _ => Packed::Unclear,
        });
        rest = after;
    }
    rest.is_empty().then_some(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_with_too_much_data_are_not_packed() {
        let calls = |bytes: usize| vec![ContractCall { to: Default::default(), data: vec![0; bytes].into() }; 2];
        assert_eq!(pack(&calls(100)).map(|code| code.len()), Some(PROGRAM.len() + 2 * 122));
        assert_eq!(pack(&calls(30_000)), None);
        assert_eq!(pack(&calls(70_000)), None);
    }

    #[test]
    fn results_are_read_as_the_program_writes_them() {
        let mut returned = vec![0];
        returned.extend([3, 0, 0, 0, 2, 7, 8]);
        returned.extend([2, 0, 0, 0, 1, 9]);
        returned.extend([0, 0, 0, 0, 0]);
        returned.extend([3, 0, 0, 1, 1]);
        returned.extend([5; 256]);
        let expected =
            [Packed::Returned(Bytes::from_static(&[7, 8])), Packed::Failed, Packed::Unclear, Packed::Unclear];
        assert_eq!(unpack(&returned, 4).unwrap(), expected);
        assert_eq!(unpack(&returned, 3), None);
        assert_eq!(unpack(&returned, 5), None);
        assert_eq!(unpack(&[], 0), None);
    }
}
