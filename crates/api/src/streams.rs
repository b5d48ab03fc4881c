use crate::limits::{Client, FairSlots, Slot, SlotBounds};

/// A client may have this many streams open, and all together: each is a connection.
const BOUNDS: SlotBounds = SlotBounds { total: 2_000, per_client: 32 };

/// Who is listening to new blocks. When all slots are taken, the client with the most streams loses its oldest to one
/// that has fewer.
#[derive(Debug)]
pub(crate) struct Streams(FairSlots<Client>);

/// A slot among the listeners.
pub(crate) type Listening = Slot<Client>;

impl Default for Streams {
    fn default() -> Self {
        Self(FairSlots::new(BOUNDS))
    }
}

impl Streams {
    /// None where the client has as many streams as it may, or as large a share as any other.
    pub(crate) fn admit(&self, client: Client) -> Option<Listening> {
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
    fn as_many_clients_as_fill_every_slot_do_not_lock_others_out() {
        let streams = Streams::default();
        let busy = (1..=63).flat_map(|number| (0..BOUNDS.per_client).map(move |_| client(number)));
        let held: Vec<_> = busy.take(BOUNDS.total).filter_map(|client| streams.admit(client)).collect();
        assert_eq!(held.len(), BOUNDS.total);
        assert!(streams.admit(client(200)).is_some());
    }
}
