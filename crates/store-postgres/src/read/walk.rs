//! Walks along lists, step by step: the ids that several lists have in common, in a span. The list with the fewest entries leads; the
//! others are read where it has entries, or searched for each of its ids. What is in memory at a time does not depend on their length.

use futures::future::{BoxFuture, try_join_all};
use store::{ListKey, Party, StoreError};

use crate::{
    database::{Connection, get, query},
    lists::{ListTable, mask},
    rows::{RowExt, int8},
};

/// A list is read rather than searched if it has at most this many entries for each id that is looked for: a search takes as long as
/// reading that many.
const SEARCH: i64 = 1_000;
/// Ids that are looked for in one statement.
const SEARCHED: usize = 1_024;

/// Lists of which an id must be in one, as what `party` says. No id is in two of them.
#[derive(Debug, Clone)]
pub(super) struct Required {
    pub(super) lists: Vec<ListKey>,
    pub(super) party: Party,
}

/// Keeps the ids that satisfy all conditions, by their rows.
pub(super) type RowFilter<'a> = &'a (dyn Fn(Vec<i64>) -> BoxFuture<'a, Result<Vec<i64>, StoreError>> + Send + Sync);

pub(super) struct Walk<'a> {
    pub(super) client: &'a dyn Connection,
    /// At least one.
    pub(super) required: Vec<Required>,
    /// Instead of all lists but the one that leads.
    pub(super) rows: Option<RowFilter<'a>>,
    /// Entries of a list that are read at a time.
    pub(super) step: i64,
}

/// How many entries lists have in a span.
#[derive(Debug, Clone, Copy, Default)]
struct Length {
    /// Those of the party.
    wanted: i64,
    all: i64,
}

impl Walk<'_> {
    /// Whether one step, or little more, leads from one end of a span to the other.
    pub(super) async fn is_short(&self, low: i64, high: i64) -> Result<bool, StoreError> {
        if high.saturating_sub(low) <= self.step {
            return Ok(true);
        }
        let (leading, length) = self.leading(low, high).await?;
        Ok(length.wanted * SEARCH <= self.step || self.length(leading, Party::Any, low, high).await? <= self.step)
    }

    /// All common ids of a span.
    pub(super) async fn all(&self, mut low: i64, high: i64) -> Result<Vec<i64>, StoreError> {
        let mut found = Vec::new();
        while low < high {
            let (end, mut common) = self.next(low, high).await?;
            found.append(&mut common);
            low = end;
        }
        Ok(found)
    }

    /// One step: where it ends, and the common ids before that.
    pub(super) async fn next(&self, low: i64, high: i64) -> Result<(i64, Vec<i64>), StoreError> {
        let (leading, length) = match self.required.first() {
            // Nothing is gained by counting.
            Some(first) if high - low <= self.step => (first, Length { wanted: self.step, all: self.step }),
            _ => self.leading(low, high).await?,
        };
        if length.wanted == 0 {
            return Ok((high, Vec::new()));
        }
        let (end, mut ids) = if length.wanted * SEARCH <= length.all && length.wanted <= self.step {
            (high, self.slices(leading, low, high).await?)
        } else {
            let end = if length.all <= self.step { high } else { self.end_of_step(leading, low).await?.min(high) };
            (end, self.ids(leading, low, end).await?)
        };
        match self.rows {
            Some(keep) if !ids.is_empty() => ids = keep(ids).await?,
            Some(_) => {}
            None => {
                for other in self.required.iter().filter(|other| !std::ptr::eq(*other, leading)) {
                    ids = self.retain(other, ids).await?;
                }
            }
        }
        Ok((end, ids))
    }

    /// The condition that the fewest entries of a span satisfy.
    async fn leading(&self, low: i64, high: i64) -> Result<(&Required, Length), StoreError> {
        let lengths = self.required.iter().map(|required| async move {
            let wanted = self.length(required, required.party, low, high).await?;
            let all = match required.party {
                Party::Any => wanted,
                _ => self.length(required, Party::Any, low, high).await?,
            };
            Ok::<_, StoreError>((required, Length { wanted, all }))
        });
        let lengths = try_join_all(lengths).await?;
        lengths.into_iter().min_by_key(|(_, length)| length.wanted).ok_or(StoreError::Corrupt("a walk without a list"))
    }

    /// The number of entries in a span.
    async fn length(&self, required: &Required, party: Party, low: i64, high: i64) -> Result<i64, StoreError> {
        let mut total = 0;
        for list in &required.lists {
            let (table, owner) = ListTable::of(*list);
            let sql = format!("select {0}_rank($1, $2, $4) - {0}_rank($1, $2, $3)", table.name());
            total += get(self.client, &sql, &[&int8(owner), &mask(party), &low, &high]).await?.value::<i64>(0)?;
        }
        Ok(total)
    }

    /// No list has more entries from `low` to there than a step has.
    async fn end_of_step(&self, required: &Required, low: i64) -> Result<i64, StoreError> {
        let mut end = i64::MAX;
        for list in &required.lists {
            let (table, owner) = ListTable::of(*list);
            let sql = format!(
                "select ({0}_slice($1, 0, s.rank, s.rank + 1))[1] from (select {0}_rank($1, 0, $2) + $3 as rank) s",
                table.name()
            );
            let row = get(self.client, &sql, &[&int8(owner), &low, &self.step]).await?;
            end = end.min(row.value::<Option<i64>>(0)?.unwrap_or(i64::MAX));
        }
        Ok(end)
    }

    /// The ids of a span, in order. Its entries are read, whatever their party is.
    async fn ids(&self, required: &Required, low: i64, high: i64) -> Result<Vec<i64>, StoreError> {
        let mut ids = Vec::new();
        for list in &required.lists {
            let (table, owner) = ListTable::of(*list);
            let sql = format!(
                "select r.first, r.rest from {0}_run r
                where r.owner = $1 and r.first_seq < {0}_rank($1, 0, $3) and r.first_seq >= coalesce((
                    select s.first_seq from {0}_run s where s.owner = $1 and s.first_seq <= {0}_rank($1, 0, $2)
                    order by s.first_seq desc limit 1
                ), 0) order by r.first_seq",
                table.name()
            );
            let wanted = i64::from(mask(required.party));
            for run in query(self.client, &sql, &[&int8(owner), &low, &high]).await? {
                let (first, rest): (i64, Option<Vec<i32>>) = (run.value(0)?, run.value(1)?);
                let rest = rest.unwrap_or_default().into_iter().map(|entry| (first & -4) + i64::from(entry));
                let entries = std::iter::once(first).chain(rest).filter(|entry| entry & wanted == wanted);
                ids.extend(entries.map(|entry| entry >> 2).filter(|id| (low..high).contains(id)));
            }
        }
        Ok(in_order(ids, required))
    }

    /// The same, by a search for each one.
    async fn slices(&self, required: &Required, low: i64, high: i64) -> Result<Vec<i64>, StoreError> {
        let mut ids = Vec::new();
        for list in &required.lists {
            let (table, owner) = ListTable::of(*list);
            let sql = format!("select {0}_slice($1, $2, {0}_rank($1, $2, $3), {0}_rank($1, $2, $4))", table.name());
            let row = get(self.client, &sql, &[&int8(owner), &mask(required.party), &low, &high]).await?;
            ids.extend(row.value::<Vec<i64>>(0)?);
        }
        Ok(in_order(ids, required))
    }

    /// Those of ascending ids that satisfy another condition.
    async fn retain(&self, required: &Required, ids: Vec<i64>) -> Result<Vec<i64>, StoreError> {
        let mut kept = Vec::new();
        let mut parts = vec![ids.as_slice()];
        while let Some(part) = parts.pop() {
            let (Some(&first), Some(&last)) = (part.first(), part.last()) else { continue };
            let all = match last - first {
                span if span < self.step => span + 1,
                _ => self.length(required, Party::Any, first, last + 1).await?,
            };
            let is_sparse = last - first >= self.step && all > SEARCH * i64::try_from(part.len()).unwrap_or(i64::MAX);
            if is_sparse && part.len() <= SEARCHED {
                kept.extend(self.search(required, part).await?);
            } else if is_sparse || all > self.step.max(SEARCH) {
                let (left, right) = part.split_at(part.len() / 2);
                parts.extend([right, left]);
            } else {
                kept.extend(intersection(part, &self.ids(required, first, last + 1).await?));
            }
        }
        Ok(kept)
    }

    async fn search(&self, required: &Required, ids: &[i64]) -> Result<Vec<i64>, StoreError> {
        let mut found = Vec::new();
        for list in &required.lists {
            let (table, owner) = ListTable::of(*list);
            let sql = format!(
                "select array(select u.id from unnest($3::int8[]) u(id)
                    where {0}_rank($1, $2, u.id + 1) > {0}_rank($1, $2, u.id))",
                table.name()
            );
            let row = get(self.client, &sql, &[&int8(owner), &mask(required.party), &ids]).await?;
            found.extend(row.value::<Vec<i64>>(0)?);
        }
        Ok(in_order(found, required))
    }
}

/// Those of one list are in order.
fn in_order(mut ids: Vec<i64>, required: &Required) -> Vec<i64> {
    if required.lists.len() > 1 {
        ids.sort_unstable();
    }
    ids
}

/// The common ids of two ascending lists.
fn intersection(one: &[i64], other: &[i64]) -> Vec<i64> {
    let mut other = other.iter().peekable();
    let mut common = Vec::new();
    for id in one {
        while other.next_if(|candidate| *candidate < id).is_some() {}
        if other.peek() == Some(&id) {
            common.push(*id);
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_intersection_has_the_common_ids() {
        assert_eq!(intersection(&[1, 3, 5, 7], &[0, 3, 4, 7, 9]), [3, 7]);
        assert!(intersection(&[1], &[]).is_empty());
        assert!(intersection(&[], &[1]).is_empty());
    }
}
