use std::{
    collections::{BTreeMap, HashMap},
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

/// Evicted holders may take a moment to release their slots. At most 1/8 of all slots may be evicted but not released.
const LEAVING_SHARE: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotBounds {
    pub total: usize,
    pub per_client: usize,
}

/// Why there is no slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoSlot {
    /// The client has reached its limit.
    ClientFull,
    /// All slots are taken, and no client holds more than this one would.
    Full,
}

/// A limited number of slots for connections or streams, shared fairly between clients.
///
/// When all are taken, a client that holds fewer slots than another gets one, and the client with the most slots loses its
/// oldest. So no group of clients can lock out all others.
pub struct FairSlots<K: Hash + Eq + Copy> {
    bounds: SlotBounds,
    held: Arc<Mutex<Held<K>>>,
}

struct Held<K> {
    next: u64,
    /// The slots of each client, oldest first.
    clients: HashMap<K, BTreeMap<u64, CancellationToken>>,
    /// Number of slots in `clients`.
    total: usize,
    /// Slots whose holders were evicted and have not released them yet.
    leaving: usize,
}

/// A slot, released when dropped.
pub struct Slot<K: Hash + Eq + Copy> {
    held: Arc<Mutex<Held<K>>>,
    client: K,
    number: u64,
    evicted: CancellationToken,
}

impl<K: Hash + Eq + Copy> FairSlots<K> {
    #[must_use]
    pub fn new(bounds: SlotBounds) -> Self {
        Self { bounds, held: Arc::new(Mutex::new(Held { next: 0, clients: HashMap::new(), total: 0, leaving: 0 })) }
    }

    /// # Errors
    /// If there is no slot for the client now.
    pub fn take(&self, client: K) -> Result<Slot<K>, NoSlot> {
        let mut held = lock(&self.held);
        let own = held.clients.get(&client).map_or(0, BTreeMap::len);
        if own >= self.bounds.per_client {
            return Err(NoSlot::ClientFull);
        }
        if held.total >= self.bounds.total {
            let may_evict = held.leaving < (self.bounds.total / LEAVING_SHARE).max(1);
            if !may_evict || !held.evict_from_heaviest(own + 1) {
                return Err(NoSlot::Full);
            }
        }
        let number = held.next;
        held.next += 1;
        held.total += 1;
        let evicted = CancellationToken::new();
        held.clients.entry(client).or_default().insert(number, evicted.clone());
        Ok(Slot { held: Arc::clone(&self.held), client, number, evicted })
    }
}

impl<K: Hash + Eq + Copy> Held<K> {
    /// Evicts the oldest holder of the client with the most slots, if it has more than this many.
    fn evict_from_heaviest(&mut self, more_than: usize) -> bool {
        let heaviest = self.clients.iter().max_by_key(|(_, slots)| slots.len());
        let Some((client, _)) = heaviest.filter(|(_, slots)| slots.len() > more_than) else { return false };
        let client = *client;
        let oldest = self.clients.get_mut(&client).and_then(BTreeMap::pop_first);
        let Some((_, evicted)) = oldest else { return false };
        evicted.cancel();
        self.total -= 1;
        self.leaving += 1;
        true
    }
}

impl<K: Hash + Eq + Copy> Slot<K> {
    /// Completes when the slot is given to another client: its holder must stop.
    pub fn evicted(&self) -> WaitForCancellationFuture<'_> {
        self.evicted.cancelled()
    }
}

impl<K: Hash + Eq + Copy> Drop for Slot<K> {
    fn drop(&mut self) {
        let mut held = lock(&self.held);
        let Some(slots) = held.clients.get_mut(&self.client) else {
            held.leaving -= 1;
            return;
        };
        let is_evicted = slots.remove(&self.number).is_none();
        if slots.is_empty() {
            held.clients.remove(&self.client);
        }
        if is_evicted {
            held.leaving -= 1;
        } else {
            held.total -= 1;
        }
    }
}

impl<K: Hash + Eq + Copy> std::fmt::Debug for Slot<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slot").finish_non_exhaustive()
    }
}

impl<K: Hash + Eq + Copy> std::fmt::Debug for FairSlots<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FairSlots").field("bounds", &self.bounds).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code that may panic runs while the counts are inconsistent.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(total: usize, per_client: usize) -> FairSlots<u32> {
        FairSlots::new(SlotBounds { total, per_client })
    }

    fn counts(slots: &FairSlots<u32>) -> (usize, usize, usize) {
        let held = lock(&slots.held);
        (held.total, held.leaving, held.clients.len())
    }

    #[test]
    fn a_client_cannot_exceed_its_limit() {
        let slots = slots(100, 3);
        let held: Vec<_> = (0..3).map(|_| slots.take(1).unwrap()).collect();
        assert_eq!(slots.take(1).err(), Some(NoSlot::ClientFull));
        assert!(slots.take(2).is_ok());
        drop(held);
        assert!(slots.take(1).is_ok());
        assert_eq!(counts(&slots), (0, 0, 0));
    }

    #[test]
    fn a_client_with_few_slots_evicts_one_of_the_heaviest() {
        let slots = slots(64, 32);
        let mut held: Vec<_> = (0..64).map(|number| slots.take(number % 2).unwrap()).collect();
        let late = slots.take(7).expect("a new client gets a slot");
        assert_eq!(held.iter().filter(|slot| slot.evicted.is_cancelled()).count(), 1);
        assert!(held[0].evicted.is_cancelled() || held[1].evicted.is_cancelled(), "the oldest slot is evicted");
        assert!(!late.evicted.is_cancelled());
        assert_eq!(counts(&slots), (64, 1, 3));
        held.retain(|slot| !slot.evicted.is_cancelled());
        assert_eq!(counts(&slots), (64, 0, 3));
        drop((held, late));
        assert_eq!(counts(&slots), (0, 0, 0));
    }

    #[test]
    fn clients_with_equal_shares_do_not_evict_each_other() {
        let slots = slots(8, 8);
        let _held: Vec<_> = (0..8).map(|client| slots.take(client).unwrap()).collect();
        assert_eq!(slots.take(9).err(), Some(NoSlot::Full));
        assert_eq!(slots.take(3).err(), Some(NoSlot::Full));
    }

    #[test]
    fn evictions_are_limited_until_slots_are_released() {
        let slots = slots(16, 16);
        let held: Vec<_> = (0..16).map(|_| slots.take(1).unwrap()).collect();
        let late: Vec<_> = (2..4).map(|client| slots.take(client).unwrap()).collect();
        assert_eq!(slots.take(4).err(), Some(NoSlot::Full), "two evicted slots are not released yet");
        drop(held);
        assert!(slots.take(4).is_ok());
        drop(late);
    }
}
