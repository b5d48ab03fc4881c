//! Counts webhooks and their messages.

use domain::{Address, WebhookId};
use store::{QueueLoads, WebhookTotals};

/// The pending messages of every webhook, and totals.
#[derive(Debug, Default)]
pub(super) struct Loads {
    pub(super) queues: QueueLoads,
    webhooks: u64,
    dropped: u64,
}

impl Loads {
    pub(super) fn totals(&self) -> WebhookTotals {
        WebhookTotals { webhooks: self.webhooks, pending: self.queues.total(), dropped: self.dropped }
    }

    pub(super) fn add(&mut self, webhook: WebhookId, owner: Address, pending: u64) {
        self.queues.add(webhook, owner, pending);
        self.webhooks += 1;
    }

    pub(super) fn remove(&mut self, webhook: WebhookId) {
        self.webhooks -= u64::from(self.queues.remove(webhook));
    }

    pub(super) fn note_drops(&mut self, dropped: u64) {
        self.dropped += dropped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_match_the_queues() {
        let mut loads = Loads::default();
        loads.add(1, Address::ZERO, 50);
        loads.add(2, Address::ZERO, 30);
        loads.add(3, Address::repeat_byte(1), 10);
        loads.queues.set(1, 5);
        loads.remove(2);
        loads.remove(2);
        loads.note_drops(4);
        assert_eq!(loads.totals(), WebhookTotals { webhooks: 2, pending: 15, dropped: 4 });
    }
}
