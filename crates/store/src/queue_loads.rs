//! Which messages are dropped when the queues of webhooks exceed their limits: pure decisions, so that every store makes the
//! same ones.

use std::collections::{BTreeMap, HashMap};

use domain::{Address, WebhookId};

use crate::WebhookLimits;

/// The pending messages of webhooks: of all of them, or at least of all that belong to the owners of the recipients.
#[derive(Debug, Default)]
pub struct QueueLoads {
    owners: HashMap<Address, BTreeMap<WebhookId, u64>>,
    owner_of: HashMap<WebhookId, Address>,
    /// Over all webhooks.
    pending: u64,
}

impl QueueLoads {
    pub fn add(&mut self, webhook: WebhookId, owner: Address, pending: u64) {
        self.owners.entry(owner).or_default().insert(webhook, pending);
        self.owner_of.insert(webhook, owner);
        self.pending += pending;
    }

    /// Returns whether the webhook was known.
    pub fn remove(&mut self, webhook: WebhookId) -> bool {
        let Some(owner) = self.owner_of.remove(&webhook) else { return false };
        let Some(queues) = self.owners.get_mut(&owner) else { return false };
        let pending = queues.remove(&webhook).unwrap_or_default();
        if queues.is_empty() {
            self.owners.remove(&owner);
        }
        self.pending = self.pending.saturating_sub(pending);
        true
    }

    /// Updates the length of a queue. Ignored for a deleted webhook.
    pub fn set(&mut self, webhook: WebhookId, pending: u64) {
        let Some(owner) = self.owner_of.get(&webhook) else { return };
        let Some(queue) = self.owners.get_mut(owner).and_then(|queues| queues.get_mut(&webhook)) else { return };
        self.pending = self.pending.saturating_sub(*queue) + pending;
        *queue = pending;
    }

    /// The pending messages of all webhooks, where only some were added. If they and the new ones exceed the total limit, all
    /// have to be added.
    pub fn set_total(&mut self, pending: u64) {
        self.pending = pending;
    }

    #[must_use]
    pub fn total(&self) -> u64 {
        self.pending
    }

    /// Which of the new messages to reject since even empty queues could not hold them: the oldest.
    #[must_use]
    pub fn exceeding(&self, new: &[WebhookId], limits: &WebhookLimits) -> Vec<bool> {
        let mut of_webhook: HashMap<WebhookId, u64> = HashMap::new();
        let mut of_owner: HashMap<Option<Address>, u64> = HashMap::new();
        let mut of_all = 0;
        let mut rejected = vec![false; new.len()];
        for (webhook, rejected) in new.iter().zip(&mut rejected).rev() {
            let webhook_count = of_webhook.entry(*webhook).or_default();
            let owner_count = of_owner.entry(self.owner_of.get(webhook).copied()).or_default();
            *rejected = *webhook_count >= limits.pending_per_webhook
                || *owner_count >= limits.pending_per_owner
                || of_all >= limits.pending;
            if !*rejected {
                *webhook_count += 1;
                *owner_count += 1;
                of_all += 1;
            }
        }
        rejected
    }

    /// How many of its oldest messages each queue must drop, so that the new ones fit.
    #[must_use]
    pub fn make_room(&self, new: &BTreeMap<WebhookId, u64>, limits: &WebhookLimits) -> BTreeMap<WebhookId, u64> {
        let mut queues: BTreeMap<WebhookId, Queue> = BTreeMap::new();
        for (webhook, new) in new {
            let old = self.pending_of(*webhook);
            let mut queue = Queue { old, new: *new, dropped_oldest: 0 };
            queue.dropped_oldest = queue.len().saturating_sub(limits.pending_per_webhook).min(old);
            queues.insert(*webhook, queue);
        }
        let mut owners: Vec<Address> = new.keys().filter_map(|webhook| self.owner_of.get(webhook).copied()).collect();
        owners.sort_unstable();
        owners.dedup();
        for owner in owners {
            let of_owner = self.owners.get(&owner).into_iter().flatten();
            level(&mut queues, of_owner.map(|(webhook, pending)| (*webhook, *pending)), limits.pending_per_owner);
        }
        let added: u64 = queues.values().map(|queue| queue.new).sum();
        let dropped_oldest: u64 = queues.values().map(|queue| queue.dropped_oldest).sum();
        if self.pending + added > limits.pending + dropped_oldest {
            let all = self.owners.values().flatten().map(|(webhook, pending)| (*webhook, *pending));
            level(&mut queues, all, limits.pending);
        }
        queues
            .into_iter()
            .map(|(webhook, queue)| (webhook, queue.dropped_oldest))
            .filter(|(_, dropped_oldest)| *dropped_oldest > 0)
            .collect()
    }

    fn pending_of(&self, webhook: WebhookId) -> u64 {
        let owner = self.owner_of.get(&webhook);
        let queue = owner.and_then(|owner| self.owners.get(owner)?.get(&webhook));
        queue.copied().unwrap_or_default()
    }
}

/// A queue: its old messages, the new ones, and how many it drops.
#[derive(Debug, Clone, Copy)]
struct Queue {
    old: u64,
    new: u64,
    dropped_oldest: u64,
}

impl Queue {
    fn len(&self) -> u64 {
        self.old + self.new - self.dropped_oldest
    }
}

/// Drops from the fullest queues until all together are within the bound.
fn level(queues: &mut BTreeMap<WebhookId, Queue>, among: impl Iterator<Item = (WebhookId, u64)>, bound: u64) {
    let mut affected: Vec<(WebhookId, Queue)> = among
        .map(|(webhook, old)| {
            (webhook, queues.get(&webhook).copied().unwrap_or(Queue { old, new: 0, dropped_oldest: 0 }))
        })
        .collect();
    let total: u64 = affected.iter().map(|(_, queue)| queue.len()).sum();
    let Some(mut excess) = total.checked_sub(bound).filter(|excess| *excess > 0) else { return };
    affected.sort_unstable_by_key(|(_, queue)| std::cmp::Reverse(queue.len()));
    // The fullest queues are reduced to the length of the next one; then that one joins them.
    for fullest in 1..=affected.len() {
        let next = affected.get(fullest).map_or(0, |(_, queue)| queue.len());
        for (index, (_, queue)) in affected.iter_mut().take(fullest).enumerate() {
            let share = excess.div_ceil((fullest - index) as u64);
            let drops = queue.len().saturating_sub(next).min(queue.old - queue.dropped_oldest).min(share);
            queue.dropped_oldest += drops;
            excess -= drops;
        }
        if excess == 0 {
            break;
        }
    }
    // Some queues are full of new messages: the others drop more than their share.
    for (_, queue) in &mut affected {
        let drops = (queue.old - queue.dropped_oldest).min(excess);
        queue.dropped_oldest += drops;
        excess -= drops;
    }
    queues.extend(affected.into_iter().filter(|(_, queue)| queue.dropped_oldest > 0));
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALICE: Address = Address::repeat_byte(1);
    const BOB: Address = Address::repeat_byte(2);

    fn limits(per_webhook: u64, per_owner: u64, pending: u64) -> WebhookLimits {
        let limits = WebhookLimits::default();
        WebhookLimits { pending_per_webhook: per_webhook, pending_per_owner: per_owner, pending, ..limits }
    }

    fn loads() -> QueueLoads {
        let mut loads = QueueLoads::default();
        loads.add(1, ALICE, 50);
        loads.add(2, ALICE, 30);
        loads.add(3, BOB, 10);
        loads
    }

    fn room(new: &[(WebhookId, u64)], limits: WebhookLimits) -> Vec<(WebhookId, u64)> {
        loads().make_room(&new.iter().copied().collect(), &limits).into_iter().collect()
    }

    #[test]
    fn nothing_is_dropped_within_the_limits() {
        assert_eq!(room(&[(1, 10), (3, 5)], limits(60, 90, 105)), []);
    }

    #[test]
    fn a_full_queue_drops_its_own_oldest_messages() {
        assert_eq!(room(&[(1, 10), (3, 5)], limits(55, 1_000, 1_000)), [(1, 5)]);
    }

    #[test]
    fn of_an_owners_queues_the_fullest_drops_first() {
        assert_eq!(room(&[(2, 10)], limits(1_000, 85, 1_000)), [(1, 5)]);
        assert_eq!(room(&[(2, 10)], limits(1_000, 70, 1_000)), [(1, 15), (2, 5)]);
        assert_eq!(room(&[(3, 10)], limits(1_000, 85, 1_000)), [], "queues of other owners are not affected");
    }

    #[test]
    fn over_all_owners_the_fullest_queue_drops_first() {
        assert_eq!(room(&[(3, 10)], limits(1_000, 1_000, 80)), [(1, 20)]);
        assert_eq!(room(&[(3, 10)], limits(1_000, 1_000, 60)), [(1, 30), (2, 10)]);
    }

    #[test]
    fn the_oldest_messages_beyond_the_limits_are_rejected() {
        let loads = loads();
        assert_eq!(loads.exceeding(&[1, 1, 3, 1], &limits(2, 9, 9)), [true, false, false, false]);
        assert_eq!(loads.exceeding(&[1, 2, 3, 2], &limits(9, 2, 9)), [true, false, false, false]);
        assert_eq!(loads.exceeding(&[1, 2, 3, 2], &limits(9, 9, 3)), [true, false, false, false]);
    }

    #[test]
    fn the_total_matches_the_queues() {
        let mut loads = loads();
        loads.set(1, 5);
        assert!(loads.remove(2) && !loads.remove(2));
        loads.set(2, 99);
        assert_eq!(loads.total(), 15);
    }

    proptest::proptest! {
        #[test]
        fn every_limit_holds_after_drops(
            queues in proptest::collection::vec((0_u8..4, 0_u64..40), 1..12),
            new in proptest::collection::vec((0_usize..12, 1_u64..20), 1..12),
            bounds in (20_u64..60, 20_u64..120, 20_u64..200),
        ) {
            let limits = limits(bounds.0, bounds.1, bounds.2);
            let mut loads = QueueLoads::default();
            for (number, (owner, pending)) in queues.iter().enumerate() {
                loads.add(number as u64, Address::repeat_byte(*owner), *pending);
            }
            let recipients: Vec<WebhookId> = new
                .iter()
                .flat_map(|(index, count)| vec![(index % queues.len()) as u64; usize::try_from(*count).unwrap()])
                .collect();
            let mut counts: BTreeMap<WebhookId, u64> = BTreeMap::new();
            for (webhook, rejected) in recipients.iter().zip(loads.exceeding(&recipients, &limits)) {
                if !rejected {
                    *counts.entry(*webhook).or_default() += 1;
                }
            }
            let dropped_oldest = loads.make_room(&counts, &limits);
            let mut owners: BTreeMap<u8, u64> = BTreeMap::new();
            let mut total = 0;
            for (number, (owner, pending)) in queues.iter().enumerate() {
                let of = |map: &BTreeMap<WebhookId, u64>| map.get(&(number as u64)).copied().unwrap_or_default();
                proptest::prop_assert!(of(&dropped_oldest) <= *pending, "only old messages are dropped");
                let left = pending + of(&counts) - of(&dropped_oldest);
                // A queue without new messages may exceed its limit after the limit was lowered.
                proptest::prop_assert!(left <= limits.pending_per_webhook || of(&counts) == 0);
                if of(&counts) > 0 {
                    *owners.entry(*owner).or_default() += 0;
                }
                total += left;
            }
            for (owner, sum) in &mut owners {
                for (number, (of, pending)) in queues.iter().enumerate() {
                    let part = |map: &BTreeMap<WebhookId, u64>| map.get(&(number as u64)).copied().unwrap_or_default();
                    if of == owner {
                        *sum += pending + part(&counts) - part(&dropped_oldest);
                    }
                }
                proptest::prop_assert!(*sum <= limits.pending_per_owner, "owner {}: {}", owner, sum);
            }
            proptest::prop_assert!(total <= limits.pending);
        }
    }
}
