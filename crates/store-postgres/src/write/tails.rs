use std::collections::BTreeMap;

use deadpool_postgres::Transaction;
use store::{ChainTotals, StoreError};

use super::{copy, state::WriteState};
use crate::{
    database::{Connection, query},
    lists::{Appended, Counts, ListTable, Tail},
    rows::{RowExt, int8},
};

impl WriteState {
    /// The ends of lists by their owners, from the cache or in one query.
    pub(super) async fn tails_of(
        &mut self,
        client: &dyn Connection,
        list: ListTable,
        owners: impl IntoIterator<Item = u64>,
    ) -> Result<BTreeMap<u64, Tail>, StoreError> {
        let (mut tails, mut missing) = (BTreeMap::new(), Vec::new());
        for owner in owners {
            match self.tails.get(&(list, owner)) {
                Some(tail) => {
                    tails.insert(owner, *tail);
                }
                None => {
                    // If it has no entries yet.
                    tails.insert(owner, Tail::default());
                    missing.push(int8(owner));
                }
            }
        }
        if missing.is_empty() {
            return Ok(tails);
        }
        tails.extend(read_tails(client, list, &missing).await?);
        for owner in missing.into_iter().map(i64::cast_unsigned) {
            self.tails.insert((list, owner), tails.get(&owner).copied().unwrap_or_default());
        }
        Ok(tails)
    }

    /// Appends entries to lists. `before_all` are the totals before them.
    pub(super) async fn append(
        &mut self,
        tx: &Transaction<'_>,
        appended: &Appended,
        before_all: &ChainTotals,
    ) -> Result<(), StoreError> {
        for list in ListTable::all() {
            let first_new = list.first_new_owner(before_all);
            let known = appended.owners(list).filter(|owner| *owner < first_new);
            let ends = self.tails_of(tx, list, known).await?;
            let (runs, tails) = appended.runs(list, |owner| ends.get(&owner).copied().unwrap_or_default())?;
            copy::runs(tx, list, &runs).await?;
            for (owner, tail) in tails {
                self.tails.insert((list, owner), tail);
            }
        }
        Ok(())
    }
}

async fn read_tails(client: &dyn Connection, list: ListTable, owners: &[i64]) -> Result<Vec<(u64, Tail)>, StoreError> {
    let counts = if list.kind().has_roles() {
        "r.sent_before + run_count_below(r.first, r.rest, 1, 9223372036854775807),
            r.received_before + run_count_below(r.first, r.rest, 2, 9223372036854775807)"
    } else {
        "0::int8, 0::int8"
    };
    let sql = format!(
        "select o.owner, r.first_seq + 1 + coalesce(cardinality(r.rest), 0), {counts},
            (r.first + coalesce(r.rest[cardinality(r.rest)] - (r.first & 3), 0)) >> 2
        from unnest($1::int8[]) o(owner) cross join lateral (
            select * from {}_run r where r.owner = o.owner order by r.first_seq desc limit 1
        ) r",
        list.name()
    );
    let rows = query(client, &sql, &[&owners]).await?;
    let tail = |row: &tokio_postgres::Row| {
        let counts = Counts { total: row.u64(1)?, sent: row.u64(2)?, received: row.u64(3)? };
        Ok((row.u64(0)?, Tail { counts, last: Some(row.u64(4)?) }))
    };
    rows.iter().map(tail).collect()
}
