//! Approvals of every owner, by a scan of every event.

use std::collections::BTreeMap;

use domain::{Address, Approval, ApprovalEvent, ApprovalScope, TokenKind, U256};

use super::{
    Model, RandomChain, Subject,
    model::transaction,
    queries::ORDERS,
    walk::{in_order, walk},
};

/// An id has one approval at a time, whoever owns it.
type ApprovalKey = (Address, Option<(Address, Address)>, ApprovalScope);

impl Model {
    /// Approvals that are not revoked by owner, those first given first.
    #[must_use]
    pub fn approvals(&self) -> BTreeMap<Address, Vec<Approval>> {
        let kinds: BTreeMap<Address, TokenKind> =
            self.tokens().into_iter().map(|token| (token.address, token.kind)).collect();
        let mut order: Vec<ApprovalKey> = Vec::new();
        let mut last: BTreeMap<ApprovalKey, (Address, Approval)> = BTreeMap::new();
        for changes in &self.blocks {
            let given = changes.approvals.iter().map(|event| (event.log_index, *event));
            // The end of what is approved for an id.
            let moved = changes.transfers.iter().filter(|event| event.kind == TokenKind::Bep721).filter_map(|event| {
                Some((
                    event.log_index,
                    ApprovalEvent {
                        tx_index: event.tx_index,
                        log_index: event.log_index,
                        token: event.token,
                        owner: event.from,
                        spender: Address::ZERO,
                        scope: ApprovalScope::Id(event.token_id?),
                        value: U256::ZERO,
                    },
                ))
            });
            let mut events: Vec<(u32, ApprovalEvent)> = given.chain(moved).collect();
            events.sort_by_key(|(log_index, _)| *log_index);
            for (_, event) in events {
                let parties = (event.scope == ApprovalScope::Amount || event.scope == ApprovalScope::All)
                    .then_some((event.owner, event.spender));
                let key = (event.token, parties, event.scope);
                if !last.contains_key(&key) {
                    if event.value.is_zero() {
                        continue;
                    }
                    order.push(key);
                }
                let metadata = self.metadata_of(event.token);
                let approval = Approval {
                    token: event.token,
                    token_kind: kinds.get(&event.token).copied(),
                    token_name: metadata.known_name().map(str::to_owned),
                    token_symbol: metadata.known_symbol().map(str::to_owned),
                    token_decimals: metadata.decimals,
                    spender: event.spender,
                    scope: event.scope,
                    value: event.value,
                    tx_hash: transaction(changes, event.tx_index).hash,
                    block_number: changes.block.number,
                    timestamp: changes.block.timestamp,
                };
                last.insert(key, (event.owner, approval));
            }
        }
        let mut given: BTreeMap<Address, Vec<Approval>> = BTreeMap::new();
        for (owner, approval) in order.into_iter().filter_map(|key| last.remove(&key)) {
            if !approval.value.is_zero() {
                given.entry(owner).or_default().push(approval);
            }
        }
        given
    }
}

pub(super) async fn approvals(subject: &Subject, model: &Model, chain: &RandomChain) {
    let given = model.approvals();
    let sample = chain.addresses().iter().take(20).chain(chain.addresses().iter().rev().take(20));
    for owner in sample.chain([&Address::ZERO, &Address::repeat_byte(0xee)]) {
        let expected = given.get(owner).cloned().unwrap_or_default();
        for order in ORDERS {
            let list = async |page| subject.reader.list_approvals(*owner, page).await;
            let found = walk(order, 6, list).await;
            assert_eq!(found, in_order(expected.clone(), order), "approvals of {owner} {order:?}");
        }
    }
}
