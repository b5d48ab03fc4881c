use admission::{FairSlots, Slot, SlotBounds};
use client_address::Client;

/// The maximum number of open streams: each is a connection.
const BOUNDS: SlotBounds = SlotBounds { total: 2_000, per_client: 32, kept_for: None };

/// The open streams of new blocks. When all slots are taken, a client with few streams replaces the oldest stream of the
/// client with the most.
#[derive(Debug)]
pub(crate) struct Streams(FairSlots<Client>);

pub(crate) type StreamSlot = Slot<Client>;

impl Default for Streams {
    fn default() -> Self {
        Self(FairSlots::new(BOUNDS))
    }
}

impl Streams {
    /// None if the client has reached its limit, or if all slots are taken and no client has more than this one.
    pub(crate) fn take_slot(&self, client: Client) -> Option<StreamSlot> {
        self.0.take(client).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn client(number: u8) -> Client {
        Client::of(IpAddr::V4(Ipv4Addr::new(10, 0, 0, number)))
    }

    #[test]
    fn clients_that_fill_all_slots_do_not_lock_out_others() {
        let streams = Streams::default();
        let busy = (1..=63).flat_map(|number| (0..BOUNDS.per_client).map(move |_| client(number)));
        let held: Vec<_> = busy.take(BOUNDS.total).filter_map(|client| streams.take_slot(client)).collect();
        assert_eq!(held.len(), BOUNDS.total);
        assert!(streams.take_slot(client(200)).is_some());
    }
}
