use std::{
    collections::{BTreeMap, HashMap},
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

/// Evicted holders may take a moment to release their slots. At most 1/8 of all slots may be evicted but not released.
const LEAVING_SHARE: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotBounds {
    pub total: usize,
    pub per_client: usize,
    /// When all slots are taken and no client holds more than others, the oldest holder loses its slot after this time. None if a
    /// holder may keep it.
    pub kept_for: Option<Duration>,
}

/// Why there is no slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoSlot {
    /// The client has reached its limit.
    ClientFull,
    /// All slots are taken, no client holds more than this one would, and no holder has been long enough.
    Full,
}

/// A limited number of slots for connections or streams, shared fairly between clients.
///
/// When all are taken, a client that holds fewer slots than another gets one, and the client with the most slots loses its
/// oldest. So no client can lock out all others; where slots are kept for a limited time, no group of clients can.
pub struct FairSlots<K: Hash + Eq + Copy> {
    bounds: SlotBounds,
    held: Arc<Mutex<Held<K>>>,
}

struct Held<K> {
    next: u64,
    /// The slots of each client, oldest first.
    clients: HashMap<K, BTreeMap<u64, Holder>>,
    /// Number of slots in `clients`.
    total: usize,
    /// Slots whose holders were evicted and have not released them yet.
    leaving: usize,
}

struct Holder {
    since: Instant,
    evicted: CancellationToken,
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
            let kept_for = self.bounds.kept_for;
            if !may_evict || !(held.evict_from_heaviest(own + 1) || kept_for.is_some_and(|time| held.evict_after(time)))
            {
                return Err(NoSlot::Full);
            }
        }
        let number = held.next;
        held.next += 1;
        held.total += 1;
        let evicted = CancellationToken::new();
        let holder = Holder { since: Instant::now(), evicted: evicted.clone() };
        held.clients.entry(client).or_default().insert(number, holder);
        Ok(Slot { held: Arc::clone(&self.held), client, number, evicted })
    }
}

impl<K: Hash + Eq + Copy> Held<K> {
    /// Evicts the oldest holder of the client with the most slots, if it has more than this many.
    fn evict_from_heaviest(&mut self, more_than: usize) -> bool {
        let heaviest = self.clients.iter().max_by_key(|(_, slots)| slots.len());
        let Some((client, _)) = heaviest.filter(|(_, slots)| slots.len() > more_than) else { return false };
        let client = *client;
        self.evict_oldest_of(client)
    }

    /// Evicts the oldest holder of all, if it has had its slot for this time.
    fn evict_after(&mut self, time: Duration) -> bool {
        let first = |(client, slots): (&K, &BTreeMap<u64, Holder>)| {
            slots.first_key_value().map(|(number, holder)| (*number, holder.since, *client))
        };
        let oldest = self.clients.iter().filter_map(first).min_by_key(|(number, ..)| *number);
        match oldest {
            Some((_, since, client)) if since.elapsed() >= time => self.evict_oldest_of(client),
            _ => false,
        }
    }

    fn evict_oldest_of(&mut self, client: K) -> bool {
        let slots = self.clients.get_mut(&client);
        let Some((_, holder)) = slots.and_then(BTreeMap::pop_first) else { return false };
        if self.clients.get(&client).is_some_and(BTreeMap::is_empty) {
            self.clients.remove(&client);
        }
        holder.evicted.cancel();
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
        FairSlots::new(SlotBounds { total, per_client, kept_for: None })
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

    #[test]
    fn the_oldest_holder_makes_room_after_a_while() {
        let slots = |kept_for| FairSlots::new(SlotBounds { total: 8, per_client: 8, kept_for: Some(kept_for) });
        let patient = slots(Duration::from_hours(1));
        let _held: Vec<_> = (0..8).map(|client| patient.take(client).unwrap()).collect();
        assert_eq!(patient.take(9).err(), Some(NoSlot::Full));

        let brief = slots(Duration::ZERO);
        let mut held: Vec<_> = (0..8).map(|client| brief.take(client).unwrap()).collect();
        let late = brief.take(9).expect("one of them has been long enough");
        assert!(held[0].evicted.is_cancelled() && held[1..].iter().all(|slot| !slot.evicted.is_cancelled()));
        assert_eq!(brief.take(10).err(), Some(NoSlot::Full), "the evicted slot is not released yet");
        assert_eq!(counts(&brief), (8, 1, 8));
        drop(held.remove(0));
        assert!(brief.take(10).is_ok());
        drop((held, late));
        assert_eq!(counts(&brief), (0, 0, 0));
    }
}
