use domain::{Address, B256, Order, Page, PageRequest, Transaction, TransactionFilter};
use store::StoreError;

use super::Reading;
use crate::keys::{AddressId, Key, ListKind, Table, TxId, number_after_hash};
use crate::lists::{Cursor, List, Role};
use crate::rows::TransactionRow;

/// What the conditions on sender and receiver come down to. A transaction has one of each, so there are few cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parties {
    Anyone,
    Nobody,
    One(Address, Role),
    Pair { from: Address, to: Address },
}

impl Parties {
    fn of(filter: &TransactionFilter) -> Self {
        match (filter.address, filter.from, filter.to) {
            (None, None, None) => Self::Anyone,
            (Some(address), None, None) => Self::One(address, Role::Any),
            (None, Some(from), None) => Self::One(from, Role::From),
            (None, None, Some(to)) => Self::One(to, Role::To),
            (None, Some(from), Some(to)) => Self::pair(from, to),
            (Some(address), Some(from), None) if address == from => Self::One(from, Role::From),
            (Some(address), Some(from), None) => Self::pair(from, address),
            (Some(address), None, Some(to)) if address == to => Self::One(to, Role::To),
            (Some(address), None, Some(to)) => Self::pair(address, to),
            (Some(address), Some(from), Some(to)) if address == from || address == to => Self::pair(from, to),
            (Some(_), Some(_), Some(_)) => Self::Nobody,
        }
    }

    fn pair(from: Address, to: Address) -> Self {
        if from == to { Self::One(from, Role::Both) } else { Self::Pair { from, to } }
    }
}

impl Reading {
    pub(crate) fn find_transaction(&self, hash: B256) -> Result<Option<Transaction>, StoreError> {
        for key in self.view.prefix(Table::TransactionByHash, &Key::hash_prefix(&hash)) {
            let id = number_after_hash(&key?.0);
            let row = self.transaction_row(id)?;
            if row.hash == hash {
                return self.hydrate_transaction(id, row).map(Some);
            }
        }
        Ok(None)
    }

    pub(crate) fn list_transactions(
        &self,
        filter: &TransactionFilter,
        page: PageRequest,
    ) -> Result<Page<Transaction>, StoreError> {
        let span = self.transaction_span(filter.blocks)?;
        match Parties::of(filter) {
            Parties::Nobody => Ok(Page::empty(0)),
            Parties::Anyone => self.list_every(span, page),
            Parties::One(address, role) => match self.address_id(&address)? {
                Some(owner) => self.list_of_one(owner, role, span, page),
                None => Ok(Page::empty(0)),
            },
            Parties::Pair { from, to } => match (self.address_id(&from)?, self.address_id(&to)?) {
                (Some(from), Some(to)) => self.list_between(from, to, span, page),
                _ => Ok(Page::empty(0)),
            },
        }
    }

    fn list_every(&self, span: std::ops::Range<TxId>, page: PageRequest) -> Result<Page<Transaction>, StoreError> {
        let total = span.end - span.start;
        let ids: Vec<TxId> = page.ranks(total).map(|rank| span.start + rank).collect();
        let (Some(&low), Some(&high)) = (ids.iter().min(), ids.iter().max()) else { return Ok(Page::empty(total)) };
        // The ids of a page are neighbours: one range read serves them all.
        let rows = self.view.range(Table::Transaction, &Key::id(low), &Key::id(high + 1));
        let mut items = (low..=high)
            .zip(rows)
            .map(|(id, row)| self.hydrate_transaction(id, TransactionRow::from_row(&row?.1)?))
            .collect::<Result<Vec<_>, _>>()?;
        if page.order == Order::NewestFirst {
            items.reverse();
        }
        Ok(Page { items, total })
    }

    fn list_of_one(
        &self,
        owner: AddressId,
        role: Role,
        span: std::ops::Range<TxId>,
        page: PageRequest,
    ) -> Result<Page<Transaction>, StoreError> {
        let list = List::open(&self.view, ListKind::Transactions.of(owner))?;
        let first = if span.start == 0 { 0 } else { list.rank_of(role, span.start)? };
        let end = match self.tip() {
            Some(tip) if span.end >= tip.totals.transactions => list.total(role),
            _ => list.rank_of(role, span.end)?,
        };
        let total = end.saturating_sub(first);
        let ids = list.at_ranks(role, page.ranks(total).map(|rank| first + rank))?;
        Ok(Page { items: self.hydrate_transactions(ids)?, total })
    }

    /// What the two lists have in common. The shorter one leads; the longer one is leapt through.
    fn list_between(
        &self,
        from: AddressId,
        to: AddressId,
        span: std::ops::Range<TxId>,
        page: PageRequest,
    ) -> Result<Page<Transaction>, StoreError> {
        if span.is_empty() {
            return Ok(Page::empty(0));
        }
        let sent = List::open(&self.view, ListKind::Transactions.of(from))?;
        let received = List::open(&self.view, ListKind::Transactions.of(to))?;
        let begin = match page.order {
            Order::OldestFirst => span.start,
            Order::NewestFirst => span.end - 1,
        };
        let sent_cursor = Cursor::open(&sent, Role::From, page.order, begin)?;
        let received_cursor = Cursor::open(&received, Role::To, page.order, begin)?;
        let (mut lead, mut follow) = if sent.total(Role::From) <= received.total(Role::To) {
            (sent_cursor, received_cursor)
        } else {
            (received_cursor, sent_cursor)
        };

        let (mut total, mut ids) = (0, Vec::new());
        let wanted = page.offset..page.offset.saturating_add(u64::from(page.limit));
        while let Some(id) = lead.current().filter(|id| span.contains(id)) {
            follow.seek(id)?;
            match follow.current() {
                Some(met) if met == id => {
                    if wanted.contains(&total) {
                        ids.push(id);
                    }
                    total += 1;
                    lead.advance()?;
                }
                Some(ahead) => lead.seek(ahead)?,
                None => break,
            }
        }
        Ok(Page { items: self.hydrate_transactions(ids)?, total })
    }

    fn hydrate_transactions(&self, ids: Vec<TxId>) -> Result<Vec<Transaction>, StoreError> {
        ids.into_iter().map(|id| self.hydrate_transaction(id, self.transaction_row(id)?)).collect()
    }

    pub(super) fn transaction_row(&self, id: TxId) -> Result<TransactionRow, StoreError> {
        let row = self.view.get(Table::Transaction, &Key::id(id))?;
        TransactionRow::from_row(&row.ok_or(StoreError::Corrupt("a transaction is missing"))?)
    }

    fn hydrate_transaction(&self, id: TxId, row: TransactionRow) -> Result<Transaction, StoreError> {
        let block = self.block_row(row.block_number)?;
        let index = id.checked_sub(block.totals.transactions).and_then(|index| u32::try_from(index).ok());
        Ok(Transaction {
            hash: row.hash,
            block_number: row.block_number,
            block_hash: block.hash,
            index: index.ok_or(StoreError::Corrupt("a transaction outside its block"))?,
            timestamp: block.timestamp,
            from: self.address(row.from)?,
            to: row.to.map(|to| self.address(to)).transpose()?,
            created: row.created.map(|created| self.address(created)).transpose()?,
            value: row.value,
            nonce: row.nonce,
            gas_used: row.gas_used,
            gas_price: row.gas_price,
            succeeded: row.succeeded,
            method: row.method,
        })
    }
}
