use async_trait::async_trait;
use domain::{Address, AddressOrigin, BlockNumber, ListedAddresses};
use store::{KnownAddressReader, StoreError};

use crate::{
    database::{Connection, find, get, query},
    reader::{PostgresReader, read_snapshot, read_statement},
    rows::{RowExt, clamped, int8},
};

#[async_trait]
impl KnownAddressReader for PostgresReader {
    async fn list_known_addresses(
        &self,
        origin: AddressOrigin,
        from: u64,
        limit: u32,
    ) -> Result<ListedAddresses, StoreError> {
        read_snapshot!(self, |client| list_known_addresses(&client, origin, from, limit))
    }

    async fn find_address_position(&self, block: BlockNumber) -> Result<Option<u64>, StoreError> {
        read_statement!(self, |client| find_address_position(&client, block))
    }

    async fn count_transactions(&self, addresses: &[Address]) -> Result<Vec<u64>, StoreError> {
        read_statement!(self, |client| count_transactions(&client, addresses))
    }
}

/// Needs a snapshot.
pub(crate) async fn list_known_addresses(
    client: &dyn Connection,
    origin: AddressOrigin,
    from: u64,
    limit: u32,
) -> Result<ListedAddresses, StoreError> {
    let (end, sql) = match origin {
        AddressOrigin::Blocks => (
            get(client, "select addresses from chain", &[]).await?.u64(0)?,
            "select address from address where id >= $1 and id < $2 order by id",
        ),
        AddressOrigin::InternalTransactions => (
            get(client, "select parties from internal_progress", &[]).await?.u64(0)?,
            "select p.address from internal_party p where p.id >= $1 and p.id < $2
                and not exists (select from address a where a.address = p.address) order by p.id",
        ),
    };
    let from = from.min(end);
    let next = from.saturating_add(u64::from(limit)).min(end);
    let rows = query(client, sql, &[&int8(from), &int8(next)]).await?;
    let addresses = rows.iter().map(|row| row.address(0)).collect::<Result<_, _>>()?;
    Ok(ListedAddresses { addresses, next, end })
}

pub(crate) async fn find_address_position(
    client: &dyn Connection,
    block: BlockNumber,
) -> Result<Option<u64>, StoreError> {
    // A block has the totals before it.
    let sql = "select coalesce(next.addresses, chain.addresses) from chain cross join block b
        left join block next on next.number = b.number + 1 where b.number = $1";
    find(client, sql, &[&clamped(block)]).await?.map(|row| row.u64(0)).transpose()
}

pub(crate) async fn count_transactions(client: &dyn Connection, addresses: &[Address]) -> Result<Vec<u64>, StoreError> {
    let sql = "select coalesce(t.total, 0) from unnest($1::bytea[]) with ordinality asked (address, n)
        left join address a on a.address = asked.address
        left join lateral address_transaction_end(a.id) t on true order by asked.n";
    let addresses: Vec<&[u8]> = addresses.iter().map(|address| address.as_slice()).collect();
    query(client, sql, &[&addresses]).await?.iter().map(|row| row.u64(0)).collect()
}
