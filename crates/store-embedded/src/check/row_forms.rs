//! The form of the rows of each table.

use alloy_primitives::Address;
use store::StoreError;

use crate::{
    codec::RowReader,
    keys::{Table, number_in_key},
    rows::{
        AddressRow, ApprovalRow, AuditRow, BlockRow, CallHolders, CreationRow, CreditRow, InternalRow, LogRow,
        LogSource, NftRow, PoolRow, TokenRow, TradeRow, TransactionRow, TransferRow, account_from_row,
        balance_from_row, code_hash_from_row, failure_from_row, metadata_from_row, nft_metadata_from_row,
        topic_from_row,
    },
    undo::UndoRecord,
    user_records::check as keys,
    verified_contracts::check as verified,
    webhook_records::check as webhooks,
};

/// Every table is named, so that a new one is checked, too.
pub(super) fn check(table: Table, row: &[u8]) -> Result<(), StoreError> {
    match table {
        Table::Block => BlockRow::from_row(row).map(drop),
        Table::Transaction => TransactionRow::from_row(row).map(drop),
        Table::Address => AddressRow::from_row(row).map(drop),
        Table::Transfer => TransferRow::from_row(row).map(drop),
        Table::Trade => TradeRow::from_row(row).map(drop),
        Table::Internal => InternalRow::from_row(row).map(drop),
        Table::Log => LogRow::from_row(row).map(drop),
        Table::LogTopic => topic_from_row(row).map(drop),
        Table::LogSource => LogSource::from_row(row).map(drop),
        Table::Nft => NftRow::from_row(row).map(drop),
        Table::Approval => ApprovalRow::from_row(row).map(drop),
        Table::Credit => CreditRow::from_row(row).map(drop),
        Table::Creation => CreationRow::from_row(row).map(drop),
        Table::Pool => PoolRow::from_row(row).map(drop),
        Table::Token => TokenRow::from_row(row).map(drop),
        Table::TokenMetadata => metadata_from_row(row).map(drop),
        Table::Audit => AuditRow::from_row(row).map(drop),
        Table::CallHolders => CallHolders::from_row(row).map(drop),
        Table::Balance | Table::NftBalance | Table::CallBalance | Table::RankedBalance => {
            balance_from_row(row).map(drop)
        }
        Table::CodeHash => code_hash_from_row(row).map(drop),
        Table::Undo => UndoRecord::from_row(row).map(drop),
        Table::Account => account_from_row(row).map(drop),
        Table::Failure => failure_from_row(row).map(drop),
        Table::NftMetadata => nft_metadata_from_row(row).map(drop),
        Table::InternalParty => address(row),
        // Ids, and numbers of blocks, as in keys.
        Table::AddressId
        | Table::InternalPartyId
        | Table::LogTopicId
        | Table::LogSourceId
        | Table::NftId
        | Table::ApprovalId
        | Table::NftOwner
        | Table::PendingToken
        | Table::NewToken
        | Table::PendingBalance
        | Table::TouchedHolder
        | Table::PendingCode
        | Table::Sweep
        | Table::VerifiedNumber => number_in_key(row, 0).map(drop),
        Table::InternalBlock
        | Table::RankCount
        | Table::VerifiedListedCount
        | Table::DeliveryById
        | Table::DeliveryByBlock
        | Table::EventUses => RowReader::new(row).varint::<u64>().map(drop),
        Table::ApiKey => keys::key(row),
        Table::ActiveApiKeys => keys::active_keys(row),
        Table::VerifiedCode => verified::code(row),
        Table::VerifiedCodeDetail => verified::code_detail(row),
        Table::VerifiedByNumber => verified::contract(row),
        Table::VerifiedDeployment => verified::deployment(row),
        Table::VerificationJob => verified::job(row),
        Table::VerificationJobByNumber => verified::numbered_job(row),
        Table::Webhook => webhooks::webhook(row),
        Table::DeliveryLog => webhooks::delivery_log(row),
        Table::Delivery => webhooks::delivery(row),
        Table::Event => webhooks::event(row),
        Table::MatchedBlock => webhooks::matched_block(row),
        Table::OrphanedBlock => webhooks::orphaned_block(row),
        // The key says all.
        Table::BlockByHash
        | Table::TransactionByHash
        | Table::Ranked
        | Table::Unranked
        | Table::Unaudited
        | Table::TokenName
        | Table::ApiKeyByDigest
        | Table::ApiKeyByOwner
        | Table::ApiKeyProof
        | Table::VerifiedListed
        | Table::WebhookByOwner
        | Table::WebhookByAddress
        | Table::RetryDelivery => empty(row),
        // Of several forms, or of any; lists are compared with the rows of their entries.
        Table::Meta
        | Table::InternalProgress
        | Table::WebhookMeta
        | Table::RecordImport
        | Table::Code
        | Table::Tail
        | Table::Chunk
        | Table::InternalTail
        | Table::InternalChunk => Ok(()),
    }
}

fn address(row: &[u8]) -> Result<(), StoreError> {
    Address::try_from(row).map(drop).map_err(|_| StoreError::Corrupt("an address of another length"))
}

fn empty(row: &[u8]) -> Result<(), StoreError> {
    if row.is_empty() { Ok(()) } else { Err(StoreError::Corrupt("a value where only the key counts")) }
}
