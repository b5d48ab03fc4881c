//! Decodes a block's logs. Pure: the same block always gives the same result.

mod approvals;
mod events;
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub(crate) mod fuzzing;
mod involvement;
#[cfg(test)]
pub(crate) mod samples;
mod swaps;
mod touches;
mod transfers;

use approvals::approval;
use domain::{
    ApprovalEvent, Block, CreditEvent, FetchedBlock, InnerCreation, Involvement, LogEvent, SYSTEM_ADDRESS,
    TouchedHolder, Transaction,
};
use involvement::involvements;
#[cfg(test)]
pub(crate) use swaps::Exchanged;
pub(crate) use swaps::SwapCandidate;
use swaps::swap;
use touches::touched_holder;
pub(crate) use transfers::Transfers;

/// A block decoded from its logs. Contract calls must still resolve which emitters of swaps are pools, and the standard of
/// ambiguous transfers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DecodedBlock {
    pub(crate) block: Block,
    pub(crate) transactions: Vec<Transaction>,
    pub(crate) involved: Vec<Involvement>,
    /// In log order.
    pub(crate) logs: Vec<LogEvent>,
    pub(crate) transfers: Transfers,
    /// In log order.
    pub(crate) approvals: Vec<ApprovalEvent>,
    /// Without duplicates.
    pub(crate) touched_holders: Vec<TouchedHolder>,
    /// In log order.
    pub(crate) swaps: Vec<SwapCandidate>,
    /// None if unknown.
    pub(crate) inner_creations: Option<Vec<InnerCreation>>,
    pub(crate) credits: Vec<CreditEvent>,
}

#[must_use]
pub(crate) fn decode_block(fetched: FetchedBlock, inner_creations: Option<Vec<InnerCreation>>) -> DecodedBlock {
    let FetchedBlock { block, transactions, mut logs, credits } = fetched;
    let involved = involvements(&transactions, &logs, inner_creations.as_deref().unwrap_or_default());
    let mut transfers = Transfers::default();
    let (mut approvals, mut touched_holders) = (Vec::new(), Vec::new());
    let mut swaps = Vec::new();
    let is_known = |tx_index: u32| usize::try_from(tx_index).is_ok_and(|index| index < transactions.len());
    logs.retain(|log| is_known(log.tx_index));
    // The logs of the protocol itself (EIP-7708) are in the form of transfers of a token.
    for log in logs.iter().filter(|log| log.address != SYSTEM_ADDRESS) {
        transfers.take(log);
        approvals.extend(approval(log));
        touched_holders.extend(touched_holder(log));
        swaps.extend(swap(log));
    }
    touched_holders.sort_unstable();
    touched_holders.dedup();
    let logs = logs.into_iter().map(LogEvent::from).collect();
    DecodedBlock {
        block,
        transactions,
        involved,
        logs,
        transfers,
        approvals,
        touched_holders,
        swaps,
        inner_creations,
        credits,
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, B256};
    use domain::Log;
    use proptest::prelude::*;

    use super::{
        events::{SWAP_V2, SWAP_V3, SWAP_V3_WITH_FEES, TRANSFER, TRANSFER_BATCH, TRANSFER_SINGLE},
        samples::{address_topic, fetched, uint},
        *,
    };

    fn topic() -> impl Strategy<Value = B256> {
        let event =
            prop::sample::select(vec![TRANSFER, TRANSFER_SINGLE, TRANSFER_BATCH, SWAP_V2, SWAP_V3, SWAP_V3_WITH_FEES]);
        let address = any::<u8>().prop_map(|byte| address_topic(Address::repeat_byte(byte)));
        prop_oneof![3 => event, 3 => address, 1 => any::<[u8; 32]>().prop_map(B256::new)]
    }

    /// Words that look like offsets, lengths and amounts, followed by a few odd bytes.
    fn data() -> impl Strategy<Value = Vec<u8>> {
        let word = prop_oneof![
            4 => (0u64..12).prop_map(|words| uint(words * 32)),
            4 => (0u64..4).prop_map(uint),
            1 => any::<[u8; 32]>(),
            1 => Just([0xff; 32]),
        ];
        (prop::collection::vec(word, 0..12), prop::collection::vec(any::<u8>(), 0..3))
            .prop_map(|(words, rest)| [words.concat(), rest].concat())
    }

    fn any_log() -> impl Strategy<Value = Log> {
        (0u32..3, any::<u8>(), prop::collection::vec(topic(), 0..6), data()).prop_map(
            |(tx_index, emitter, topics, data)| Log {
                tx_index,
                log_index: 0,
                address: Address::repeat_byte(emitter),
                topics,
                data: data.into(),
            },
        )
    }

    #[test]
    fn logs_of_the_protocol_are_logs_and_nothing_else() {
        let [one, two] = [1, 2].map(|byte| address_topic(Address::repeat_byte(byte)));
        let native = samples::log(SYSTEM_ADDRESS, [TRANSFER, one, two], uint(5));
        let approval = samples::log(SYSTEM_ADDRESS, [super::events::APPROVAL, one, two], uint(5));
        let wrapped = samples::log(SYSTEM_ADDRESS, [super::events::DEPOSIT, one], uint(5));
        let decoded = decode_block(fetched(vec![native, approval, wrapped]), None);
        assert_eq!(decoded.logs.len(), 3);
        assert_eq!(decoded.transfers, Transfers::default());
        assert!(decoded.approvals.is_empty() && decoded.touched_holders.is_empty() && decoded.involved.is_empty());
    }

    proptest! {
        #[test]
        fn decoding_any_logs_keeps_order_and_bounds(logs in prop::collection::vec(any_log(), 0..40)) {
            let words: usize = logs.iter().map(|log| log.data.len() / 32 + 1).sum();
            let decoded = decode_block(fetched(logs), None);
            let transfers = &decoded.transfers.events;
            prop_assert!(transfers.len() <= words);
            let position = |index: usize| (transfers[index].log_index, transfers[index].batch_index);
            prop_assert!((1..transfers.len()).all(|index| position(index - 1) < position(index)));
            prop_assert!(decoded.swaps.windows(2).all(|pair| pair[0].log_index < pair[1].log_index));
            prop_assert!(transfers.iter().all(|transfer| transfer.tx_index == 0));
            prop_assert!(decoded.transfers.ambiguous.iter().all(|index| *index < transfers.len()));
        }
    }
}
