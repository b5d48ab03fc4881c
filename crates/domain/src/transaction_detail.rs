use alloy_primitives::{Address, B256, Bytes, U256};

use crate::{Log, Page, Trade, Transfer};

/// Details of a transaction that are not in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionDetail {
    pub block_hash: B256,
    /// Call data or creation code.
    pub input: Bytes,
    pub gas_limit: u64,
    /// The transaction type: 0 for legacy, 2 for EIP-1559.
    pub tx_type: u64,
    /// EIP-1559.
    pub max_fee_per_gas: Option<u128>,
    pub max_priority_fee_per_gas: Option<u128>,
    /// Gas used in the block up to and including this transaction; None if the node does not say.
    pub cumulative_gas_used: Option<u64>,
    /// Entries of the access list (EIP-2930).
    pub access_list_length: Option<usize>,
    /// The authorization list (EIP-7702).
    pub authorizations: Option<Vec<Authorization>>,
    /// Set for blob transactions (EIP-4844).
    pub blobs: Option<BlobFields>,
    pub logs: Vec<Log>,
    /// Fields of types that only some chains have, by name: as the node sends them.
    pub other_fields: Vec<(String, String)>,
}

/// An account lets the code of another one run in its place (EIP-7702).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Authorization {
    /// Zero for every chain.
    pub chain_id: U256,
    /// Whose code runs; the zero address ends a delegation.
    pub delegate: Address,
    /// It has an effect only if this is the nonce of the account at that moment.
    pub nonce: u64,
    /// The account; None if the signature is invalid.
    pub signer: Option<Address>,
    pub outcome: AuthorizationOutcome,
}

/// Whether an authorization had an effect, which does not depend on what else its transaction did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthorizationOutcome {
    Applied,
    OtherChain,
    InvalidSignature,
    /// The account had another nonce.
    OtherNonce,
    /// The account was a contract.
    HasCode,
    /// Nothing tells the state of the account at that moment.
    Unknown,
}

impl Authorization {
    /// What follows from the authorization alone.
    #[must_use]
    pub fn outcome_on(&self, chain_id: u64) -> AuthorizationOutcome {
        match self.signer {
            _ if !self.chain_id.is_zero() && self.chain_id != U256::from(chain_id) => AuthorizationOutcome::OtherChain,
            None => AuthorizationOutcome::InvalidSignature,
            // No account can have the nonce after it.
            Some(_) if self.nonce == u64::MAX => AuthorizationOutcome::OtherNonce,
            Some(_) => AuthorizationOutcome::Unknown,
        }
    }
}

/// The blob fields of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobFields {
    /// The versioned hashes of the blobs.
    pub hashes: Vec<B256>,
    pub max_fee_per_gas: Option<u128>,
    pub gas_used: Option<u64>,
    pub gas_price: Option<u128>,
}

/// Some transfers and trades of a transaction, with totals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionEvents {
    pub transfers: Page<Transfer>,
    pub trades: Page<Trade>,
}
