//! Data that the API and the pages show together with indexed data: accounts, allowances and reasons of failures from the
//! node, metadata of NFTs, the largest accounts, the operator's labels of addresses, and the names of exchanges. Both use the same instances, so that they never show different values.

mod accounts;
mod allowances;
mod dexes;
mod failures;
mod labels;
mod nft_metadata;
mod operator_names;
mod top_accounts;

pub use accounts::{AccountError, AccountSource, AccountUnavailable, Accounts, SourcedAccount};
pub use allowances::{Allowances, AllowancesUnavailable, CheckedAllowances};
pub use dexes::{DexEntry, Dexes, DexesError};
pub use failures::{FailureUnavailable, Failures};
pub use labels::{LabelError, Labels, LabelsError};
pub use nft_metadata::{
    FoundMetadata, Image, ImageKind, ImageUnavailable, InvalidGateway, IpfsGateway, NftMetadataFetcher,
    NftMetadataParts,
};
pub use operator_names::OperatorNames;
pub use top_accounts::{AccountListing, RankedAccount, TopAccounts};
