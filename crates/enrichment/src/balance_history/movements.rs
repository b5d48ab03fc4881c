//! What transactions, payments inside them and transfers of a token do to the balance of an address.

use domain::{
    Address, Block, BlockNumber, Credit, Fee, InternalKind, InternalTransaction, Transaction, Transfer, U256,
};

/// What an address received and spent at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Movement {
    pub(super) block: BlockNumber,
    /// Of the block.
    pub(super) timestamp: u64,
    pub(super) received: U256,
    pub(super) spent: U256,
}

/// A sender always pays the fee. The value moves only if the transaction succeeds.
pub(super) fn of_transaction(address: Address, tx: &Transaction) -> Movement {
    let is_sender = tx.from == address;
    let value = if tx.succeeded { tx.value } else { U256::ZERO };
    let spent = if is_sender { tx.fee().saturating_add(value) } else { U256::ZERO };
    let received = if tx.to.or(tx.created) == Some(address) { value } else { U256::ZERO };
    Movement { block: tx.block_number, timestamp: tx.timestamp, received, spent }
}

/// What the protocol paid to the address.
pub(super) fn of_credit(credit: &Credit) -> Movement {
    let (block, timestamp) = (credit.block_number, credit.timestamp);
    Movement { block, timestamp, received: credit.event.amount, spent: U256::ZERO }
}

/// What the producer of a block earns of one of its transactions.
pub(super) fn of_tip(block: &Block, tx: &Transaction) -> Movement {
    let received = Fee::of(tx, block.base_fee_per_gas).tip();
    Movement { block: block.number, timestamp: block.timestamp, received, spent: U256::ZERO }
}

pub(super) fn of_internal(address: Address, found: &InternalTransaction) -> Movement {
    let event = &found.event;
    let value = if event.moves_value() { event.value } else { U256::ZERO };
    Movement {
        block: found.block_number,
        timestamp: found.timestamp,
        received: if event.to == Some(address) { value } else { U256::ZERO },
        spent: if event.from == address { value } else { U256::ZERO },
    }
}

pub(super) fn of_transfer(address: Address, transfer: &Transfer) -> Movement {
    let event = &transfer.event;
    Movement {
        block: transfer.block_number,
        timestamp: transfer.timestamp,
        received: if event.to == address { event.value } else { U256::ZERO },
        spent: if event.from == address { event.value } else { U256::ZERO },
    }
}

/// Whether coins of the address may have been destroyed, which is no payment: it destroyed itself and was its own heir, or
/// received coins in the same transaction afterwards.
pub(super) fn may_destroy_coins(address: Address, internal: &[InternalTransaction]) -> bool {
    let is_destruction = |found: &&InternalTransaction| {
        found.event.kind == InternalKind::SelfDestruct && found.event.from == address && found.event.error.is_none()
    };
    internal.iter().filter(is_destruction).any(|destroyed| {
        destroyed.event.moves_value() && destroyed.event.to == Some(address)
            || internal.iter().any(|later| {
                later.tx_hash == destroyed.tx_hash
                    && later.event.position > destroyed.event.position
                    && later.event.to == Some(address)
                    && later.event.moves_value()
            })
    })
}

#[cfg(test)]
mod tests {
    use domain::{B256, InternalEvent};

    use super::*;

    const ALICE: Address = Address::repeat_byte(0xa1);
    const BOB: Address = Address::repeat_byte(0xb0);

    fn payment(succeeded: bool) -> Transaction {
        Transaction {
            from: ALICE,
            to: Some(BOB),
            value: U256::from(100),
            gas_used: 21,
            gas_price: 2,
            succeeded,
            ..Transaction::sample()
        }
    }

    fn sums(movement: Movement) -> (u64, u64) {
        (u64::try_from(movement.received).unwrap(), u64::try_from(movement.spent).unwrap())
    }

    #[test]
    fn a_failed_transaction_costs_its_fee_alone() {
        assert_eq!(sums(of_transaction(ALICE, &payment(true))), (0, 142));
        assert_eq!(sums(of_transaction(BOB, &payment(true))), (100, 0));
        assert_eq!(sums(of_transaction(ALICE, &payment(false))), (0, 42));
        assert_eq!(sums(of_transaction(BOB, &payment(false))), (0, 0));
        let to_self = Transaction { to: Some(ALICE), ..payment(true) };
        assert_eq!(sums(of_transaction(ALICE, &to_self)), (100, 142));
    }

    #[test]
    fn a_created_contract_receives_the_value() {
        let creation = Transaction { to: None, created: Some(BOB), ..payment(true) };
        assert_eq!(sums(of_transaction(BOB, &creation)), (100, 0));
    }

    fn inner(kind: InternalKind, position: u32, to: Address, value: u64) -> InternalTransaction {
        let event = InternalEvent {
            tx_index: 0,
            position,
            kind,
            from: ALICE,
            to: Some(to),
            value: U256::from(value),
            gas: 0,
            gas_used: 0,
            error: None,
        };
        InternalTransaction { event, tx_hash: B256::ZERO, block_number: 7, timestamp: 70 }
    }

    #[test]
    fn a_reverted_inner_payment_moves_nothing() {
        let mut paid = inner(InternalKind::Call, 0, BOB, 5);
        assert_eq!(sums(of_internal(BOB, &paid)), (5, 0));
        assert_eq!(sums(of_internal(ALICE, &paid)), (0, 5));
        paid.event.error = Some("execution reverted".to_owned());
        assert_eq!([BOB, ALICE].map(|address| sums(of_internal(address, &paid))), [(0, 0); 2]);
    }

    #[test]
    fn only_a_destroyed_contract_loses_coins_without_a_payment() {
        let destroyed = inner(InternalKind::SelfDestruct, 1, BOB, 5);
        let refund = |position| {
            let mut paid = inner(InternalKind::Call, position, ALICE, 3);
            paid.event.from = BOB;
            paid
        };
        assert!(!may_destroy_coins(ALICE, std::slice::from_ref(&destroyed)));
        assert!(!may_destroy_coins(ALICE, &[destroyed.clone(), refund(0)]), "it was there before");
        assert!(may_destroy_coins(ALICE, &[destroyed, refund(2)]));
        assert!(may_destroy_coins(ALICE, &[inner(InternalKind::SelfDestruct, 0, ALICE, 5)]));
    }
}
