//! How many messages are pending, for whom, and which go where there are too many. Knows no disk.

use std::collections::{BTreeMap, HashMap};

use domain::{Address, WebhookId};
use store::{WebhookLimits, WebhookTotals};

/// The pending messages of every webhook.
#[derive(Debug, Default)]
pub(super) struct Loads {
    owners: HashMap<Address, BTreeMap<WebhookId, u64>>,
    owner_of: HashMap<WebhookId, Address>,
    totals: WebhookTotals,
}

impl Loads {
    pub(super) fn totals(&self) -> WebhookTotals {
        self.totals
    }

    pub(super) fn add(&mut self, webhook: WebhookId, owner: Address, pending: u64) {
        self.owners.entry(owner).or_default().insert(webhook, pending);
        self.owner_of.insert(webhook, owner);
        self.totals.webhooks += 1;
        self.totals.pending += pending;
    }

    pub(super) fn remove(&mut self, webhook: WebhookId) {
        let Some(owner) = self.owner_of.remove(&webhook) else { return };
        let Some(queues) = self.owners.get_mut(&owner) else { return };
        let pending = queues.remove(&webhook).unwrap_or_default();
        if queues.is_empty() {
            self.owners.remove(&owner);
        }
        self.totals.webhooks -= 1;
        self.totals.pending = self.totals.pending.saturating_sub(pending);
    }

    /// Takes note of how full a queue is. One that is gone counts no more.
    pub(super) fn set(&mut self, webhook: WebhookId, pending: u64) {
        let Some(owner) = self.owner_of.get(&webhook) else { return };
        let Some(queue) = self.owners.get_mut(owner).and_then(|queues| queues.get_mut(&webhook)) else { return };
        self.totals.pending = self.totals.pending.saturating_sub(*queue) + pending;
        *queue = pending;
    }

    pub(super) fn note_drops(&mut self, dropped: u64) {
        self.totals.dropped += dropped;
    }

    /// Of new messages in their order, the ones to leave out since even empty queues would not hold them: the oldest.
    pub(super) fn too_many(&self, new: &[WebhookId], limits: &WebhookLimits) -> Vec<bool> {
        let mut of_webhook: HashMap<WebhookId, u64> = HashMap::new();
        let mut of_owner: HashMap<Option<Address>, u64> = HashMap::new();
        let mut of_all = 0;
        let mut left_out = vec![false; new.len()];
        for (webhook, left_out) in new.iter().zip(&mut left_out).rev() {
            let webhook_count = of_webhook.entry(*webhook).or_default();
            let owner_count = of_owner.entry(self.owner_of.get(webhook).copied()).or_default();
            *left_out = *webhook_count >= limits.pending_per_webhook
                || *owner_count >= limits.pending_per_owner
                || of_all >= limits.pending;
            if !*left_out {
                *webhook_count += 1;
                *owner_count += 1;
                of_all += 1;
            }
        }
        left_out
    }

    /// How many of their oldest messages which queues must give up, so that new ones fit.
    pub(super) fn make_room(&self, new: &BTreeMap<WebhookId, u64>, limits: &WebhookLimits) -> BTreeMap<WebhookId, u64> {
        let mut queues: BTreeMap<WebhookId, Queue> = BTreeMap::new();
        for (webhook, new) in new {
            let old = self.pending(*webhook);
            let mut queue = Queue { old, new: *new, shed: 0 };
            queue.shed = queue.len().saturating_sub(limits.pending_per_webhook).min(old);
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
        let shed: u64 = queues.values().map(|queue| queue.shed).sum();
        if self.totals.pending + added > limits.pending + shed {
            let all = self.owners.values().flatten().map(|(webhook, pending)| (*webhook, *pending));
            level(&mut queues, all, limits.pending);
        }
        queues.into_iter().map(|(webhook, queue)| (webhook, queue.shed)).filter(|(_, shed)| *shed > 0).collect()
    }

    fn pending(&self, webhook: WebhookId) -> u64 {
        let owner = self.owner_of.get(&webhook);
        let queue = owner.and_then(|owner| self.owners.get(owner)?.get(&webhook));
        queue.copied().unwrap_or_default()
    }
}

/// A queue, what comes to it, and what it gives up.
#[derive(Debug, Clone, Copy)]
struct Queue {
    old: u64,
    new: u64,
    shed: u64,
}

impl Queue {
    fn len(&self) -> u64 {
        self.old + self.new - self.shed
    }
}

/// Takes from the fullest queues until all together hold no more than the bound.
fn level(queues: &mut BTreeMap<WebhookId, Queue>, among: impl Iterator<Item = (WebhookId, u64)>, bound: u64) {
    let mut concerned: Vec<(WebhookId, Queue)> = among
        .map(|(webhook, old)| (webhook, queues.get(&webhook).copied().unwrap_or(Queue { old, new: 0, shed: 0 })))
        .collect();
    let total: u64 = concerned.iter().map(|(_, queue)| queue.len()).sum();
    let Some(mut excess) = total.checked_sub(bound).filter(|excess| *excess > 0) else { return };
    concerned.sort_unstable_by_key(|(_, queue)| std::cmp::Reverse(queue.len()));
    // The first so many are brought down to the length of the one behind them; then one more joins.
    for fullest in 1..=concerned.len() {
        let next = concerned.get(fullest).map_or(0, |(_, queue)| queue.len());
        for (place, (_, queue)) in concerned.iter_mut().take(fullest).enumerate() {
            let share = excess.div_ceil((fullest - place) as u64);
            let give = queue.len().saturating_sub(next).min(queue.old - queue.shed).min(share);
            queue.shed += give;
            excess -= give;
        }
        if excess == 0 {
            break;
        }
    }
    // Some are full of what is just coming: the others give more than their share.
    for (_, queue) in &mut concerned {
        let give = (queue.old - queue.shed).min(excess);
        queue.shed += give;
        excess -= give;
    }
    queues.extend(concerned.into_iter().filter(|(_, queue)| queue.shed > 0));
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

    fn loads() -> Loads {
        let mut loads = Loads::default();
        loads.add(1, ALICE, 50);
        loads.add(2, ALICE, 30);
        loads.add(3, BOB, 10);
        loads
    }

    fn room(loads: &Loads, new: &[(WebhookId, u64)], limits: WebhookLimits) -> Vec<(WebhookId, u64)> {
        loads.make_room(&new.iter().copied().collect(), &limits).into_iter().collect()
    }

    #[test]
    fn where_there_is_room_nothing_is_given_up() {
        assert_eq!(room(&loads(), &[(1, 10), (3, 5)], limits(60, 90, 105)), []);
    }

    #[test]
    fn a_full_queue_gives_up_its_own_oldest() {
        assert_eq!(room(&loads(), &[(1, 10), (3, 5)], limits(55, 1_000, 1_000)), [(1, 5)]);
    }

    #[test]
    fn among_an_owner_s_queues_the_fullest_gives_first_and_others_when_it_is_level_with_them() {
        assert_eq!(room(&loads(), &[(2, 10)], limits(1_000, 85, 1_000)), [(1, 5)]);
        assert_eq!(room(&loads(), &[(2, 10)], limits(1_000, 70, 1_000)), [(1, 15), (2, 5)]);
        assert_eq!(room(&loads(), &[(3, 10)], limits(1_000, 85, 1_000)), [], "another owner's are not touched");
    }

    #[test]
    fn over_all_owners_the_fullest_queue_gives_and_a_small_one_keeps_what_it_has() {
        assert_eq!(room(&loads(), &[(3, 10)], limits(1_000, 1_000, 80)), [(1, 20)]);
        assert_eq!(room(&loads(), &[(3, 10)], limits(1_000, 1_000, 60)), [(1, 30), (2, 10)]);
    }

    #[test]
    fn what_no_empty_queue_would_hold_is_left_out_and_the_newest_is_kept() {
        let loads = loads();
        assert_eq!(loads.too_many(&[1, 1, 3, 1], &limits(2, 9, 9)), [true, false, false, false]);
        assert_eq!(loads.too_many(&[1, 2, 3, 2], &limits(9, 2, 9)), [true, false, false, false]);
        assert_eq!(loads.too_many(&[1, 2, 3, 2], &limits(9, 9, 3)), [true, false, false, false]);
    }

    #[test]
    fn totals_follow_the_queues() {
        let mut loads = loads();
        loads.set(1, 5);
        loads.remove(2);
        loads.set(2, 99);
        loads.note_drops(4);
        assert_eq!(loads.totals(), WebhookTotals { webhooks: 2, pending: 15, dropped: 4 });
    }

    proptest::proptest! {
        #[test]
        fn after_room_was_made_every_bound_holds(
            queues in proptest::collection::vec((0_u8..4, 0_u64..40), 1..12),
            new in proptest::collection::vec((0_usize..12, 1_u64..20), 1..12),
            bounds in (20_u64..60, 20_u64..120, 20_u64..200),
        ) {
            let limits = limits(bounds.0, bounds.1, bounds.2);
            let mut loads = Loads::default();
            for (number, (owner, pending)) in queues.iter().enumerate() {
                loads.add(number as u64, Address::repeat_byte(*owner), *pending);
            }
            let wanted: Vec<WebhookId> = new
                .iter()
                .flat_map(|(place, count)| vec![(place % queues.len()) as u64; usize::try_from(*count).unwrap()])
                .collect();
            let mut counts: BTreeMap<WebhookId, u64> = BTreeMap::new();
            for (webhook, left_out) in wanted.iter().zip(loads.too_many(&wanted, &limits)) {
                if !left_out {
                    *counts.entry(*webhook).or_default() += 1;
                }
            }
            let shed = loads.make_room(&counts, &limits);
            let mut owners: BTreeMap<u8, u64> = BTreeMap::new();
            let mut total = 0;
            for (number, (owner, pending)) in queues.iter().enumerate() {
                let of = |map: &BTreeMap<WebhookId, u64>| map.get(&(number as u64)).copied().unwrap_or_default();
                proptest::prop_assert!(of(&shed) <= *pending, "only old ones are given up");
                let left = pending + of(&counts) - of(&shed);
                // A queue that nothing came to may be over its own bound, after the bound was lowered.
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
                        *sum += pending + part(&counts) - part(&shed);
                    }
                }
                proptest::prop_assert!(*sum <= limits.pending_per_owner, "owner {}: {}", owner, sum);
            }
            proptest::prop_assert!(total <= limits.pending);
        }
    }
}
