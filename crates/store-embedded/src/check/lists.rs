//! The chunks of each list follow each other, and the entries of the lists are those of the rows.

use std::ops::RangeInclusive;

use domain::BlockNumber;
use store::StoreError;

use super::{Check, Faults, list_sums::ListSums, row_lists, scan, total_of};
use crate::{
    engine::View,
    keys::{Key, ListKey, ListKind, Table, number_in_key},
    lists::{Chunk, Role},
    meta::Tip,
};

const ROLES: [Role; 4] = [Role::Any, Role::From, Role::To, Role::Both];

pub(super) fn check(check: &mut Check<'_>, tip: &Tip, readable: &[Table]) {
    let mut sums = ListSums::default();
    check_chunks(check, tip, &mut sums);
    for (table, needed, entries) in row_lists::SOURCES {
        // Lists of rows that cannot be read are not compared: these rows are a fault already.
        if !needed.iter().chain([table]).all(|table| readable.contains(table)) {
            continue;
        }
        let mut failed = None;
        scan(check.view, *table, |key, row| {
            let expected =
                number_in_key(key, 0).and_then(|id| row_lists::expect(check.view, *table, id, row, &mut sums));
            failed = expected.err().or(failed.take());
        });
        if let Some(error) = failed {
            check.add(*table, format!("a row that the table {table:?} refers to cannot be read: {error}"), None);
            continue;
        }
        for kind in row_lists::kinds(*entries) {
            let mut faults = Faults::default();
            for ids in sums.differences(kind) {
                let blocks = blocks_of(check, tip, *table, ids);
                faults
                    .add(blocks, || format!("lists of the kind {kind:?} do not have the rows of the table {table:?}"));
            }
            check.add_all(Table::Chunk, faults);
        }
    }
}

fn blocks_of(
    check: &Check<'_>,
    tip: &Tip,
    table: Table,
    ids: RangeInclusive<u64>,
) -> Option<RangeInclusive<BlockNumber>> {
    match total_of(table) {
        Some(total) => check.blocks_of(total, ids),
        None => Some((*ids.start()).max(tip.start_block)..=(*ids.end()).min(tip.block.number)),
    }
}

/// Checks the chunks of each list, and passes their entries on.
fn check_chunks(check: &mut Check<'_>, tip: &Tip, sums: &mut ListSums) {
    let (view, mut faults, mut chunks) = (check.view, Faults::default(), 0_u64);
    for tails in [Table::Tail, Table::InternalTail] {
        scan(view, tails, |key, row| {
            let Some(list) = list_in(key) else {
                faults.add(None, || format!("a list of the table {tails:?} is of an unknown kind"));
                return;
            };
            match check_list(view, tip, list, row, sums) {
                Ok(full) if tails == Table::Tail => chunks += full,
                Ok(_) => {}
                Err(error) => faults.add(None, || {
                    format!("the list of the kind {:?} with the owner {} is invalid: {error}", list.kind, list.owner)
                }),
            }
        });
    }
    let mut stored = 0;
    scan(view, Table::Chunk, |_, _| stored += 1);
    if faults.listed.is_empty() && stored != chunks {
        faults.add(None, || format!("there are {stored} full chunks of lists, but the lists have {chunks}"));
    }
    check.add_all(Table::Tail, faults);
}

/// Returns the number of full chunks before the open one.
fn check_list(view: &View, tip: &Tip, list: ListKey, tail: &[u8], sums: &mut ListSums) -> Result<u64, StoreError> {
    let tail = Chunk::from_row(tail)?;
    let newest = newest_id(tip, list.kind);
    let mut last: Option<Chunk> = None;
    let mut next = |chunk: Chunk| -> Result<(), StoreError> {
        let entries = chunk.decode()?;
        let counts = |count: fn(&Chunk, Role) -> u64, chunk: &Chunk| ROLES.map(|role| count(chunk, role));
        let before = last.as_ref().map_or([0; ROLES.len()], |last| counts(Chunk::through, last));
        let number = last.as_ref().map_or(0, |last| last.number() + 1);
        if (chunk.number(), counts(Chunk::before, &chunk)) != (number, before) {
            return Err(StoreError::Corrupt("its chunks do not follow each other"));
        }
        let ascends = last.as_ref().zip(entries.first()).is_none_or(|(last, first)| last.last() < first.id);
        if !ascends || entries.last().zip(newest).is_some_and(|(entry, newest)| entry.id > newest) {
            return Err(StoreError::Corrupt("its entries are not in order"));
        }
        if newest.is_some() {
            entries.into_iter().for_each(|entry| sums.find(list, entry));
        }
        last = Some(chunk);
        Ok(())
    };
    let full = u64::from(tail.number());
    if full > 0 {
        for row in view.prefix(Table::chunks_of(list.kind), &Key::list(list)) {
            next(Chunk::from_row(&row?.1)?)?;
        }
    }
    next(tail)?;
    Ok(full)
}

fn list_in(key: &[u8]) -> Option<ListKey> {
    let (kind, owner) = key.split_first()?;
    Some(ListKind::from_tag(*kind)?.of(number_in_key(owner, 0).ok()?))
}

/// The highest id that an entry can have; None for internal transactions, whose ids follow the order of tracing.
fn newest_id(tip: &Tip, kind: ListKind) -> Option<u64> {
    Some(kind.first_entry(&tip.totals, tip.block.number + 1)?.saturating_sub(1))
}
