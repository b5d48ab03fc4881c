//! Ranked sets: sorted sets in which the n-th member is found without a scan, see `migrations/0001_schema.sql`.

use domain::{Address, Balance};
use store::StoreError;

use crate::{
    database::{Connection, query},
    lists::AddressId,
    numeric::Numeric,
    rows::int8,
};

/// The kinds of sets that belong to an address.
pub(crate) const HOLDERS: i16 = 1;
pub(crate) const HELD_TOKENS: i16 = 2;
pub(crate) const HELD_NFTS: i16 = 5;
pub(crate) const APPROVALS: i16 = 6;
/// The kind of sets that belong to an id of a token.
pub(crate) const NFT_HOLDERS: i16 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RankedSet {
    /// Tokens by number of holders, descending; ties by address.
    Tokens,
    /// Holders of a token by balance, descending; ties by id.
    Holders { token: AddressId },
    /// Tokens that an address holds, by id.
    HeldTokens { holder: AddressId },
    /// Holders of an id of a multi-token by amount, descending; ties by id.
    NftHolders { nft: u64 },
    /// Ids of tokens that an address holds, by their number.
    HeldNfts { holder: AddressId },
    /// Approvals that an address gave and that are not revoked, by id.
    Approvals { owner: AddressId },
    /// Verified contracts that still have the verified code, by number.
    VerifiedContracts,
}

impl RankedSet {
    pub(crate) fn kind(self) -> i16 {
        match self {
            Self::Tokens => 0,
            Self::Holders { .. } => HOLDERS,
            Self::HeldTokens { .. } => HELD_TOKENS,
            Self::VerifiedContracts => 3,
            Self::NftHolders { .. } => NFT_HOLDERS,
            Self::HeldNfts { .. } => HELD_NFTS,
            Self::Approvals { .. } => APPROVALS,
        }
    }

    pub(crate) fn owner(self) -> i64 {
        match self {
            Self::Tokens | Self::VerifiedContracts => 0,
            Self::Holders { token: owner }
            | Self::HeldTokens { holder: owner }
            | Self::NftHolders { nft: owner }
            | Self::HeldNfts { holder: owner }
            | Self::Approvals { owner } => int8(owner),
        }
    }
}

/// Members to remove and to insert.
#[derive(Debug, Default)]
pub(crate) struct RankMoves {
    kinds: Vec<i16>,
    owners: Vec<i64>,
    numbers: Vec<Numeric>,
    ties: Vec<Vec<u8>>,
    changes: Vec<i32>,
}

impl RankMoves {
    fn push(&mut self, set: RankedSet, number: Balance, tie: &[u8], change: i32) {
        self.kinds.push(set.kind());
        self.owners.push(set.owner());
        self.numbers.push(Numeric(number));
        self.ties.push(tie.to_vec());
        self.changes.push(change);
    }

    /// Members are sorted by number, descending, then by their tie-breaker.
    pub(crate) fn insert(&mut self, set: RankedSet, number: Balance, tie: &[u8]) {
        self.push(set, number, tie, 1);
    }

    pub(crate) fn remove(&mut self, set: RankedSet, number: Balance, tie: &[u8]) {
        self.push(set, number, tie, -1);
    }

    /// Moves a token from one number of holders to another; None: it is not a token.
    pub(crate) fn move_token(&mut self, token: Address, before: Option<u64>, now: Option<u64>) {
        if before == now {
            return;
        }
        if let Some(before) = before {
            self.remove(RankedSet::Tokens, Balance::from(before), token.as_slice());
        }
        if let Some(now) = now {
            self.insert(RankedSet::Tokens, Balance::from(now), token.as_slice());
        }
    }

    /// Moves a holder from one balance to another. Without a balance, it has no rank.
    pub(crate) fn move_holder(&mut self, token: AddressId, holder: AddressId, before: Balance, now: Balance) {
        if before == now {
            return;
        }
        let (holders, held) = (RankedSet::Holders { token }, RankedSet::HeldTokens { holder });
        if before.is_zero() {
            self.insert(held, Balance::ZERO, &id_tie(token));
        } else {
            self.remove(holders, before, &id_tie(holder));
        }
        if now.is_zero() {
            self.remove(held, Balance::ZERO, &id_tie(token));
        } else {
            self.insert(holders, now, &id_tie(holder));
        }
    }

    pub(crate) async fn write(self, client: &dyn Connection) -> Result<(), StoreError> {
        if self.kinds.is_empty() {
            return Ok(());
        }
        let sql = "select rank_move($1, $2,
            (select array_agg(-number order by n) from unnest($3::numeric[]) with ordinality numbers(number, n)), $4, $5)";
        query(client, sql, &[&self.kinds, &self.owners, &self.numbers, &self.ties, &self.changes]).await?;
        Ok(())
    }
}

/// Ids sort like their bytes.
pub(crate) fn id_tie(id: u64) -> [u8; 8] {
    id.to_be_bytes()
}

pub(crate) fn id_from_tie(tie: &[u8]) -> Result<u64, StoreError> {
    let bytes = tie.try_into().map_err(|_| StoreError::Corrupt("a ranked member with an invalid id"))?;
    Ok(u64::from_be_bytes(bytes))
}
