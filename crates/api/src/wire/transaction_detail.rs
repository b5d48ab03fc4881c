use std::collections::BTreeMap;

use alloy_primitives::hex;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, Decimal, Hash, Transaction};

/// Logs of a transaction that are listed.
const MAX_LOGS: usize = 1_000;

/// With what only the node has: null while it is unavailable, and if the type of the transaction does not have it.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransactionDetail {
    #[serde(flatten)]
    pub transaction: Transaction,
    #[schema(required = true)]
    pub gas_limit: Option<Decimal>,
    /// 0 for legacy transactions, 2 for EIP-1559, and so on.
    #[serde(rename = "type")]
    #[schema(required = true)]
    pub tx_type: Option<u64>,
    /// In wei, as are all fees.
    #[schema(required = true)]
    pub max_fee_per_gas: Option<Decimal>,
    #[schema(required = true)]
    pub max_priority_fee_per_gas: Option<Decimal>,
    pub fee_parts: FeeParts,
    /// The part of the fee that was burnt (EIP-1559, and for blobs EIP-4844); null if the block has no base fee.
    #[schema(required = true)]
    pub burnt_fee: Option<Decimal>,
    /// In the block, up to and including this transaction.
    #[schema(required = true)]
    pub cumulative_gas_used: Option<Decimal>,
    /// Call data or creation code.
    #[schema(required = true, pattern = "^0x([0-9a-f]{2})*$")]
    pub input: Option<String>,
    #[schema(required = true)]
    pub access_list_length: Option<usize>,
    #[schema(required = true)]
    pub authorization_list_length: Option<usize>,
    #[schema(required = true)]
    pub authorizations: Option<Vec<Authorization>>,
    #[schema(required = true)]
    pub max_fee_per_blob_gas: Option<Decimal>,
    #[schema(required = true)]
    pub blob_gas_used: Option<Decimal>,
    #[schema(required = true)]
    pub blob_gas_price: Option<Decimal>,
    #[schema(required = true)]
    pub blob_versioned_hashes: Option<Vec<Hash>>,
    /// Of a type that only some chains have: the fields that other types do not have, as the node sends them, also of a type that is not
    /// known here. Lists and objects are JSON.
    #[schema(required = true)]
    pub other_fields: Option<BTreeMap<String, String>>,
    #[serde(flatten)]
    pub failure: TransactionFailure,
    #[schema(required = true)]
    pub log_count: Option<usize>,
    /// The first 1,000 logs.
    #[schema(required = true)]
    pub logs: Option<Vec<TransactionLog>>,
}

/// An account lets the code of another one run in its place (EIP-7702).
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Authorization {
    /// "0" for every chain.
    pub chain_id: Decimal,
    /// Whose code runs; the zero address ends a delegation.
    pub delegate: Address,
    /// Without effect unless it is the account's nonce at that moment.
    pub nonce: Decimal,
    /// The account; null if the signature is invalid, so that it has no effect.
    #[schema(required = true)]
    pub signer: Option<Address>,
    /// Whether it had an effect, which does not depend on whether the transaction succeeded. Null if nothing tells, since the node does
    /// not trace the state of the transaction.
    #[schema(required = true)]
    pub applied: Option<bool>,
    /// Why it had no effect; null if it had one, or if that is not known.
    #[schema(required = true)]
    pub ignored_because: Option<IgnoredAuthorization>,
}

/// Why an authorization had no effect.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum IgnoredAuthorization {
    /// It is for another chain.
    OtherChain,
    InvalidSignature,
    /// The account had another nonce at that moment.
    OtherNonce,
    /// The account was a contract.
    HasCode,
}

impl From<domain::Authorization> for Authorization {
    fn from(given: domain::Authorization) -> Self {
        use domain::AuthorizationOutcome as Outcome;

        let (applied, ignored_because) = match given.outcome {
            Outcome::Applied => (Some(true), None),
            Outcome::OtherChain => (Some(false), Some(IgnoredAuthorization::OtherChain)),
            Outcome::InvalidSignature => (Some(false), Some(IgnoredAuthorization::InvalidSignature)),
            Outcome::OtherNonce => (Some(false), Some(IgnoredAuthorization::OtherNonce)),
            Outcome::HasCode => (Some(false), Some(IgnoredAuthorization::HasCode)),
            Outcome::Unknown => (None, None),
        };
        Self {
            applied,
            ignored_because,
            chain_id: given.chain_id.into(),
            delegate: given.delegate.into(),
            nonce: given.nonce.into(),
            signer: given.signer.map(Address::from),
        }
    }
}

/// In wei, or in the smallest unit of the token in which it was paid.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct FeeParts {
    /// For gas, at the base fee of the block.
    pub base: Decimal,
    /// For gas, above the base fee.
    pub priority: Decimal,
    /// For blobs (EIP-4844).
    pub blob: Decimal,
    /// On a rollup, for publishing its data on the chain below.
    pub l1: Decimal,
    /// On a rollup, for its operator.
    pub operator: Decimal,
    /// The token in which it was paid; null for the chain's coin.
    #[schema(required = true)]
    pub currency: Option<Address>,
}

impl From<domain::Fee> for FeeParts {
    fn from(fee: domain::Fee) -> Self {
        Self {
            base: fee.base.into(),
            priority: fee.priority.into(),
            blob: fee.blob.into(),
            l1: fee.l1.into(),
            operator: fee.operator.into(),
            currency: fee.currency.map(Address::from),
        }
    }
}

/// All fields are null if the transaction succeeded, and if the node cannot tell.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransactionFailure {
    /// In the node's words.
    #[schema(required = true, example = "execution reverted")]
    pub error: Option<String>,
    /// By the contract: a text, a panic with its meaning, or a custom error with its arguments; null if it gave none.
    #[schema(required = true, example = "ERC20: transfer amount exceeds balance")]
    pub revert_reason: Option<String>,
    #[schema(required = true)]
    pub error_source: Option<FailureSource>,
}

/// `parentBlock`: the same call on the state before the block.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum FailureSource {
    /// The node executed the block again up to the transaction.
    Trace,
    /// The node made the same call on the state before the block.
    ParentBlock,
}

impl TransactionFailure {
    #[must_use]
    pub fn new(failure: domain::TransactionFailure, revert_reason: Option<String>) -> Self {
        Self {
            error: Some(failure.error),
            revert_reason,
            error_source: Some(match failure.source {
                domain::FailureSource::Trace => FailureSource::Trace,
                domain::FailureSource::ParentBlock => FailureSource::ParentBlock,
            }),
        }
    }
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransactionLog {
    pub address: Address,
    pub topics: Vec<Hash>,
    #[schema(pattern = "^0x([0-9a-f]{2})*$")]
    pub data: String,
    /// In the block, from 0.
    pub log_index: u32,
}

impl TransactionDetail {
    /// `base_fee` is that of the block.
    #[must_use]
    pub fn new(
        transaction: domain::Transaction,
        base_fee: Option<u128>,
        detail: Option<domain::TransactionDetail>,
        failure: Option<TransactionFailure>,
    ) -> Self {
        let fee = domain::Fee::of(&transaction, base_fee);
        let blobs = detail.as_ref().and_then(|detail| detail.blobs.clone());
        let of_blobs = |pick: fn(&domain::BlobFields) -> Option<u128>| blobs.as_ref().and_then(pick).map(Decimal::from);
        let field =
            |pick: fn(&domain::TransactionDetail) -> Option<u128>| detail.as_ref().and_then(pick).map(Decimal::from);
        Self {
            burnt_fee: base_fee.map(|_| fee.burnt().into()),
            fee_parts: fee.into(),
            gas_limit: field(|detail| Some(detail.gas_limit.into())),
            tx_type: detail.as_ref().map(|detail| detail.tx_type),
            max_fee_per_gas: field(|detail| detail.max_fee_per_gas),
            max_priority_fee_per_gas: field(|detail| detail.max_priority_fee_per_gas),
            cumulative_gas_used: field(|detail| detail.cumulative_gas_used.map(u128::from)),
            access_list_length: detail.as_ref().and_then(|detail| detail.access_list_length),
            authorization_list_length: detail.as_ref().and_then(|detail| detail.authorizations.as_ref().map(Vec::len)),
            authorizations: detail
                .as_ref()
                .and_then(|detail| detail.authorizations.as_ref())
                .map(|list| list.iter().copied().map(Authorization::from).collect()),
            max_fee_per_blob_gas: of_blobs(|blobs| blobs.max_fee_per_gas),
            blob_gas_used: of_blobs(|blobs| blobs.gas_used.map(u128::from)),
            blob_gas_price: of_blobs(|blobs| blobs.gas_price),
            blob_versioned_hashes: blobs.map(|blobs| blobs.hashes.into_iter().map(Hash::from).collect()),
            input: detail.as_ref().map(|detail| hex::encode_prefixed(&detail.input)),
            other_fields: detail.as_ref().map(|detail| detail.other_fields.iter().cloned().collect()),
            failure: failure.unwrap_or_default(),
            log_count: detail.as_ref().map(|detail| detail.logs.len()),
            logs: detail.map(|detail| detail.logs.into_iter().take(MAX_LOGS).map(TransactionLog::from).collect()),
            transaction: transaction.into(),
        }
    }
}

impl From<domain::Log> for TransactionLog {
    fn from(log: domain::Log) -> Self {
        Self {
            address: log.address.into(),
            topics: log.topics.into_iter().map(Hash::from).collect(),
            data: hex::encode_prefixed(&log.data),
            log_index: log.log_index,
        }
    }
}
