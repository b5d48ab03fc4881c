//! Chunks decoded from arbitrary bytes, and lists compared with a plain vector.

use std::sync::{LazyLock, Mutex, PoisonError};

use store::StoreError;
use tempfile::TempDir;

use super::{
    Entry, Intersection, List, Role, Tails,
    chunk::{Chunk, LARGE, Roles},
    cursor::Cursor,
};
use crate::{
    engine::{Engine, EngineOptions},
    keys::{ListKey, ListKind},
};

const ROLES: [Role; 4] = [Role::Any, Role::From, Role::To, Role::Both];

/// A chunk is corrupt, or all ways of reading it agree.
pub fn chunk(row: &[u8]) {
    let Ok(chunk) = Chunk::from_row(row) else { return };
    let canonical = chunk.to_row();
    assert!(canonical.len() <= row.len());
    assert_eq!(Chunk::from_row(&canonical).expect("a written chunk can be read"), chunk);
    let decoded = chunk.decode();
    for role in ROLES {
        let mut ids = vec![7];
        let collected = chunk.collect_ids(role, &mut ids);
        let Ok(entries) = &decoded else { continue };
        let matching: Vec<u64> =
            entries.iter().filter(|entry| role.matches(entry.roles)).map(|entry| entry.id).collect();
        assert!(collected.is_ok(), "{role:?} of a chunk that can be decoded: {collected:?}");
        assert_eq!(ids, matching, "{role:?}");
        assert_eq!(chunk.through(role) - chunk.before(role), matching.len() as u64, "{role:?}");
    }
    let Ok(entries) = decoded else { return };
    assert!(entries.len() as u64 <= LARGE && entries.len() as u64 == chunk.len());
    assert!(entries.is_sorted_by(|before, after| before.id < after.id));
    let cut = entries.get(entries.len() / 2).map_or(0, |entry| entry.id);
    let mut shorter = chunk.clone();
    shorter.truncate(cut).expect("a chunk that can be decoded can be truncated");
    let kept: Vec<Entry> = entries.into_iter().filter(|entry| entry.id < cut).collect();
    assert_eq!(shorter.decode().expect("a truncated chunk can be decoded"), kept);
}

/// An index on disk: lists are read from snapshots of it.
struct Index {
    engine: Engine,
    _folder: TempDir,
}

static INDEX: LazyLock<Mutex<Index>> = LazyLock::new(|| {
    let folder = TempDir::new().expect("a temporary folder");
    let options =
        EngineOptions { cache_bytes: 8 << 20, write_buffer_bytes: 16 << 20, descriptors: 64, replayed_bytes: u64::MAX };
    Mutex::new(Index { engine: Engine::open(folder.path(), options).expect("a new index"), _folder: folder })
});

/// The operations encoded in an input.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }
}

/// Maximum entries of a model list: a few small chunks and one large.
const MAX_ENTRIES: usize = 2_500;

/// A list of runs of entries, each encoded in two bytes: the count, and the distance with the roles.
fn entries(script: &mut Script<'_>) -> Vec<Entry> {
    let (mut entries, mut id) = (Vec::new(), 0_u64);
    let runs = script.byte().unwrap_or_default() % 32;
    for _ in 0..runs {
        let (Some(count), Some(step)) = (script.byte(), script.byte()) else { break };
        for _ in 0..count {
            id += 1 + u64::from(step >> 2) * u64::from(step >> 2);
            if entries.len() < MAX_ENTRIES && id < 1 << 39 {
                entries.push(Entry { id, roles: Roles { from: step & 1 != 0, to: step & 2 != 0 } });
            }
        }
    }
    entries
}

/// Lists that are extended, truncated and searched as the input says behave like plain vectors.
pub fn cursors(data: &[u8]) {
    let index = INDEX.lock().unwrap_or_else(PoisonError::into_inner);
    let mut script = Script(data);
    let mut models: Vec<Vec<Entry>> =
        (0..1 + script.byte().unwrap_or_default() % 3).map(|_| entries(&mut script)).collect();
    let keys: Vec<ListKey> = (0..models.len() as u64).map(|owner| ListKind::Transactions.of(owner)).collect();
    let mut tails = Tails::new(16);
    for (key, model) in keys.iter().zip(&mut models) {
        write(&index.engine, &mut tails, |tails, view, batch| {
            model.iter().try_for_each(|entry| tails.append(view, batch, *key, *entry).map(drop))
        });
        let kept = usize::from(script.byte().unwrap_or(u8::MAX));
        if let Some(cut) = model.get(kept * 10).map(|entry| entry.id) {
            write(&index.engine, &mut tails, |tails, view, batch| tails.truncate(view, batch, *key, cut));
            model.truncate(kept * 10);
        }
    }
    compare(&index.engine, &keys, &models, &mut script);
    // The next input starts with empty lists.
    for key in keys {
        write(&index.engine, &mut tails, |tails, view, batch| tails.truncate(view, batch, key, 0));
    }
}

fn write(
    engine: &Engine,
    tails: &mut Tails,
    change: impl FnOnce(&mut Tails, &crate::engine::View, &mut crate::engine::Batch) -> Result<(), StoreError>,
) {
    let (view, mut batch) = (engine.view(), engine.batch());
    change(tails, &view, &mut batch).expect("a change of a valid list");
    tails.write(&mut batch);
    batch.commit().expect("a commit");
    tails.mark_committed();
}

fn compare(engine: &Engine, keys: &[ListKey], models: &[Vec<Entry>], script: &mut Script<'_>) {
    let view = engine.view();
    let open = |key: &ListKey| List::open(&view, *key).expect("a valid list");
    let matching = |model: &[Entry], role: Role| -> Vec<u64> {
        model.iter().filter(|entry| role.matches(entry.roles)).map(|entry| entry.id).collect()
    };
    for (key, model) in keys.iter().zip(models) {
        let list = open(key);
        assert_eq!(list.last(), model.last().map(|entry| entry.id));
        for role in ROLES {
            let ids = matching(model, role);
            assert_eq!(list.total(role), ids.len() as u64);
            let sought = seek_point(script, model);
            assert_eq!(list.rank_of(role, sought).expect("a rank"), ids.partition_point(|id| *id < sought) as u64);
            let ranks = || (0..ids.len() as u64).step_by(1 + ids.len() / 8);
            let at_ranks: Vec<u64> = ranks().map(|rank| ids[usize::try_from(rank).expect("a rank")]).collect();
            assert_eq!(list.at_ranks(role, ranks()).expect("ids"), at_ranks);
            walk(&list, role, &ids, script, model);
        }
    }
    let roles: Vec<Role> = keys.iter().map(|_| ROLES[usize::from(script.byte().unwrap_or_default() % 4)]).collect();
    let lists: Vec<(List<'_>, Role)> = keys.iter().zip(&roles).map(|(key, role)| (open(key), *role)).collect();
    let begin = seek_point(script, &models[0]);
    let mut common = matching(&models[0], roles[0]);
    for (model, role) in models.iter().zip(&roles).skip(1) {
        let other = matching(model, *role);
        common.retain(|id| other.binary_search(id).is_ok());
    }
    common.retain(|id| *id >= begin);
    let (mut found, mut walked) =
        (Vec::new(), Intersection::open(&lists, begin).expect("lists").expect("at least one list"));
    while let Some(chunk) = walked.next().expect("a chunk") {
        assert!(chunk.ids.iter().all(|id| *id >= chunk.begin));
        found.extend_from_slice(chunk.ids);
    }
    assert_eq!(found, common);
}

/// An id near an entry of the model, or anywhere.
fn seek_point(script: &mut Script<'_>, model: &[Entry]) -> u64 {
    let (place, off) = (usize::from(script.byte().unwrap_or_default()), u64::from(script.byte().unwrap_or_default()));
    let near = model.get(place * model.len().div_ceil(256)).map_or(u64::from(off > 128) << 38, |entry| entry.id);
    (near + off % 3).saturating_sub(1)
}

/// Seeks forward, and checks the position against a search in the vector.
fn walk(list: &List<'_>, role: Role, ids: &[u64], script: &mut Script<'_>, model: &[Entry]) {
    let mut at = 0;
    let mut cursor = Cursor::open(list, role, 0).expect("a cursor");
    for _ in 0..8 {
        assert_eq!(cursor.current(), ids.get(ids.partition_point(|id| *id < at)).copied(), "{role:?} at {at}");
        at = at.max(seek_point(script, model));
        cursor.seek(at).expect("a seek");
    }
}
