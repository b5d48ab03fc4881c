use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::limits::Client;

/// Streams that one client may have open.
const PER_CLIENT: usize = 32;
/// Streams open in all: each is a connection.
const IN_ALL: usize = 2_000;

/// Who is listening to new blocks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Streams(Arc<Mutex<HashMap<Client, usize>>>);

/// A place among the listeners, given back when dropped.
#[derive(Debug)]
pub(crate) struct Listening {
    streams: Streams,
    client: Client,
}

impl Streams {
    /// None where the client, or all clients together, have as many streams as they may.
    pub(crate) fn admit(&self, client: Client) -> Option<Listening> {
        let mut open = self.open();
        if open.values().sum::<usize>() >= IN_ALL || open.get(&client).is_some_and(|own| *own >= PER_CLIENT) {
            return None;
        }
        *open.entry(client).or_default() += 1;
        Some(Listening { streams: self.clone(), client })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<Client, usize>> {
        // A count is never left half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut open = self.streams.open();
        if let Some(own) = open.get_mut(&self.client) {
            *own -= 1;
            if *own == 0 {
                open.remove(&self.client);
            }
        }
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
    fn one_client_does_not_take_the_place_of_others() {
        let streams = Streams::default();
        let held: Vec<_> = (0..PER_CLIENT).map(|_| streams.admit(client(1)).unwrap()).collect();
        assert!(streams.admit(client(1)).is_none());
        assert!(streams.admit(client(2)).is_some());
        drop(held);
        assert!(streams.admit(client(1)).is_some());
    }

    #[test]
    fn there_is_a_bound_for_all_together() {
        let streams = Streams::default();
        let all: Vec<_> = (0..=255).flat_map(|number| (0..PER_CLIENT).map(move |_| client(number))).collect();
        let held: Vec<_> = all.into_iter().filter_map(|client| streams.admit(client)).collect();
        assert_eq!(held.len(), IN_ALL);
    }
}
