//! A run of entries of a list. The open chunk at the end of a list and the full ones before it have the same encoding,
//! so that closing one copies bytes without decoding.

use store::{Party, StoreError};

use crate::codec::{RowReader, RowWriter, write_varint};

/// The roles of the list's owner in an entry; both are set for a transfer to self.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Roles {
    pub(crate) from: bool,
    pub(crate) to: bool,
}

impl Roles {
    pub(crate) const NONE: Self = Self { from: false, to: false };

    fn bits(self) -> u8 {
        u8::from(self.from) | u8::from(self.to) << 1
    }

    fn from_bits(bits: u64) -> Self {
        Self { from: bits & 1 != 0, to: bits & 2 != 0 }
    }
}

impl From<Party> for Roles {
    fn from(party: Party) -> Self {
        match party {
            Party::Any => Self::NONE,
            Party::Sender => Self { from: true, to: false },
            Party::Receiver => Self { from: false, to: true },
            Party::Both => Self { from: true, to: true },
        }
    }
}

/// Selects entries of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    Any,
    From,
    To,
    /// Both sender and receiver.
    Both,
}

impl From<Party> for Role {
    fn from(party: Party) -> Self {
        match party {
            Party::Any => Self::Any,
            Party::Sender => Self::From,
            Party::Receiver => Self::To,
            Party::Both => Self::Both,
        }
    }
}

impl Role {
    /// The bits of [`Roles`] that must be set.
    fn bits(self) -> u8 {
        match self {
            Self::Any => 0b00,
            Self::From => 0b01,
            Self::To => 0b10,
            Self::Both => 0b11,
        }
    }

    pub(crate) fn matches(self, roles: Roles) -> bool {
        roles.bits() & self.bits() == self.bits()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) id: u64,
    pub(crate) roles: Roles,
}

impl Entry {
    pub(crate) fn new(id: u64, party: Party) -> Self {
        Self { id, roles: party.into() }
    }
}

/// The number of entries per role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    any: u64,
    from: u64,
    to: u64,
    both: u64,
}

impl Counts {
    pub(crate) fn of(&self, role: Role) -> u64 {
        match role {
            Role::Any => self.any,
            Role::From => self.from,
            Role::To => self.to,
            Role::Both => self.both,
        }
    }

    fn add(&mut self, roles: Roles) {
        self.any += 1;
        self.from += u64::from(roles.from);
        self.to += u64::from(roles.to);
        self.both += u64::from(roles.from && roles.to);
    }

    fn plus(self, other: Self) -> Self {
        Self {
            any: self.any + other.any,
            from: self.from + other.from,
            to: self.to + other.to,
            both: self.both + other.both,
        }
    }

    /// The count of all entries follows from the chunk number, so only the others are stored.
    fn write(&self, row: &mut RowWriter) {
        row.varint(self.from);
        row.varint(self.to);
        row.varint(self.both);
    }

    fn read(any: u64, row: &mut RowReader<'_>) -> Result<Self, StoreError> {
        let counts = Self { any, from: row.varint()?, to: row.varint()?, both: row.varint()? };
        if counts.are_possible() { Ok(counts) } else { Err(MISCOUNTED) }
    }

    /// Entries with both roles count in each of them.
    fn are_possible(&self) -> bool {
        let either = self.from.checked_add(self.to).and_then(|sum| sum.checked_sub(self.both));
        self.both <= self.from.min(self.to) && either.is_some_and(|either| either <= self.any)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Chunk {
    number: u32,
    /// Counts of all chunks before this one.
    before: Counts,
    /// Counts of this chunk.
    within: Counts,
    last: u64,
    /// Per entry: the difference from the previous id (the first: from 0), with the roles in the two low bits.
    entries: Vec<u8>,
}

/// Most lists are short, and an open chunk is written with every batch that touches it, so the first chunks are small.
/// A list that has filled them is long, and large chunks need fewer reads.
const SMALL_CHUNKS: u32 = 8;
const SMALL: u64 = 128;
pub(super) const LARGE: u64 = 1024;
const IN_SMALL_CHUNKS: u64 = SMALL_CHUNKS as u64 * SMALL;

/// The number of entries before a chunk.
fn entries_before(number: u32) -> u64 {
    let large = u64::from(number.saturating_sub(SMALL_CHUNKS));
    u64::from(number.min(SMALL_CHUNKS)) * SMALL + large * LARGE
}

impl Chunk {
    /// The chunk that contains the entry at a rank, if the list is that long.
    pub(crate) fn holding(rank: u64) -> Option<u32> {
        match rank.checked_sub(IN_SMALL_CHUNKS) {
            None => u32::try_from(rank / SMALL).ok(),
            Some(behind) => u32::try_from(u64::from(SMALL_CHUNKS) + behind / LARGE).ok(),
        }
    }

    fn capacity(&self) -> u64 {
        if self.number < SMALL_CHUNKS { SMALL } else { LARGE }
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    pub(crate) fn is_full(&self) -> bool {
        self.within.any == self.capacity()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.within.any == 0
    }

    pub(crate) fn len(&self) -> u64 {
        self.within.any
    }

    /// Number of entries of a role before this chunk.
    pub(crate) fn before(&self, role: Role) -> u64 {
        self.before.of(role)
    }

    /// Number of entries of a role up to the end of this chunk.
    pub(crate) fn through(&self, role: Role) -> u64 {
        self.before.of(role) + self.within.of(role)
    }

    /// Appends an entry. Only an index whose counts are damaged has one that does not follow the last.
    pub(crate) fn push(&mut self, entry: Entry) -> Result<(), StoreError> {
        let step =
            if self.is_empty() { Some(entry.id) } else { entry.id.checked_sub(self.last).filter(|step| *step > 0) };
        let step = step.filter(|_| !self.is_full()).ok_or(NOT_NEXT)?;
        write_varint(&mut self.entries, u128::from(step) << 2 | u128::from(entry.roles.bits()));
        self.within.add(entry.roles);
        self.last = entry.id;
        Ok(())
    }

    /// The empty chunk that follows this one.
    pub(crate) fn next(&self) -> Self {
        Self { number: self.number + 1, before: self.before.plus(self.within), ..Self::default() }
    }

    /// Drops the entries with an id of `cut` or above.
    pub(crate) fn truncate(&mut self, cut: u64) -> Result<(), StoreError> {
        let kept = self.decode()?;
        let mut shorter = Self { number: self.number, before: self.before, ..Self::default() };
        kept.into_iter().filter(|entry| entry.id < cut).try_for_each(|entry| shorter.push(entry))?;
        *self = shorter;
        Ok(())
    }

    pub(crate) fn decode(&self) -> Result<Vec<Entry>, StoreError> {
        let mut row = RowReader::new(&self.entries);
        let mut entries = Vec::with_capacity(usize::try_from(self.within.any).unwrap_or_default());
        let mut id = 0;
        let mut counted = Counts::default();
        while !row.is_empty() {
            let step: u64 = row.varint()?;
            if step >> 2 == 0 && !entries.is_empty() {
                return Err(StoreError::Corrupt("a chunk contains an entry twice"));
            }
            id = u64::checked_add(id, step >> 2).ok_or(MISCOUNTED)?;
            let roles = Roles::from_bits(step);
            counted.add(roles);
            entries.push(Entry { id, roles });
        }
        if counted == self.within && id == self.last { Ok(entries) } else { Err(MISCOUNTED) }
    }

    /// Replaces `ids` by the ids of the entries of a role, in order.
    pub(crate) fn collect_ids(&self, role: Role, ids: &mut Vec<u64>) -> Result<(), StoreError> {
        ids.clear();
        ids.resize(usize::try_from(self.within.any).unwrap_or_default(), 0);
        let (mut row, mut id, mut kept, mut wrapped) = (RowReader::new(&self.entries), 0_u64, 0, false);
        let bits = u64::from(role.bits());
        // Every id is written, and only matching ones are kept: matches are unpredictable, so a branch would cost more
        // than the write.
        let mut take = |step: u64, slot: &mut u64| {
            let (next, is_too_large) = id.overflowing_add(step >> 2);
            (id, wrapped) = (next, wrapped | is_too_large);
            *slot = id;
            usize::from(step & bits == bits)
        };
        while !row.is_empty() {
            while let Some(steps) = row.eight_short_varints() {
                let room = ids.get_mut(kept..).and_then(<[u64]>::first_chunk_mut::<8>).ok_or(OVERFULL)?;
                let mut taken = 0;
                #[expect(clippy::indexing_slicing, reason = "the index is below eight")]
                for step in steps {
                    // At most eight ids, and each is written before it is counted.
                    taken += take(u64::from(step), &mut room[taken & 7]);
                }
                kept += taken;
            }
            if !row.is_empty() {
                let slot = ids.get_mut(kept).ok_or(OVERFULL)?;
                kept += take(row.varint()?, slot);
            }
        }
        ids.truncate(kept);
        let is_complete = kept as u64 == self.within.of(role) && id == self.last && !wrapped;
        if is_complete { Ok(()) } else { Err(MISCOUNTED) }
    }

    pub(crate) fn to_row(&self) -> Vec<u8> {
        let mut row = RowWriter::with_capacity(self.entries.len() + 24);
        row.varint(self.number);
        row.varint(self.within.any);
        self.within.write(&mut row);
        self.before.write(&mut row);
        row.varint(self.last);
        row.bytes(&self.entries);
        row.finish()
    }

    pub(crate) fn from_row(row: &[u8]) -> Result<Self, StoreError> {
        let mut row = RowReader::new(row);
        let number: u32 = row.varint()?;
        let within = row.varint()?;
        let within = Counts::read(within, &mut row)?;
        let before = Counts::read(entries_before(number), &mut row)?;
        let last = row.varint()?;
        let chunk = Self { number, before, within, last, entries: row.rest().to_vec() };
        // The count decides how much memory is reserved, and an entry takes at least one byte.
        let most = chunk.capacity().min(chunk.entries.len() as u64);
        if chunk.len() <= most { Ok(chunk) } else { Err(MISCOUNTED) }
    }
}

const NOT_NEXT: StoreError = StoreError::Corrupt("an entry that does not follow the last of its list");
const OVERFULL: StoreError = StoreError::Corrupt("a chunk is longer than its count");
const MISCOUNTED: StoreError = StoreError::Corrupt("a chunk does not match its counts");

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk_of(ids: std::ops::Range<u64>) -> Chunk {
        let mut chunk = Chunk::default();
        ids.map(|id| Entry { id: id * 3, roles: Roles::from_bits(id % 4) })
            .for_each(|entry| chunk.push(entry).unwrap());
        chunk
    }

    #[test]
    fn a_chunk_survives_a_round_trip() {
        let chunk = chunk_of(5..100);
        let read = Chunk::from_row(&chunk.to_row()).unwrap();
        assert_eq!(read, chunk);
        assert_eq!(read.decode().unwrap().len(), 95);
        assert_eq!(read.through(Role::From), (5..100).filter(|id| id & 1 != 0).count() as u64);
    }

    #[test]
    fn an_entry_that_does_not_follow_the_last_is_refused() {
        let mut chunk = chunk_of(5..100);
        let before = chunk.clone();
        for id in [0, 98 * 3, 99 * 3] {
            let pushed = chunk.push(Entry { id, roles: Roles::NONE });
            assert!(matches!(pushed, Err(StoreError::Corrupt(_))), "{id}: {pushed:?}");
        }
        assert_eq!(chunk, before);
        let mut full = chunk_of(0..SMALL);
        assert!(full.push(Entry { id: u64::MAX, roles: Roles::NONE }).is_err());
    }

    #[test]
    fn truncating_restores_the_earlier_chunk() {
        let mut chunk = chunk_of(0..100);
        chunk.truncate(40 * 3).unwrap();
        assert_eq!(chunk, chunk_of(0..40));
        chunk.truncate(0).unwrap();
        assert_eq!(chunk, Chunk::default());
    }

    #[test]
    fn every_entry_is_in_the_chunk_of_its_rank() {
        let (mut chunk, mut rank) = (Chunk::default(), 0);
        while chunk.number() < SMALL_CHUNKS + 3 {
            if chunk.is_full() {
                chunk = chunk.next();
                assert_eq!(chunk.before(Role::Any), entries_before(chunk.number()));
            }
            assert_eq!(Chunk::holding(rank), Some(chunk.number()), "{rank}");
            chunk.push(Entry { id: rank * 200, roles: Roles::NONE }).unwrap();
            rank += 1;
        }
    }

    #[test]
    fn collected_ids_of_a_role_match_decoded_entries() {
        // Differences of one byte and of several, in runs and alone.
        let steps = (0..500_u64).map(|n| if n % 37 < 20 { 1 + n % 3 } else { n * n });
        let mut chunk = Chunk { number: SMALL_CHUNKS, ..Chunk::default() };
        let mut id = 0;
        for step in steps {
            id += step;
            chunk.push(Entry { id, roles: Roles::from_bits(id % 4) }).unwrap();
        }
        for role in [Role::Any, Role::From, Role::To, Role::Both] {
            let mut ids = Vec::new();
            chunk.collect_ids(role, &mut ids).unwrap();
            let decoded = chunk.decode().unwrap().into_iter().filter(|entry| role.matches(entry.roles));
            assert_eq!(ids, decoded.map(|entry| entry.id).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_chunk_with_wrong_counts_is_corrupt() {
        let row = |within: [u64; 4], before: [u64; 3], last: u64, entries: &[u8]| {
            let mut row = RowWriter::default();
            row.varint(0_u32);
            within.into_iter().chain(before).chain([last]).for_each(|number| row.varint(number));
            row.bytes(entries);
            row.finish()
        };
        // Two entries: 1 as the sender, 2 as the receiver.
        let entries = [1 << 2 | 1, 1 << 2 | 2];
        let read = |row: &[u8]| {
            let chunk = Chunk::from_row(row)?;
            chunk.collect_ids(Role::Any, &mut Vec::new())?;
            chunk.decode()
        };
        assert_eq!(read(&row([2, 1, 1, 0], [0; 3], 2, &entries)).unwrap().len(), 2);
        for (within, before, last) in [
            ([u64::MAX, 1, 1, 0], [0; 3], 2),
            ([100, 1, 1, 0], [0; 3], 2),
            ([1, 1, 1, 0], [0; 3], 2),
            ([2, 2, 1, 0], [0; 3], 2),
            ([2, 1, 1, 1], [0; 3], 2),
            ([2, 1, 1, 0], [u64::MAX, 1, 0], 2),
            ([2, 1, 1, 0], [0; 3], 3),
        ] {
            let read = read(&row(within, before, last, &entries));
            assert!(matches!(read, Err(StoreError::Corrupt(_))), "{within:?} {before:?} {last}: {read:?}");
        }
    }

    #[test]
    fn a_list_of_one_entry_is_small() {
        let mut chunk = Chunk::default();
        chunk.push(Entry { id: 1_000_000_000, roles: Roles { from: true, to: false } }).unwrap();
        assert!(chunk.to_row().len() <= 18, "{} bytes", chunk.to_row().len());
    }
}
