//! Submits intents with a random transaction type and price.

use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::{Address, B256, U256};
use rand::{Rng, rngs::StdRng};

use super::{
    TrafficError,
    amount::spread,
    intent::{Intent, Outcome},
};
use crate::{DevChain, SendError, TransactionType};

/// Intrinsic gas of the access list.
const ACCESS_LIST_GAS: u64 = 5_000;

const MAX_TIP: u64 = 5_000_000_000;

/// A submitted transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    pub hash: B256,
    /// The intended outcome.
    pub outcome: Outcome,
}

/// Signs an intent with a random type and price, and submits it.
pub(super) fn send(chain: &DevChain, intent: Intent, rng: &mut StdRng) -> Result<Sent, SendError> {
    let (tx_type, extra_gas) = match rng.random_range(0..100) {
        0..60 => (TransactionType::DynamicFee, 0),
        60..85 => (TransactionType::Legacy, 0),
        _ => (TransactionType::AccessList(access_list(intent.to)), ACCESS_LIST_GAS),
    };
    let hash = chain
        .draft(intent.from.0)?
        .kind(intent.to.into())
        .value(intent.value)
        .data(intent.input)
        .gas_limit(intent.gas + extra_gas)
        .tx_type(tx_type)
        .tip(spread(U256::from(MAX_TIP), rng).saturating_to())
        .submit()?;
    Ok(Sent { hash, outcome: intent.outcome })
}

/// Mines one block with these transactions, which must have the intended outcomes. Returns their hashes.
pub(super) fn mine(chain: &DevChain, intents: &[Intent]) -> Result<Vec<B256>, TrafficError> {
    let mut hashes = Vec::with_capacity(intents.len());
    for intent in intents {
        let draft = chain.draft(intent.from.0)?.gas_limit(intent.gas);
        let draft = draft.value(intent.value).data(intent.input.clone());
        hashes.push(draft.kind(intent.to.into()).submit()?);
    }
    chain.mine(None);
    for (intent, &transaction) in intents.iter().zip(&hashes) {
        let succeeds = intent.outcome == Outcome::Succeeds;
        if chain.receipt(transaction).is_none_or(|included| included.transaction().succeeded() != succeeds) {
            return Err(TrafficError::UnintendedOutcome { transaction });
        }
    }
    Ok(hashes)
}

/// The recipient and its first slot; empty for a creation.
fn access_list(to: Option<Address>) -> AccessList {
    let item = |address| AccessListItem { address, storage_keys: vec![B256::ZERO] };
    AccessList(to.map(item).into_iter().collect())
}
