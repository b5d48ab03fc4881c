//! The events that the chain has for each webhook, as its node tells them: what the matcher is compared with.

use std::{collections::BTreeSet, sync::Arc};

use alloy_primitives::{B256, keccak256};
use domain::{Address, Delivery, EventIdentity, EventKind};
use serde_json::Value;

use crate::world::{AcknowledgedWebhook, World, lock};

/// Compares the deliveries of a fresh index with the chain. Returns how many are about transfers.
pub(crate) fn check_matches(world: &Arc<World>, deliveries: &[Delivery]) -> usize {
    let events = events(world);
    for registered in &*lock(&world.acknowledged) {
        let of_chain: BTreeSet<String> = events
            .iter()
            .filter(|event| event.parties.contains(&registered.watched))
            .map(|event| event.id(registered))
            .collect();
        let of_webhook = deliveries.iter().filter(|delivery| delivery.webhook == registered.webhook);
        let ids: Vec<String> = of_webhook.map(|delivery| delivery.id.to_string()).collect();
        let matched: BTreeSet<String> = ids.iter().cloned().collect();
        assert_eq!(ids.len(), matched.len(), "an event is matched twice: {ids:?}");
        assert_eq!(matched, of_chain, "matched events and those of the chain: {registered:?}");
    }
    deliveries.iter().filter(|delivery| delivery.kind == EventKind::TokenTransfer).count()
}

/// An event of the chain, and the addresses whose watchers want to know of it.
struct ChainEvent {
    kind: EventKind,
    block: B256,
    transaction: B256,
    log_index: Option<u32>,
    batch_index: u32,
    parties: Vec<Address>,
}

impl ChainEvent {
    fn id(&self, registered: &AcknowledgedWebhook) -> String {
        let identity = EventIdentity {
            webhook: registered.webhook,
            kind: self.kind,
            block_hash: self.block,
            tx_hash: self.transaction,
            log_index: self.log_index,
            batch_index: self.batch_index,
        };
        identity.id().to_string()
    }
}

fn events(world: &World) -> Vec<ChainEvent> {
    let mut events = Vec::new();
    for number in 0..=world.chain.head().number {
        let served = world.serve(number);
        let block: B256 = hash(&served.full["hash"]);
        for transaction in list(&served.full["transactions"]) {
            events.push(ChainEvent {
                kind: EventKind::Tx,
                block,
                transaction: hash(&transaction["hash"]),
                log_index: None,
                batch_index: 0,
                parties: ["from", "to"].iter().filter_map(|role| transaction[role].as_str()?.parse().ok()).collect(),
            });
        }
        for log in list(&served.receipts).iter().flat_map(|receipt| list(&receipt["logs"])) {
            events.extend(transfers(block, log));
        }
    }
    events
}

/// The transfers that a log is about: one for each id of a batch.
fn transfers(block: B256, log: &Value) -> Vec<ChainEvent> {
    let topics: Vec<B256> = list(&log["topics"]).iter().map(hash).collect();
    let is = |signature: &str| topics.first() == Some(&keccak256(signature));
    let (parties, count) = if is("Transfer(address,address,uint256)") {
        (&topics[1..3], 1)
    } else if is("TransferSingle(address,address,address,uint256,uint256)") {
        (&topics[2..4], 1)
    } else if is("TransferBatch(address,address,address,uint256[],uint256[])") {
        let word = |place: usize| u32::from_str_radix(&text(&log["data"])[2 + 64 * place..][..64], 16).unwrap();
        (&topics[2..4], word(word(0) as usize / 32))
    } else {
        return Vec::new();
    };
    let token = text(&log["address"]).parse().unwrap();
    let parties: Vec<Address> = parties.iter().map(|topic| Address::from_word(*topic)).chain([token]).collect();
    let of_batch = |batch_index| ChainEvent {
        kind: EventKind::TokenTransfer,
        block,
        transaction: hash(&log["transactionHash"]),
        log_index: Some(u32::from_str_radix(text(&log["logIndex"]).trim_start_matches("0x"), 16).unwrap()),
        batch_index,
        parties: parties.clone(),
    };
    (0..count).map(of_batch).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn hash(value: &Value) -> B256 {
    text(value).parse().unwrap()
}
