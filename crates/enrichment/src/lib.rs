//! Data that the API and the pages show together with indexed data: accounts, allowances, traces and reasons of failures from
//! the node, balances over time, since when accounts delegate, the largest accounts, metadata of NFTs, the operator's labels of addresses, the names of
//! exchanges, and which tokens imitate others.

mod accounts;
mod allowances;
mod balance_history;
mod delegation_starts;
mod dexes;
mod failures;
#[doc(hidden)]
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub mod fuzzing;
mod imitations;
mod labels;
mod nft_metadata;
mod operator_names;
mod top_accounts;
mod transaction_details;
mod transaction_traces;

pub use accounts::{AccountError, AccountSource, AccountUnavailable, Accounts, MayCallNode, SourcedAccount};
pub use allowances::{Allowances, AllowancesUnavailable, CheckedAllowances};
pub use balance_history::{BalanceHistory, BalancePoint, HistoryError, Inexact, coin_history, token_history};
pub use delegation_starts::DelegationStarts;
pub use dexes::{DexEntry, Dexes, DexesError};
pub use failures::{FailureUnavailable, Failures};
pub use imitations::{FoundImitations, Imitated, Imitations, Likeness};
pub use labels::{LabelError, Labels, LabelsError};
pub use nft_metadata::{
    FoundMetadata, Image, ImageKind, ImageUnavailable, InvalidGateway, IpfsGateway, NftMetadataFetcher,
    NftMetadataParts,
};
pub use operator_names::OperatorNames;
pub use top_accounts::{AccountListing, RankedAccount, TopAccounts, UnknownAccounts};
pub use transaction_details::{MayTrace, TransactionDetails};
pub use transaction_traces::{TraceUnavailable, TransactionTraces};
