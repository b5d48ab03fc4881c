//! Merges short runs of lists into longer ones, once their blocks can no longer be reverted.
//!
//! At the head, each block appends a run of a few entries to each list that it touches. Merged, they take a fraction of the
//! space. Queries see the same list before and after, and the writer only appends, so neither waits for a merge.

use std::collections::BTreeMap;

use deadpool_postgres::Transaction;
use futures::future::BoxFuture;
use store::{ListKind, StoreError};

use crate::{
    PostgresStore,
    chain::{Chain, TOTALS},
    database::{execute, find, get, query},
    error::store_error,
    internal,
    lists::{ListTable, Run},
    rows::{RowExt, int8},
    write::copy_runs,
};

/// Entries of a merged run. A longer one would be moved out of its table.
const MERGED_ENTRIES: usize = 256;
/// Ids of transactions, transfers or trades that are merged at once.
const STEP: u64 = 50_000;
/// Fewer are left until there are more: each merge writes runs again that were merged before.
const MIN_STEP: u64 = 5_000;
/// Earlier runs of a list that may be merged with new ones. They double in size, so that a run is written again only a few
/// times.
const EARLIER_RUNS: i64 = 8;

/// What a step of the compaction did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Compacted {
    pub runs_before: u64,
    pub runs_after: u64,
    /// Whether more is left to merge.
    pub has_more: bool,
}

impl PostgresStore {
    /// Merges some runs of each list. Call it again while `has_more`; `all` also merges what is left for later
    /// otherwise.
    ///
    /// # Errors
    /// If the database fails.
    pub fn compact(&self, all: bool) -> BoxFuture<'_, Result<Compacted, StoreError>> {
        Box::pin(async move {
            let mut done = Compacted::default();
            for list in ListTable::all() {
                let mut connection = self.database().connection().await?;
                let tx = connection.transaction().await.map_err(store_error)?;
                let step = compact_list(&tx, list, all).await?;
                tx.commit().await.map_err(store_error)?;
                done.runs_before += step.runs_before;
                done.runs_after += step.runs_after;
                done.has_more |= step.has_more;
            }
            Ok(done)
        })
    }
}

/// The first entry of a list that may still be reverted; None if nothing of it is to be merged.
async fn first_revertible(tx: &Transaction<'_>, list: ListTable) -> Result<Option<u64>, StoreError> {
    let chain = Chain::read(tx).await?;
    let Some(oldest) = chain.oldest_revertible() else { return Ok(None) };
    match list.kind() {
        ListKind::InternalAbove => return internal::count_up_to(tx, oldest).await,
        // Begins below all blocks that may be reverted.
        ListKind::InternalBelow => return Ok(internal::find_progress(tx).await?.map(|progress| progress.below_count)),
        _ => {}
    }
    let sql = format!("select {TOTALS} from block where number = $1");
    let kept = match find(tx, &sql, &[&int8(oldest + 1)]).await? {
        Some(row) => row.totals(0)?,
        None => chain.totals,
    };
    Ok(list.kind().first_entry(&kept, oldest + 1))
}

async fn compact_list(tx: &Transaction<'_>, list: ListTable, all: bool) -> Result<Compacted, StoreError> {
    // Others that compact wait here, and then find nothing to do.
    let sql = "insert into compaction values ($1, 0) on conflict (list) do update set below = compaction.below
        returning below";
    let below = get(tx, sql, &[&list.name()]).await?.u64(0)?;
    let Some(end) = first_revertible(tx, list).await? else { return Ok(Compacted::default()) };
    let left = end.saturating_sub(below);
    if left == 0 || (left < MIN_STEP && !all) {
        return Ok(Compacted::default());
    }
    let upto = below + left.min(STEP);
    let runs = load_runs(tx, list, below, upto).await?;
    let (mut replaced, mut merged) = (Vec::new(), Vec::new());
    for runs in runs.into_values() {
        let (old, new) = merge(runs)?;
        replaced.extend(old);
        merged.extend(new);
    }
    let step = Compacted {
        runs_before: replaced.len() as u64,
        runs_after: merged.len() as u64,
        has_more: upto < end && (end - upto >= MIN_STEP || all),
    };
    if !replaced.is_empty() {
        let (owners, seqs): (Vec<i64>, Vec<i64>) = replaced.into_iter().unzip();
        let sql = format!(
            "delete from {}_run r using unnest($1::int8[], $2::int8[]) as d(owner, first_seq)
            where r.owner = d.owner and r.first_seq = d.first_seq",
            list.name()
        );
        execute(tx, &sql, &[&owners, &seqs]).await?;
        copy_runs(tx, list, &merged).await?;
    }
    execute(tx, "update compaction set below = $2 where list = $1", &[&list.name(), &int8(upto)]).await?;
    Ok(step)
}

/// The runs that begin in a range, and those just before them, by list.
async fn load_runs(
    tx: &Transaction<'_>,
    list: ListTable,
    below: u64,
    upto: u64,
) -> Result<BTreeMap<u64, Vec<Run>>, StoreError> {
    let (name, columns) = (list.name(), "owner, first_seq, first, sent_before, received_before, rest");
    let sql = format!(
        "with new as materialized (
            select {columns} from {name}_run where first >= $1::int8 << 2 and first < $2::int8 << 2
        ), starts as (
            select owner, min(first_seq) as first_seq from new group by owner
        )
        select {columns} from new
        union all
        select e.* from starts s cross join lateral (
            select {columns} from {name}_run r where r.owner = s.owner and r.first_seq < s.first_seq
            order by r.first_seq desc limit {EARLIER_RUNS}
        ) e"
    );
    let mut runs: BTreeMap<u64, Vec<Run>> = BTreeMap::new();
    for row in query(tx, &sql, &[&int8(below), &int8(upto)]).await? {
        let run = Run::from_row(&row, list)?;
        runs.entry(run.owner).or_default().push(run);
    }
    for runs in runs.values_mut() {
        runs.sort_by_key(Run::first_seq);
    }
    Ok(runs)
}

/// The owners and numbers of the runs that are replaced, and those that replace them.
type Merged = (Vec<(i64, i64)>, Vec<Run>);

/// Merges neighbours of one list.
fn merge(runs: Vec<Run>) -> Result<Merged, StoreError> {
    // From the newest on: an earlier run is merged if it is at most twice as long as what follows it.
    let mut groups: Vec<Vec<Run>> = Vec::new();
    for run in runs.into_iter().rev() {
        let fits = groups.last().is_some_and(|group| {
            let entries: usize = group.iter().map(Run::len).sum();
            let spans = group.first().is_some_and(|newest| run.can_hold(newest));
            spans && entries + run.len() <= MERGED_ENTRIES && run.len() <= 2 * entries
        });
        match groups.last_mut().filter(|_| fits) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    let (mut replaced, mut merged) = (Vec::new(), Vec::new());
    for mut group in groups.into_iter().filter(|group| group.len() > 1) {
        group.reverse();
        replaced.extend(group.iter().map(|run| (int8(run.owner), run.first_seq())));
        merged.extend(Run::concat(group)?);
    }
    Ok((replaced, merged))
}

#[cfg(test)]
mod tests {
    use store::Party;

    use super::*;
    use crate::lists::{Appended, Counts, Entry, Tail};

    /// Runs of these lengths, one after the other, with ids that are `apart` from each other.
    fn runs(lengths: &[u64], apart: u64) -> Vec<Run> {
        let mut appended = Appended::default();
        let mut next = 0;
        for length in lengths {
            let floor = next * apart;
            for _ in 0..*length {
                let party = if next % 3 == 0 { Party::Both } else { Party::Sender };
                appended.push(ListKind::Transactions.of(7), Entry::new(next * apart, party), floor);
                next += 1;
            }
        }
        appended
            .runs(ListKind::Transactions.into(), |_| Tail {
                counts: Counts { total: 10, sent: 10, received: 2 },
                last: Some(1),
            })
            .unwrap()
            .0
    }

    #[test]
    fn short_runs_become_one_that_equals_a_run_written_at_once() {
        let (replaced, merged) = merge(runs(&[1, 2, 1, 60, 64], 5)).unwrap();
        assert_eq!(replaced, [(7, 10), (7, 11), (7, 13), (7, 14), (7, 74)]);
        assert_eq!(merged, runs(&[128], 5));
        assert_eq!(merge(runs(&[100], 1)).unwrap(), (Vec::new(), Vec::new()), "there is nothing to merge");
    }

    #[test]
    fn a_long_run_is_not_written_again_for_a_few_entries() {
        let (replaced, merged) = merge(runs(&[128, 1, 1, 1], 1)).unwrap();
        assert_eq!(replaced, [(7, 138), (7, 139), (7, 140)]);
        assert_eq!(merged.iter().map(Run::len).collect::<Vec<_>>(), [3]);
        let (replaced, merged) = merge(runs(&[100, 30, 20], 1)).unwrap();
        assert_eq!((replaced.len(), merged[0].len()), (3, 150));
    }

    #[test]
    fn a_run_has_at_most_256_entries_within_the_range_of_its_numbers() {
        let (_, merged) = merge(runs(&[100, 100, 100, 100], 1)).unwrap();
        assert_eq!(merged.iter().map(Run::len).collect::<Vec<_>>(), [200, 200]);
        let (replaced, merged) = merge(runs(&[1, 1, 1], 400_000_000)).unwrap();
        assert_eq!((replaced.len(), merged.len()), (2, 1), "a third entry would be too far away");
    }
}
