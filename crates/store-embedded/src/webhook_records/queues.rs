//! The in-memory state of the queues: leases, and where to start scanning.

use std::collections::{HashMap, HashSet};

use domain::{DeliveryNumber, DeliveryStatus, UnixMillis, WebhookId};
use store::{MAX_WAIT, StoreError};

use super::{
    effects::{Effects, QueueNote},
    load::Loads,
    read, rows,
};
use crate::{
    engine::View,
    keys::{Key, Table, number_after_id, retry_in_key},
};

/// Leases exist only in memory: no other process can open the folder, so they end with this process.
///
/// Queues are consumed from the front, and the engine has to skip every deleted row there, so the position of the first
/// entry is cached.
#[derive(Debug, Default)]
pub(super) struct Queues {
    leases: HashMap<(WebhookId, DeliveryNumber), UnixMillis>,
    /// Claimed by a dispatcher that ended without reporting.
    interrupted: HashSet<(WebhookId, DeliveryNumber)>,
    /// The first number that an earlier process, whose leases are unknown, cannot have sent.
    first_new: HashMap<WebhookId, DeliveryNumber>,
    first_fresh: HashMap<WebhookId, DeliveryNumber>,
    first_retry: HashMap<WebhookId, UnixMillis>,
    pub(super) loads: Loads,
    /// Everything below this block is pruned.
    pub(super) pruned_below: u64,
}

/// A queued delivery and its due time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Queued {
    number: DeliveryNumber,
    due: UnixMillis,
}

impl Queued {
    fn is_later_than(self, now: UnixMillis) -> bool {
        self.due > now && self.due <= now.saturating_add(MAX_WAIT)
    }
}

impl Queues {
    /// Loads the counts of pending messages.
    pub(super) fn load(view: &View) -> Result<Self, StoreError> {
        let mut queues = Self::default();
        for webhook in read::list_all(view) {
            let webhook = webhook?;
            let log = read::delivery_log(view, webhook.id)?;
            queues.loads.add(webhook.id, webhook.owner, log.pending);
            queues.first_new.insert(webhook.id, log.next);
        }
        Ok(queues)
    }

    /// Applies a committed change.
    pub(super) fn apply(&mut self, effects: Effects) {
        for (webhook, owner) in effects.added {
            self.loads.add(webhook, owner, 0);
        }
        for (webhook, pending) in effects.pending {
            self.loads.queues.set(webhook, pending);
        }
        for webhook in effects.deleted {
            self.loads.remove(webhook);
        }
        self.loads.note_drops(effects.dropped);
        for note in effects.queue_notes {
            match note {
                QueueNote::Released(webhook, number) => self.release(webhook, number),
                QueueNote::Retry(webhook, due) => self.note_retry(webhook, due),
                QueueNote::SkipTo(webhook, first) => self.skip_to(webhook, first),
                QueueNote::LogGone(webhook) => self.drop_webhook(webhook),
                QueueNote::PrunedBelow(block) => self.pruned_below = block,
                QueueNote::UnprunedFrom(block) => self.pruned_below = self.pruned_below.min(block),
            }
        }
    }

    pub(super) fn end_leases(&mut self) {
        self.interrupted.extend(self.leases.drain().map(|(message, _)| message));
    }

    /// Whether a message may have been sent without a record of it: it was claimed, and neither reported nor released,
    /// whether or not its lease has ended.
    pub(super) fn may_have_sent(
        &self,
        webhook: WebhookId,
        number: DeliveryNumber,
        status: DeliveryStatus,
        now: UnixMillis,
    ) -> bool {
        let was_due = match status {
            // Without a time, it is due at once.
            DeliveryStatus::Pending { due } => due.is_none_or(|due| due <= now),
            DeliveryStatus::Delivered | DeliveryStatus::Failed | DeliveryStatus::Cancelled => false,
        };
        self.leases.contains_key(&(webhook, number))
            || self.interrupted.contains(&(webhook, number))
            || (self.is_old(webhook, number) && was_due)
    }

    /// Whether a dispatcher before this one may have claimed the message without a report.
    pub(super) fn was_claimed_before(&self, webhook: WebhookId, number: DeliveryNumber) -> bool {
        self.interrupted.contains(&(webhook, number)) || self.is_old(webhook, number)
    }

    /// Whether an earlier process, whose leases are unknown, can have sent the message.
    fn is_old(&self, webhook: WebhookId, number: DeliveryNumber) -> bool {
        self.first_new.get(&webhook).is_some_and(|first| number < *first)
    }

    /// No delivery below this number is still unsent.
    pub(super) fn first_fresh(&self, webhook: WebhookId) -> DeliveryNumber {
        self.first_fresh.get(&webhook).copied().unwrap_or_default()
    }

    /// Everything below `first` is deleted.
    fn skip_to(&mut self, webhook: WebhookId, first: DeliveryNumber) {
        if let Some(fresh) = self.first_fresh.get_mut(&webhook) {
            *fresh = (*fresh).max(first);
        }
    }

    pub(super) fn lease(&mut self, webhook: WebhookId, number: DeliveryNumber, until: UnixMillis) {
        self.leases.insert((webhook, number), until);
    }

    pub(super) fn release(&mut self, webhook: WebhookId, number: DeliveryNumber) {
        self.leases.remove(&(webhook, number));
    }

    /// The end of the lease, if it is leased.
    pub(super) fn leased(&self, webhook: WebhookId, number: DeliveryNumber, now: UnixMillis) -> Option<UnixMillis> {
        self.leases.get(&(webhook, number)).copied().filter(|until| *until > now)
    }

    fn note_retry(&mut self, webhook: WebhookId, due: UnixMillis) {
        if let Some(first) = self.first_retry.get_mut(&webhook) {
            *first = (*first).min(due);
        }
    }

    fn drop_webhook(&mut self, webhook: WebhookId) {
        self.leases.retain(|(leased, _), _| *leased != webhook);
        self.interrupted.retain(|(claimed, _)| *claimed != webhook);
        self.first_new.remove(&webhook);
        self.first_fresh.remove(&webhook);
        self.first_retry.remove(&webhook);
    }

    /// When the next message is due; 0 for immediately.
    pub(super) fn find_due(
        &mut self,
        view: &View,
        webhook: WebhookId,
        now: UnixMillis,
    ) -> Result<Option<UnixMillis>, StoreError> {
        let mut due: Option<UnixMillis> = None;
        let mut consider = |at: UnixMillis| due = Some(due.map_or(at, |due| due.min(at)));
        for queued in self.fresh(view, webhook)? {
            let queued = queued?;
            match self.leased(webhook, queued.number, now) {
                Some(until) => consider(until),
                None => {
                    consider(0);
                    break;
                }
            }
        }
        for queued in self.retries(view, webhook) {
            let queued = queued?;
            match self.leased(webhook, queued.number, now) {
                Some(until) => consider(until.max(queued.due)),
                None => {
                    consider(queued.due);
                    break;
                }
            }
        }
        Ok(due)
    }

    /// The oldest message that has not been tried.
    pub(super) fn find_untried(
        &mut self,
        view: &View,
        webhook: WebhookId,
    ) -> Result<Option<DeliveryNumber>, StoreError> {
        if read::delivery_log(view, webhook)?.pending == 0 {
            return Ok(None);
        }
        Ok(self.fresh(view, webhook)?.next().transpose()?.map(|queued| queued.number))
    }

    /// The oldest due messages that are not leased.
    pub(super) fn take(
        &mut self,
        view: &View,
        webhook: WebhookId,
        limit: usize,
        now: UnixMillis,
    ) -> Result<Vec<DeliveryNumber>, StoreError> {
        let mut numbers = Vec::new();
        let fresh = self.fresh(view, webhook)?;
        let retries = self.retries(view, webhook);
        for queue in [fresh, retries] {
            let mut taken = 0;
            for queued in queue {
                let queued = queued?;
                if taken == limit || queued.is_later_than(now) {
                    break;
                }
                if self.leased(webhook, queued.number, now).is_none() {
                    numbers.push(queued.number);
                    taken += 1;
                }
            }
        }
        numbers.sort_unstable();
        numbers.truncate(limit);
        Ok(numbers)
    }

    fn fresh(
        &mut self,
        view: &View,
        webhook: WebhookId,
    ) -> Result<Box<dyn Iterator<Item = Result<Queued, StoreError>>>, StoreError> {
        let log = read::delivery_log(view, webhook)?;
        let from = self.first_fresh(webhook).max(log.fresh).max(log.first);
        let mut rows = view
            .range_from(Table::Delivery, &Key::delivery(webhook, from), &Key::id(webhook))
            .filter(|row| row.as_ref().map_or(true, |(_, row)| rows::is_fresh(row)))
            .map(|row| Ok(Queued { number: number_after_id(&row?.0)?, due: 0 }))
            .peekable();
        match rows.peek() {
            Some(Ok(first)) => self.first_fresh.insert(webhook, first.number),
            Some(Err(_)) => None,
            None => self.first_fresh.insert(webhook, log.next),
        };
        Ok(Box::new(rows))
    }

    fn retries(&mut self, view: &View, webhook: WebhookId) -> Box<dyn Iterator<Item = Result<Queued, StoreError>>> {
        let from = self.first_retry.get(&webhook).copied().unwrap_or_default();
        let mut rows = view
            .range_from(Table::RetryDelivery, &Key::retry(webhook, from, 0), &Key::id(webhook))
            .map(|row| {
                let (due, number) = retry_in_key(&row?.0)?;
                Ok(Queued { number, due })
            })
            .peekable();
        match rows.peek() {
            Some(Ok(first)) => self.first_retry.insert(webhook, first.due),
            // The next entry may be due at any time.
            _ => self.first_retry.remove(&webhook),
        };
        Box::new(rows)
    }
}
