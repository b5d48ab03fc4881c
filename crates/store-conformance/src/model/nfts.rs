//! Ids of tokens and their holders, by a scan of every transfer.

use std::collections::BTreeMap;

use domain::{
    Address, Balance, HeldNft, Holder, Nft, Order, PageRequest, TokenKind, Transfer, TransferEvent, TransferFilter,
    U256,
};

use super::Model;

/// An id with all that follows from its transfers.
#[derive(Debug, Clone)]
pub struct ModelNft {
    pub nft: Nft,
    /// The amounts above zero, the largest first, then by address.
    pub holders: Vec<Holder>,
    /// The oldest first.
    pub transfers: Vec<Transfer>,
}

impl Model {
    /// Every id, in the order of first transfers.
    #[must_use]
    pub fn nfts(&self) -> Vec<ModelNft> {
        let kinds: BTreeMap<Address, TokenKind> =
            self.tokens().into_iter().map(|token| (token.address, token.kind)).collect();
        let everything = PageRequest { offset: 0, limit: u32::MAX, order: Order::OldestFirst };
        let mut order: Vec<(Address, U256)> = Vec::new();
        let mut transfers: BTreeMap<(Address, U256), Vec<Transfer>> = BTreeMap::new();
        for transfer in self.list_transfers(&TransferFilter::default(), everything).items {
            let event = transfer.event;
            let Some(id) = event.token_id.filter(|_| kinds.get(&event.token) == Some(&event.kind)) else { continue };
            let moves = transfers.entry((event.token, id)).or_default();
            if moves.is_empty() {
                order.push((event.token, id));
            }
            moves.push(transfer);
        }
        let found = order.into_iter().filter_map(|key| {
            let transfers = transfers.remove(&key)?;
            Some(follow(key, *kinds.get(&key.0)?, transfers))
        });
        found.collect()
    }

    /// Ids that each address holds, in the order of their first transfers.
    #[must_use]
    pub fn held_nfts(&self, nfts: &[ModelNft]) -> BTreeMap<Address, Vec<HeldNft>> {
        let mut held: BTreeMap<Address, Vec<HeldNft>> = BTreeMap::new();
        for ModelNft { nft, holders, .. } in nfts {
            let metadata = self.metadata_of(nft.token);
            for Holder { address, balance } in holders {
                held.entry(*address).or_default().push(HeldNft {
                    token: nft.token,
                    kind: nft.kind,
                    token_name: metadata.known_name().map(str::to_owned),
                    token_symbol: metadata.known_symbol().map(str::to_owned),
                    id: nft.id,
                    amount: *balance,
                });
            }
        }
        held
    }
}

fn follow((token, id): (Address, U256), kind: TokenKind, transfers: Vec<Transfer>) -> ModelNft {
    let amounts = follow_id(kind, transfers.iter().map(|transfer| transfer.event));
    let owner = amounts.keys().next().copied().filter(|_| kind == TokenKind::Bep721);
    let mut holders: Vec<Holder> = amounts.into_iter().map(|(address, balance)| Holder { address, balance }).collect();
    holders.sort_by_key(|holder| (std::cmp::Reverse(holder.balance), holder.address));
    let (holder_count, transfer_count) = (holders.len() as u64, transfers.len() as u64);
    ModelNft { nft: Nft { token, id, kind, owner, holder_count, transfer_count }, holders, transfers }
}

/// The amounts of an id that its transfers leave, above zero.
pub(super) fn follow_id(kind: TokenKind, events: impl Iterator<Item = TransferEvent>) -> BTreeMap<Address, Balance> {
    let mut amounts: BTreeMap<Address, Balance> = BTreeMap::new();
    for event in events {
        if kind == TokenKind::Bep721 {
            amounts = BTreeMap::from([(event.to, Balance::from(1))]);
        } else if event.from != event.to {
            let value = Balance::from(event.value);
            let from = amounts.entry(event.from).or_default();
            *from = from.saturating_sub(value);
            let to = amounts.entry(event.to).or_default();
            *to = to.saturating_add(value);
        }
    }
    amounts.retain(|address, amount| *address != Address::ZERO && !amount.is_zero());
    amounts
}
