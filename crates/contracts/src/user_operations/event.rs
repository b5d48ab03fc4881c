//! The events of the entry points.

use alloy_primitives::{Address, B256, U256, address, b256};
use domain::{IndexedLog, LogEvent};

use super::UserOperation;
use crate::revert_reason;

/// Versions 0.6, 0.7 and 0.8.
pub(super) const ENTRY_POINTS: [Address; 3] = [
    address!("5ff137d4b0fdcd49dca30c7cf57e578a026d2789"),
    address!("0000000071727de22e5e9d8baf0edac6f37da032"),
    address!("4337084d9e255ff0702461cf8895ce9e3b5ff108"),
];
/// `UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)`.
pub(super) const EXECUTED: B256 = b256!("49628fd1471006c1482da88028e9ce4dbb080b815c9b0344d39e5a8e6ec1419f");
/// `UserOperationRevertReason(bytes32,address,uint256,bytes)`.
pub(super) const REVERTED: B256 = b256!("1c4fada7374c0a9ee8841fc38afe82932dc0f8e69012e927f061a8bae611a201");

fn word(data: &[u8], index: usize) -> Option<U256> {
    Some(U256::from_be_slice(data.get(32 * index..32 * index + 32)?))
}

pub(super) fn executed(log: &IndexedLog, bundler: Address) -> Option<UserOperation> {
    let event = &log.event;
    let [_, hash, sender, paymaster] = event.topics.as_slice() else { return None };
    let data = event.data.as_ref()?;
    let address = |topic: &B256| Address::from_word(*topic);
    Some(UserOperation {
        hash: *hash,
        entry_point: event.address,
        sender: address(sender),
        paymaster: Some(address(paymaster)).filter(|paymaster| !paymaster.is_zero()),
        bundler,
        nonce: word(data, 0)?,
        succeeded: !word(data, 1)?.is_zero(),
        gas_cost: word(data, 2)?,
        gas_used: word(data, 3)?,
        reason: None,
        tx_hash: log.tx_hash,
        block_number: log.block_number,
        timestamp: log.timestamp,
        log_index: event.log_index,
    })
}

/// The reason in the data of a revert.
pub(super) fn reason_of(event: &LogEvent) -> Option<String> {
    let data = event.data.as_ref()?;
    let start = usize::try_from(word(data, 1)?).ok()?;
    let length = usize::try_from(word(data.get(start..)?, 0)?).ok()?;
    let begin = start.checked_add(32)?;
    let reverted = data.get(begin..begin.checked_add(length)?)?;
    Some(revert_reason(Some(reverted), "", []))
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;
    use domain::LogEvent;

    use super::*;

    #[test]
    fn the_topics_are_those_of_the_events() {
        assert_eq!(keccak256("UserOperationEvent(bytes32,address,address,uint256,bool,uint256,uint256)"), EXECUTED);
        assert_eq!(keccak256("UserOperationRevertReason(bytes32,address,uint256,bytes)"), REVERTED);
    }

    fn event(data: Vec<u8>) -> LogEvent {
        LogEvent {
            tx_index: 0,
            log_index: 3,
            address: ENTRY_POINTS[0],
            topics: vec![REVERTED],
            data_size: u32::try_from(data.len()).unwrap(),
            data: Some(data.into()),
        }
    }

    #[test]
    fn the_reason_is_a_text_or_the_data_itself() {
        let words =
            |words: &[u64]| words.iter().flat_map(|word| U256::from(*word).to_be_bytes::<32>()).collect::<Vec<u8>>();
        let data = [words(&[7, 64, 3]), b"abc".to_vec(), vec![0; 29]].concat();
        assert_eq!(reason_of(&event(data)), Some("with the data 0x616263".to_owned()));
        assert_eq!(reason_of(&event(words(&[7, 64, 0]))), Some("without a reason".to_owned()));
        for broken in [words(&[7]), words(&[7, u64::MAX]), words(&[7, 64, u64::MAX])] {
            assert_eq!(reason_of(&event(broken)), None);
        }
    }
}
