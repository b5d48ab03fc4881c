use async_trait::async_trait;
use domain::{
    Address, AddressFacts, AddressOverview, AddressSummary, B256, Bytes, Creation, InternalFilter, PageRequest,
    TokenName, TransactionFilter,
};
use futures::try_join;
use store::{AddressReader, StoreError};
use tokio_postgres::Row;

use super::{
    internal::{find_internal_activity, list_internal_transactions},
    intersections::{Lists, LongWalks},
    stats::find_tip,
    tokens::find_token,
    transactions::list_transactions,
};
use crate::{
    database::{Connection, find, query},
    reader::{PostgresReader, read_snapshot, read_statement},
    rows::{RowExt, both},
};

#[async_trait]
impl AddressReader for PostgresReader {
    async fn find_address(&self, address: Address) -> Result<Option<AddressSummary>, StoreError> {
        read_snapshot!(self, |client| find_address(&client, address))
    }

    async fn find_address_overview(
        &self,
        address: Address,
        recent: u32,
    ) -> Result<Option<AddressOverview>, StoreError> {
        let intersections = &*self.intersections;
        let lists = Lists { intersections, long_walks: LongWalks::No };
        read_snapshot!(self, |client| find_address_overview(&client, lists, address, recent))
    }

    async fn describe_addresses(&self, addresses: &[Address]) -> Result<Vec<AddressFacts>, StoreError> {
        read_statement!(self, |client| describe_addresses(&client, addresses))
    }

    async fn find_code_hash(&self, address: Address) -> Result<Option<B256>, StoreError> {
        read_statement!(self, |client| find_code_hash(&client, address))
    }

    async fn find_code(&self, code_hash: B256) -> Result<Option<Bytes>, StoreError> {
        read_statement!(self, |client| find_code(&client, code_hash))
    }
}

/// Needs a snapshot.
pub(crate) async fn find_address(
    client: &dyn Connection,
    address: Address,
) -> Result<Option<AddressSummary>, StoreError> {
    let (known, internal) = try_join!(find_known_address(client, address), find_internal_activity(client, address))?;
    let Some(internal) = internal else { return Ok(known) };
    let (first_seen, last_seen) = (internal.first_seen, internal.last_seen);
    Ok(Some(match known {
        Some(known) => AddressSummary {
            first_seen: known.first_seen.min(first_seen),
            last_seen: known.last_seen.max(last_seen),
            ..known
        },
        // Only known from calls inside transactions.
        None => AddressSummary { address, tx_count: 0, first_seen, last_seen, creation: None },
    }))
}

async fn find_known_address(client: &dyn Connection, address: Address) -> Result<Option<AddressSummary>, StoreError> {
    let sql = "select coalesce(t.total, 0), fb.timestamp, lb.timestamp, cr.address, ct.hash, cb.hash
        from address a
        join block fb on fb.number = a.first_seen
        left join lateral address_transaction_end(a.id) t on true
        left join lateral address_involved_end(a.id) i on true
        left join lateral address_mined_end(a.id) m on true
        left join lateral address_transfer_end(a.id) x on true
        left join transfer xt on xt.id = x.last_id
        left join lateral address_withdrawal_end(a.id) w on true
        left join lateral address_issuance_end(a.id) s on true
        left join credit wc on wc.id = greatest(w.last_id, s.last_id)
        left join transaction lt on lt.id = greatest(t.last_id, i.last_id, xt.transaction)
        join block lb on lb.number = coalesce(greatest(lt.block, m.last_id, wc.block), a.first_seen)
        left join lateral (
            select * from creation where created = a.id order by transaction desc limit 1
        ) c on true
        left join transaction ct on ct.id = c.transaction
        left join block cb on cb.number = ct.block
        left join address cr on cr.id = coalesce(c.creator, ct.sender)
        where a.address = $1";
    let Some(row) = find(client, sql, &[&address.as_slice()]).await? else { return Ok(None) };
    let creation = both(row.option_address(3)?, both(row.option_hash(4)?, row.option_hash(5)?)?)?;
    let creation = creation.map(|(creator, (tx_hash, block_hash))| Creation { creator, tx_hash, block_hash });
    Ok(Some(AddressSummary {
        address,
        tx_count: row.u64(0)?,
        first_seen: row.u64(1)?,
        last_seen: row.u64(2)?,
        creation,
    }))
}

/// Needs a snapshot.
pub(crate) async fn find_address_overview(
    client: &dyn Connection,
    lists: Lists<'_>,
    address: Address,
    recent: u32,
) -> Result<Option<AddressOverview>, StoreError> {
    let (touching, internal) = (TransactionFilter::touching(address), InternalFilter::touching(address));
    let (tip, summary, recent, token, [transfer_count, trade_count, log_count], internal) = try_join!(
        find_tip(client),
        find_address(client, address),
        list_transactions(client, lists, &touching, PageRequest::newest(recent)),
        find_token(client, address),
        count_activity(client, address),
        list_internal_transactions(client, lists, &internal, PageRequest::newest(0)),
    )?;
    let (Some(tip), Some(summary)) = (tip, summary) else { return Ok(None) };
    let (Some(recent), Some(internal)) = (recent, internal) else { return Err(WALKED) };
    Ok(Some(AddressOverview {
        tip,
        summary,
        transfer_count,
        trade_count,
        internal_tx_count: internal.page.total,
        traced_range: internal.traced_range,
        log_count,
        recent: recent.items,
        token,
    }))
}

const WALKED: StoreError = StoreError::Corrupt("one list takes a walk");

/// How many transfers, trades and logs an address has ([`domain::TradeFilter::of`]).
async fn count_activity(client: &dyn Connection, address: Address) -> Result<[u64; 3], StoreError> {
    let sql = "select coalesce(x.total, 0), coalesce(case when p.id is null then m.total else t.total end, 0),
            coalesce(l.total, 0)
        from address a
        left join pool p on p.id = a.id
        left join lateral address_transfer_end(a.id) x on true
        left join lateral maker_trade_end(a.id) m on true
        left join lateral pool_trade_end(a.id) t on true
        left join lateral emitter_log_end(a.id) l on true
        where a.address = $1";
    find(client, sql, &[&address.as_slice()])
        .await?
        .map_or(Ok([0; 3]), |row| Ok([row.u64(0)?, row.u64(1)?, row.u64(2)?]))
}

pub(crate) async fn describe_addresses(
    client: &dyn Connection,
    addresses: &[Address],
) -> Result<Vec<AddressFacts>, StoreError> {
    let sql = "select c.hash, t.symbol, t.name, c.address is not null from unnest($1::bytea[]) with ordinality asked (address, n)
        left join address a on a.address = asked.address left join address_code c on c.address = a.id
        left join token t on t.id = a.id order by asked.n";
    let addresses: Vec<&[u8]> = addresses.iter().map(|address| address.as_slice()).collect();
    let facts = |row: &Row| {
        let token = row.option_text(1)?.zip(row.option_text(2)?);
        let token = token.map(|(symbol, name)| TokenName { symbol, name });
        let code_hash = row.option_hash(0)?;
        Ok(AddressFacts { has_no_code: code_hash.is_none() && row.value::<bool>(3)?, code_hash, token })
    };
    query(client, sql, &[&addresses]).await?.iter().map(facts).collect()
}

pub(crate) async fn find_code_hash(client: &dyn Connection, address: Address) -> Result<Option<B256>, StoreError> {
    let sql = "select c.hash from address a join address_code c on c.address = a.id where a.address = $1";
    let row = find(client, sql, &[&address.as_slice()]).await?;
    Ok(row.map(|row| row.option_hash(0)).transpose()?.flatten())
}

pub(crate) async fn find_code(client: &dyn Connection, hash: B256) -> Result<Option<Bytes>, StoreError> {
    let row = find(client, "select code from code where hash = $1", &[&hash.as_slice()]).await?;
    row.map(|row| row.bytes(0)).transpose()
}
