//! All tables, each with its properties in one place.

use store::ListKind;

use crate::engine::Group;

/// What determines the rows of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The blocks alone, at commit time.
    Chain,
    /// Users, and what happened to what they left. Nothing else has it: a new index takes it over from the one before.
    Record,
    /// Records and the chain: which verified contracts the index has with their code.
    Listed,
    /// The node, when somebody looked at it.
    Viewed,
    /// Something else: data fetched or to be fetched from the node, data computed behind the tip, and undo data.
    Other,
}

macro_rules! tables {
    ($($(#[$doc:meta])+ $table:ident = $tag:literal, $group:ident, $origin:ident;)+) => {
        /// The discriminant is the table's tag on disk: it never changes, and is never reused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub(crate) enum Table {
            $($(#[$doc])+ $table = $tag,)+
        }

        impl Table {
            pub(crate) const ALL: &[Self] = &[$(Self::$table),+];

            pub(crate) fn group(self) -> Group {
                match self {
                    $(Self::$table => Group::$group,)+
                }
            }

            fn origin(self) -> Origin {
                match self {
                    $(Self::$table => Origin::$origin,)+
                }
            }
        }
    };
}

tables! {
    /// number -> header, and all totals before the block.
    Block = 0x10, Dense, Chain;
    /// transaction id -> row.
    Transaction = 0x11, Dense, Chain;
    /// address id -> address, first seen.
    Address = 0x12, Dense, Chain;
    /// transfer id -> row.
    Transfer = 0x13, Dense, Chain;
    /// trade id -> row.
    Trade = 0x14, Dense, Chain;
    /// id -> an internal transaction.
    Internal = 0x15, Dense, Other;
    /// number -> the first id of the internal transactions of the block.
    InternalBlock = 0x16, Dense, Other;
    /// party id -> address.
    InternalParty = 0x17, Dense, Other;
    /// log id -> row.
    Log = 0x18, Dense, Chain;
    /// id of a topic -> the topic.
    LogTopic = 0x19, Dense, Chain;
    /// id of an emitter with a first topic -> both.
    LogSource = 0x1a, Dense, Chain;
    /// NFT id -> token, and its id there.
    Nft = 0x1b, Dense, Chain;
    /// credit id -> row.
    Credit = 0x1c, Dense, Chain;
    /// hash prefix, number -> nothing.
    BlockByHash = 0x20, Lookup, Chain;
    /// hash prefix, transaction id -> nothing.
    TransactionByHash = 0x21, Lookup, Chain;
    /// address -> address id.
    AddressId = 0x22, Lookup, Chain;
    /// address id -> id of the transaction that created a contract there, and of the creating contract, if any.
    Creation = 0x23, Lookup, Chain;
    /// address id -> the pool at the address.
    Pool = 0x24, Lookup, Chain;
    /// address -> party id.
    InternalPartyId = 0x25, Lookup, Other;
    /// topic -> its id.
    LogTopicId = 0x26, Lookup, Chain;
    /// emitter, id of a first topic -> the id of both.
    LogSourceId = 0x27, Lookup, Chain;
    /// token, id there -> NFT id.
    NftId = 0x28, Lookup, Chain;
    /// token, owner and spender, or an id -> approval id.
    ApprovalId = 0x29, Lookup, Chain;
    /// list -> its open chunk.
    Tail = 0x30, Lists, Chain;
    /// list, chunk number -> a full chunk.
    Chunk = 0x31, Lists, Chain;
    /// list of internal transactions -> its open chunk.
    InternalTail = 0x32, Lists, Other;
    /// list of internal transactions, chunk number -> a full chunk.
    InternalChunk = 0x33, Lists, Other;
    /// field -> metadata of the store.
    Meta = 0x40, State, Chain;
    /// number -> the undo record of the block.
    Undo = 0x41, State, Other;
    /// address -> the account as the node last returned it.
    Account = 0x42, State, Viewed;
    /// address id -> the token, derived from its transfers.
    Token = 0x43, State, Chain;
    /// address id -> token metadata fetched from the contract.
    TokenMetadata = 0x44, State, Other;
    /// address id -> the block since which the token's metadata has to be fetched again.
    PendingToken = 0x45, State, Other;
    /// token, holder -> balance.
    Balance = 0x46, State, Chain;
    /// ranked set, sort key -> nothing.
    Ranked = 0x47, State, Chain;
    /// ranked set, length and prefix of a sort key -> number of members with the prefix.
    RankCount = 0x48, State, Chain;
    /// id of a BEP721 NFT -> its owner.
    NftOwner = 0x49, State, Chain;
    /// id of a BEP1155 NFT, holder -> the amount, if it is not zero.
    NftBalance = 0x4a, State, Chain;
    /// approval id -> the approval, as its last event says.
    Approval = 0x4b, State, Chain;
    /// token, holder -> nothing: the holder's rank may be out of date.
    Unranked = 0x60, State, Other;
    /// token, holder -> the balance by which the holder is ranked.
    RankedBalance = 0x61, State, Other;
    /// token, holder -> the block since which the balance has to be fetched from the contract.
    PendingBalance = 0x62, State, Other;
    /// token, holder -> the balance fetched from the contract.
    CallBalance = 0x63, State, Other;
    /// token -> number of fetched balances, and how many of them are above zero.
    CallHolders = 0x64, State, Other;
    /// token, holder -> the newest block in which an event other than a transfer touched the balance.
    TouchedHolder = 0x65, State, Chain;
    /// token -> cursor of the sweep that queues all its holders after its balance source changed.
    Sweep = 0x66, State, Other;
    /// token -> the result of the last audit against the contract.
    Audit = 0x67, State, Other;
    /// token -> nothing: an audit is due.
    Unaudited = 0x68, State, Other;
    /// address id -> hash of the contract code; empty if there was no code when it was fetched.
    CodeHash = 0x69, State, Other;
    /// hash -> code.
    Code = 0x6a, State, Other;
    /// address id -> the block since which the code has to be fetched.
    PendingCode = 0x6b, State, Other;
    /// address id -> the block of a new token whose metadata was never fetched.
    NewToken = 0x6c, State, Other;
    /// name or symbol, address id -> nothing.
    TokenName = 0x6d, State, Other;
    /// transaction hash -> the block, and why the transaction failed there.
    Failure = 0x6e, State, Record;
    /// token, id there -> metadata of the NFT, or why it is missing.
    NftMetadata = 0x5b, State, Viewed;
    /// field -> how far internal transactions are indexed, and the number of their parties.
    InternalProgress = 0x6f, State, Other;
    /// id -> an API key's record.
    ApiKey = 0x50, State, Record;
    /// digest prefix, id -> nothing.
    ApiKeyByDigest = 0x51, State, Record;
    /// owner, id -> nothing.
    ApiKeyByOwner = 0x52, State, Record;
    /// owner -> ids of the active keys.
    ActiveApiKeys = 0x53, State, Record;
    /// owner, time signed -> nothing.
    ApiKeyProof = 0x54, State, Record;
    /// code hash, and the address if it applies to one only -> summary of verified code.
    VerifiedCode = 0x55, State, Record;
    /// the same -> ABI, settings, sources and creation code.
    VerifiedCodeDetail = 0x56, State, Record;
    /// address, code hash -> sequential id of a verified contract.
    VerifiedNumber = 0x57, State, Record;
    /// sequential id -> address and code hash of a verified contract.
    VerifiedByNumber = 0x5c, State, Record;
    /// address, code hash -> what was derived about the deployment, and its creation.
    VerifiedDeployment = 0x5d, State, Record;
    /// sort key of a verified contract that still has this code -> nothing.
    VerifiedListed = 0x5e, State, Listed;
    /// length and prefix of such a sort key -> number of members with the prefix.
    VerifiedListedCount = 0x5f, State, Listed;
    /// id -> a verification job: its number, and its result if it has ended.
    VerificationJob = 0x58, State, Record;
    /// sequential number -> id of a verification job, and when it was submitted.
    VerificationJobByNumber = 0x59, State, Record;
    /// nothing -> the import whose records these are, if they were not changed since.
    RecordImport = 0x5a, State, Record;
    /// id -> a webhook's record.
    Webhook = 0x70, State, Record;
    /// owner, id -> nothing.
    WebhookByOwner = 0x71, State, Record;
    /// field -> state of all webhooks: the cursor, the version of the watch list, the newest id.
    WebhookMeta = 0x72, State, Record;
    /// webhook -> numbers of its oldest and its next delivery, count of pending and of dropped ones.
    DeliveryLog = 0x73, State, Record;
    /// webhook, number -> the state of a delivery.
    Delivery = 0x74, State, Record;
    /// webhook, delivery id -> number of the newest delivery with this id.
    DeliveryById = 0x76, State, Record;
    /// webhook, due time, number -> nothing: a retry.
    RetryDelivery = 0x78, State, Record;
    /// block, webhook, first number -> last number of the deliveries for the block.
    DeliveryByBlock = 0x79, State, Record;
    /// number -> hash of a matched block, and the newest webhook that existed when it was matched.
    MatchedBlock = 0x7a, State, Record;
    /// number, hash prefix -> how often the matched block was orphaned, and the newest webhook that existed when it was
    /// first matched.
    OrphanedBlock = 0x7b, State, Record;
    /// number -> an event: its body, shared by all its deliveries, and its position in the chain.
    Event = 0x7c, State, Record;
    /// number -> number of deliveries that refer to the event.
    EventUses = 0x7d, State, Record;
    /// watched address, webhook -> nothing.
    WebhookByAddress = 0x7e, State, Record;
}

impl Table {
    /// The open chunks of lists. How far internal transactions are traced does not follow from the chain alone, so their lists have
    /// their own tables.
    pub(crate) fn tails_of(kind: ListKind) -> Self {
        if kind.is_internal() { Self::InternalTail } else { Self::Tail }
    }

    /// The full chunks of lists.
    pub(crate) fn chunks_of(kind: ListKind) -> Self {
        if kind.is_internal() { Self::InternalChunk } else { Self::Chunk }
    }

    pub(crate) fn from_tag(tag: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|table| *table as u8 == tag)
    }

    /// Whether rows with consecutive ids share an entry of the engine. Their keys are such ids.
    pub(crate) fn is_packed(self) -> bool {
        matches!(
            self,
            Self::Transaction
                | Self::Address
                | Self::Transfer
                | Self::Trade
                | Self::Log
                | Self::LogTopic
                | Self::LogSource
                | Self::Nft
                | Self::Credit
        )
    }

    /// Whether the blocks alone determine the rows, so that two stores of the same chain have the same.
    pub(crate) fn is_chain_data(self) -> bool {
        self.origin() == Origin::Chain
    }

    /// Whether a new index takes the rows over from the one before.
    pub(crate) fn is_record(self) -> bool {
        self.origin() == Origin::Record
    }

    /// Whether the rows say nothing about users, not even what they looked at.
    pub(crate) fn is_public(self) -> bool {
        match self.origin() {
            Origin::Chain | Origin::Other => true,
            Origin::Record | Origin::Listed | Origin::Viewed => false,
        }
    }

    /// Whether a response about the chain or about verified contracts may depend on the rows. User records are shown
    /// only to their owners, stored accounts only while the node is unavailable, failures are those that the node would
    /// tell, and responses about verification jobs or with metadata of NFTs are not cached. A table that is not named here
    /// only makes cached responses be computed again.
    pub(crate) fn affects_responses(self) -> bool {
        !matches!(
            self,
            Self::Account
                | Self::Failure
                | Self::NftMetadata
                | Self::ApiKey
                | Self::ApiKeyByDigest
                | Self::ApiKeyByOwner
                | Self::ActiveApiKeys
                | Self::ApiKeyProof
                | Self::VerificationJob
                | Self::VerificationJobByNumber
                | Self::RecordImport
                | Self::Webhook
                | Self::WebhookByOwner
                | Self::WebhookMeta
                | Self::DeliveryLog
                | Self::Delivery
                | Self::DeliveryById
                | Self::RetryDelivery
                | Self::DeliveryByBlock
                | Self::MatchedBlock
                | Self::OrphanedBlock
                | Self::Event
                | Self::EventUses
                | Self::WebhookByAddress
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_identifies_its_table() {
        for table in Table::ALL {
            assert_eq!(Table::from_tag(*table as u8), Some(*table));
        }
    }
}
