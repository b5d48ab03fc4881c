//! Logs of the chain's coin (EIP-7708). The protocol emits one for each move of coins, and the hash of the block covers them: they tell
//! what internal transactions moved without a trace.

use alloy_primitives::{Address, B256, U256, b256};
use domain::{InternalEvent, InternalKind, LogEvent, Transaction};

use crate::abi::{address, number, words};

/// `Transfer(address,address,uint256)`
const TRANSFER: B256 = b256!("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");
/// `Burn(address,uint256)`
const BURN: B256 = b256!("cc16f5dbb4873280815c1ee09dbd06736cffcc184412cf7a71a0fdb75d397ca5");

/// Coins that moved, or were destroyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Move {
    from: Address,
    to: Option<Address>,
    value: U256,
}

impl Move {
    fn read(log: &LogEvent) -> Option<Self> {
        let [value] = words(log.data.as_ref()?)?;
        let (from, to) = match log.topics.as_slice() {
            [TRANSFER, from, to] => (from, Some(address(to)?)),
            [BURN, from] => (from, None),
            _ => return None,
        };
        Some(Self { from: address(from)?, to, value: number(&value) })
    }

    /// What the transaction itself moved, to another account.
    fn of_transaction(tx: &Transaction) -> Option<Self> {
        let to = tx.to.or(tx.created);
        let moved = tx.succeeded && !tx.value.is_zero() && to != Some(tx.from);
        moved.then_some(Self { from: tx.from, to, value: tx.value })
    }

    fn event(self, tx_index: u32, position: u32) -> InternalEvent {
        let Self { from, to, value } = self;
        let kind = if to.is_some() { InternalKind::Transfer } else { InternalKind::Burn };
        InternalEvent { tx_index, position, kind, from, to, value, gas: 0, gas_used: 0, error: None }
    }
}

/// The internal moves of coins in a block, from the logs of the system address in it. None if they do not tell: the transactions moved
/// coins without such a log, or a log is of an unknown form.
pub(crate) fn internal_moves(transactions: &[Transaction], logs: &[LogEvent]) -> Option<Vec<InternalEvent>> {
    let mut events = Vec::new();
    let mut logs = logs.iter().peekable();
    for tx in transactions {
        let mut moves = Vec::new();
        while let Some(log) = logs.next_if(|log| log.tx_index == tx.index) {
            moves.push(Move::read(log)?);
        }
        let mut moves = moves.into_iter().peekable();
        if let Some(own) = Move::of_transaction(tx)
            && moves.next() != Some(own)
        {
            return None;
        }
        events.extend((0..).zip(moves).map(|(position, moved)| moved.event(tx.index, position)));
    }
    logs.next().is_none().then_some(events)
}

/// Whether a trace moved the same coins. Coins that are destroyed are not compared: traces show them in other places.
pub(crate) fn agree(traced: &[InternalEvent], logged: &[InternalEvent]) -> bool {
    let moves = |events: &[InternalEvent]| -> Vec<(u32, Address, Address, U256)> {
        let moved = events.iter().filter(|event| event.moves_value() && event.to != Some(event.from));
        moved.filter_map(|event| Some((event.tx_index, event.from, event.to?, event.value))).collect()
    };
    moves(traced) == moves(logged)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;
    use domain::SYSTEM_ADDRESS;

    use super::*;
    use crate::decode::samples::{POOL, ROUTER, SENDER, TOKEN, address_topic, log, transaction, uint};

    fn moved(tx_index: u32, from: Address, to: Address, value: u64) -> LogEvent {
        let log = log(SYSTEM_ADDRESS, [TRANSFER, address_topic(from), address_topic(to)], uint(value));
        LogEvent { tx_index, ..log.into() }
    }

    fn burnt(tx_index: u32, from: Address, value: u64) -> LogEvent {
        LogEvent { tx_index, ..log(SYSTEM_ADDRESS, [BURN, address_topic(from)], uint(value)).into() }
    }

    fn paying(index: u32, value: u64) -> Transaction {
        Transaction { value: U256::from(value), ..transaction(index, Some(ROUTER), None) }
    }

    #[test]
    fn what_follows_the_payment_of_the_transaction_is_internal() {
        let transactions = [paying(0, 5), paying(1, 0), Transaction { succeeded: false, ..paying(2, 9) }];
        let logs =
            [moved(0, SENDER, ROUTER, 5), moved(0, ROUTER, POOL, 3), burnt(0, ROUTER, 2), moved(1, ROUTER, TOKEN, 7)];
        let found = internal_moves(&transactions, &logs).unwrap();
        let seen: Vec<_> = found.iter().map(|event| (event.tx_index, event.position, event.kind, event.to)).collect();
        assert_eq!(
            seen,
            [
                (0, 0, InternalKind::Transfer, Some(POOL)),
                (0, 1, InternalKind::Burn, None),
                (1, 0, InternalKind::Transfer, Some(TOKEN)),
            ]
        );
    }

    #[test]
    fn logs_that_do_not_fit_the_transactions_tell_nothing() {
        assert_eq!(internal_moves(&[paying(0, 5)], &[]), None, "before the fork");
        assert_eq!(internal_moves(&[paying(0, 5)], &[moved(0, SENDER, ROUTER, 4)]), None);
        assert_eq!(internal_moves(&[paying(0, 0)], &[moved(1, SENDER, ROUTER, 4)]), None);
        let unknown = LogEvent::from(log(SYSTEM_ADDRESS, [B256::repeat_byte(7)], []));
        assert_eq!(internal_moves(&[paying(0, 0)], &[unknown]), None);
        assert_eq!(internal_moves(&[paying(0, 0)], &[]), Some(Vec::new()));
        let to_itself = Transaction { to: Some(SENDER), ..paying(0, 5) };
        assert_eq!(internal_moves(&[to_itself], &[]), Some(Vec::new()));
    }

    #[test]
    fn traces_and_logs_agree_on_what_moved() {
        let logged = internal_moves(&[paying(0, 0)], &[moved(0, ROUTER, POOL, 3)]).unwrap();
        let call = InternalEvent { kind: InternalKind::Call, gas: 7, ..logged[0].clone() };
        let nothing = InternalEvent { value: U256::ZERO, ..call.clone() };
        let to_itself = InternalEvent { to: Some(ROUTER), ..call.clone() };
        let failed = InternalEvent { error: Some("out of gas".to_owned()), ..call.clone() };
        assert!(agree(&[nothing.clone(), call.clone(), to_itself, failed], &logged));
        assert!(!agree(&[nothing], &logged));
        assert!(!agree(&[InternalEvent { value: U256::from(4), ..call }], &logged));
    }

    #[test]
    fn each_topic_is_the_hash_of_its_signature() {
        assert_eq!(TRANSFER, keccak256("Transfer(address,address,uint256)"));
        assert_eq!(BURN, keccak256("Burn(address,uint256)"));
    }
}
