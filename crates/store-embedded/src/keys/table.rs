//! All tables, each with what is to be known of it in one place.

use crate::engine::Group;

/// Where the rows of a table come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// They follow from the blocks alone, and at once.
    Chain,
    /// They hold what the node was or is to be asked, what is made up behind the tip, what a revert needs, and what users
    /// leave.
    Aside,
}

macro_rules! tables {
    ($($(#[$doc:meta])+ $table:ident = $mark:literal, $group:ident, $origin:ident;)+) => {
        /// The number of a table is its mark on disk: it never changes, and is never given twice.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub(crate) enum Table {
            $($(#[$doc])+ $table = $mark,)+
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
    /// number -> header, and all running numbers as they stood before the block.
    Block = 0x10, Dense, Chain;
    /// transaction id -> row.
    Transaction = 0x11, Dense, Chain;
    /// address id -> address, first seen.
    Address = 0x12, Dense, Chain;
    /// transfer id -> row.
    Transfer = 0x13, Dense, Chain;
    /// trade id -> row.
    Trade = 0x14, Dense, Chain;
    /// start of hash, number -> nothing.
    BlockByHash = 0x20, Lookup, Chain;
    /// start of hash, transaction id -> nothing.
    TransactionByHash = 0x21, Lookup, Chain;
    /// address -> address id.
    AddressId = 0x22, Lookup, Chain;
    /// address id -> id of the transaction that created a contract there, and of the contract that made it, if one did.
    Creation = 0x23, Lookup, Chain;
    /// address id -> the pool that stands there.
    Pool = 0x24, Lookup, Chain;
    /// list -> its open chunk.
    Tail = 0x30, Lists, Chain;
    /// list, chunk number -> a full chunk.
    Chunk = 0x31, Lists, Chain;
    /// field -> what the store knows of itself.
    Meta = 0x40, State, Chain;
    /// number -> what reverting that block needs.
    Undo = 0x41, State, Aside;
    /// address -> the node's last answer about the account.
    Account = 0x42, State, Aside;
    /// address id -> what the transfers say of the token there.
    Token = 0x43, State, Chain;
    /// address id -> what the token's contract says of itself.
    TokenFacts = 0x44, State, Aside;
    /// address id -> since which block something must be asked again about the token there.
    TokenQuestion = 0x45, State, Aside;
    /// token, holder -> balance.
    Balance = 0x46, State, Chain;
    /// ranked set, sort key -> nothing.
    Ranked = 0x47, State, Chain;
    /// ranked set, length and start of a sort key -> how many members begin so.
    RankCount = 0x48, State, Chain;
    /// token, holder -> nothing: the place among the holders may be out of date.
    Unranked = 0x60, State, Aside;
    /// token, holder -> the balance by which the holder is ranked.
    RankedBalance = 0x61, State, Aside;
    /// token, holder -> since which block the contract must be asked for the balance.
    Unasked = 0x62, State, Aside;
    /// token, holder -> the balance that the contract gave.
    CallBalance = 0x63, State, Aside;
    /// token -> how many balances the contract gave, and how many of them are above zero.
    CallHolders = 0x64, State, Aside;
    /// token, holder -> the newest block in which an event that is no transfer touched the balance.
    TouchedHolder = 0x65, State, Chain;
    /// token -> how far its holders have been put on the lists of what is to be done, after its balances changed source.
    Sweep = 0x66, State, Aside;
    /// token -> how the last comparison with the contract's word came out.
    Audit = 0x67, State, Aside;
    /// token -> nothing: a comparison is due.
    Unaudited = 0x68, State, Aside;
    /// address id -> hash of the contract's code there; nothing where there was none when it was asked.
    CodeHash = 0x69, State, Aside;
    /// hash -> code.
    Code = 0x6a, State, Aside;
    /// address id -> since which block the code there must be asked.
    UnaskedCode = 0x6b, State, Aside;
    /// address id -> since which block there is a token that was never asked about itself.
    NewToken = 0x6c, State, Aside;
    /// name or symbol, address id -> nothing.
    TokenName = 0x6d, State, Aside;
    /// id -> an API key's record.
    ApiKey = 0x50, State, Aside;
    /// start of digest, id -> nothing.
    ApiKeyByDigest = 0x51, State, Aside;
    /// owner, id -> nothing.
    ApiKeyByOwner = 0x52, State, Aside;
    /// owner -> ids of the keys in use.
    ActiveApiKeys = 0x53, State, Aside;
    /// owner, time signed -> nothing.
    ApiKeyProof = 0x54, State, Aside;
    /// code hash, and the address where it counts for one alone -> what lists tell of verified code.
    VerifiedCode = 0x55, State, Aside;
    /// the same -> interface, settings, sources and creation code.
    VerifiedCodeDetail = 0x56, State, Aside;
    /// address, code hash -> running number of a verified contract.
    VerifiedNumber = 0x57, State, Aside;
    /// running number -> address and code hash of a verified contract.
    VerifiedByNumber = 0x5c, State, Aside;
    /// address, code hash -> what was worked out about the deployment, and for which creation.
    VerifiedDeployment = 0x5d, State, Aside;
    /// sort key of a verified contract whose code stands at its address -> nothing.
    VerifiedListed = 0x5e, State, Aside;
    /// length and start of such a sort key -> how many begin so.
    VerifiedListedCount = 0x5f, State, Aside;
    /// id -> a webhook's record.
    Webhook = 0x70, State, Aside;
    /// owner, id -> nothing.
    WebhookByOwner = 0x71, State, Aside;
    /// field -> what is known of webhooks as a whole: the cursor, the version of the watch list, the newest id.
    WebhookMeta = 0x72, State, Aside;
    /// webhook -> the numbers of its oldest and its next delivery, how many are pending, how many were dropped.
    DeliveryLog = 0x73, State, Aside;
    /// webhook, number -> what became of a delivery.
    Delivery = 0x74, State, Aside;
    /// webhook, delivery id -> number of the newest delivery with this id.
    DeliveryById = 0x76, State, Aside;
    /// webhook, time due, number -> nothing: to be sent again.
    RetryDelivery = 0x78, State, Aside;
    /// block, webhook, first number -> last number of deliveries that tell of the block.
    DeliveryByBlock = 0x79, State, Aside;
    /// number -> hash of a block that was looked through for webhooks, and the newest webhook that it was news to.
    MatchedBlock = 0x7a, State, Aside;
    /// number, start of hash -> how often the block left the chain after it was looked through, and the newest webhook that
    /// it was news to.
    OrphanedBlock = 0x7b, State, Aside;
    /// number -> what is sent, to however many webhooks, and where it happened.
    Event = 0x7c, State, Aside;
    /// number -> how many deliveries send the event.
    EventUses = 0x7d, State, Aside;
    /// watched address, webhook -> nothing.
    WebhookByAddress = 0x7e, State, Aside;
}

impl Table {
    pub(crate) fn from_mark(mark: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|table| *table as u8 == mark)
    }

    /// Whether the rows follow from the blocks alone, so that two stores of the same chain have the same.
    pub(crate) fn is_of_the_chain(self) -> bool {
        self.origin() == Origin::Chain
    }

    /// Whether an answer about the chain or about verified contracts may depend on the rows. What users leave is shown to
    /// them alone, and what was kept of an account only while the node does not tell.
    pub(crate) fn is_shown(self) -> bool {
        !matches!(
            self,
            Self::Account
                | Self::ApiKey
                | Self::ApiKeyByDigest
                | Self::ApiKeyByOwner
                | Self::ActiveApiKeys
                | Self::ApiKeyProof
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
    fn a_mark_leads_back_to_its_table() {
        for table in Table::ALL {
            assert_eq!(Table::from_mark(*table as u8), Some(*table));
        }
    }
}
