use async_trait::async_trait;
use domain::{Address, Balance, HeldNft, Holder, Nft, Order, Page, PageRequest, TokenKind, Transfer, U256};
use store::{NftReader, StoreError};
use tokio_postgres::Row;

use super::{pages::page_of, tokens::page_of_address};
use crate::{
    database::{Connection, find, query},
    numeric::Numeric,
    ranks::{HELD_NFTS, NFT_HOLDERS},
    reader::{PostgresReader, read_snapshot, read_statement},
    rows::{RowExt, clamped, int8, to_u256},
    tables::{TRANSFERS, transfer_from_row},
};

#[async_trait]
impl NftReader for PostgresReader {
    async fn list_nfts(&self, token: Address, page: PageRequest) -> Result<Option<Page<Nft>>, StoreError> {
        read_statement!(self, |client| list_nfts(&client, token, page))
    }

    async fn find_nft(&self, token: Address, id: U256) -> Result<Option<Nft>, StoreError> {
        read_statement!(self, |client| find_nft(&client, token, id))
    }

    async fn list_nft_holders(
        &self,
        token: Address,
        id: U256,
        page: PageRequest,
    ) -> Result<Option<Page<Holder>>, StoreError> {
        read_snapshot!(self, |client| list_nft_holders(&client, token, id, page))
    }

    async fn list_nft_transfers(
        &self,
        token: Address,
        id: U256,
        page: PageRequest,
    ) -> Result<Option<Page<Transfer>>, StoreError> {
        read_statement!(self, |client| list_nft_transfers(&client, token, id, page))
    }

    async fn list_held_nfts(&self, address: Address, page: PageRequest) -> Result<Page<HeldNft>, StoreError> {
        read_statement!(self, |client| list_held_nfts(&client, address, page))
    }
}

/// The columns of an id `n` of the token `t` with the address `a`, and the owner `o`.
const NFT: &str = "a.address, n.token_id, t.kind, o.address,
    case when t.kind = 1 then (n.owner is not null)::int4::int8 else rank_total(4::int2, n.id) end,
    (select total from nft_transfer_end(n.id))";

fn nft_from_row(row: &Row, first: usize) -> Result<Nft, StoreError> {
    Ok(Nft {
        token: row.address(first)?,
        id: to_u256(row.value(first + 1)?)?,
        kind: row.kind(first + 2)?,
        owner: row.option_address(first + 3)?,
        holder_count: row.u64(first + 4)?,
        transfer_count: row.u64(first + 5)?,
    })
}

pub(crate) async fn list_nfts(
    client: &dyn Connection,
    token: Address,
    page: PageRequest,
) -> Result<Option<Page<Nft>>, StoreError> {
    let sql = format!(
        "with page as materialized (
            select p.total, p.ids from address k join token t on t.id = k.id cross join chain c
            cross join lateral token_nft_page(k.id, 0, 0, c.nfts, $2, $3, $4) p where k.address = $1
        )
        select page.total, u.id, {NFT} from page left join lateral unnest(page.ids) with ordinality u(id, n) on true
        left join nft n on n.id = u.id left join token t on t.id = n.token left join address a on a.id = n.token
        left join address o on o.id = n.owner order by u.n"
    );
    let (offset, limit, newest_first) = (clamped(page.offset), i64::from(page.limit), page.order == Order::NewestFirst);
    let rows = query(client, &sql, &[&token.as_slice(), &offset, &limit, &newest_first]).await?;
    // Without a token there is no row.
    if rows.is_empty() { Ok(None) } else { page_of(&rows, |row| nft_from_row(row, 2)).map(Some) }
}

pub(crate) async fn find_nft(client: &dyn Connection, token: Address, id: U256) -> Result<Option<Nft>, StoreError> {
    Ok(find_numbered(client, token, id).await?.map(|(_, nft)| nft))
}

/// An id with its number.
async fn find_numbered(client: &dyn Connection, token: Address, id: U256) -> Result<Option<(u64, Nft)>, StoreError> {
    let sql = format!(
        "select n.id, {NFT} from address a join token t on t.id = a.id join nft n on n.token = a.id
        left join address o on o.id = n.owner where a.address = $1 and n.token_id = $2"
    );
    let row = find(client, &sql, &[&token.as_slice(), &Numeric::from(id)]).await?;
    row.map(|row| Ok((row.u64(0)?, nft_from_row(&row, 1)?))).transpose()
}

/// Needs a snapshot.
pub(crate) async fn list_nft_holders(
    client: &dyn Connection,
    token: Address,
    id: U256,
    page: PageRequest,
) -> Result<Option<Page<Holder>>, StoreError> {
    let Some((number, nft)) = find_numbered(client, token, id).await? else { return Ok(None) };
    if nft.kind == TokenKind::Bep721 {
        let owner = nft.owner.map(|address| Holder { address, balance: Balance::from(1) });
        let items = page.ranks(nft.holder_count).filter_map(|_| owner).collect();
        return Ok(Some(Page { items, total: nft.holder_count }));
    }
    let sql = "select rank_total($1, $2), r.n, h.address, -r.sort from (select 1) one
        left join lateral rank_page($1, $2, $3, $4, $5) r on true
        left join address h on h.id = ('x' || encode(r.tie, 'hex'))::bit(64)::int8 order by r.n";
    let (offset, limit, from_end) = (clamped(page.offset), i64::from(page.limit), page.order == Order::OldestFirst);
    let rows = query(client, sql, &[&NFT_HOLDERS, &int8(number), &offset, &limit, &from_end]).await?;
    let holder = |row: &Row| Ok(Holder { address: row.address(2)?, balance: row.value::<Numeric>(3)?.0 });
    page_of(&rows, holder).map(Some)
}

pub(crate) async fn list_nft_transfers(
    client: &dyn Connection,
    token: Address,
    id: U256,
    page: PageRequest,
) -> Result<Option<Page<Transfer>>, StoreError> {
    let sql = TRANSFERS.statement(
        "select p.total, p.ids from address k join nft m on m.token = k.id and m.token_id = $2 cross join chain c
        cross join lateral nft_transfer_page(m.id, 0, 0, c.transfers, $3, $4, $5) p where k.address = $1",
    );
    let (offset, limit, newest_first) = (clamped(page.offset), i64::from(page.limit), page.order == Order::NewestFirst);
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 5] =
        [&token.as_slice(), &Numeric::from(id), &offset, &limit, &newest_first];
    let rows = query(client, &sql, &parameters).await?;
    // Without an id there is no row.
    if rows.is_empty() { Ok(None) } else { page_of(&rows, transfer_from_row).map(Some) }
}

pub(crate) async fn list_held_nfts(
    client: &dyn Connection,
    address: Address,
    page: PageRequest,
) -> Result<Page<HeldNft>, StoreError> {
    // The set is stored with the oldest first.
    let order = match page.order {
        Order::NewestFirst => Order::OldestFirst,
        Order::OldestFirst => Order::NewestFirst,
    };
    let sql = "select rank_total($1, k.id), r.n, a.address, t.kind, t.name, t.symbol, n.token_id, coalesce(b.amount, 1)
        from (select id from address where address = $2) k
        left join lateral rank_page($1, k.id, $3, $4, $5) r on true
        left join nft n on n.id = ('x' || encode(r.tie, 'hex'))::bit(64)::int8
        left join token t on t.id = n.token left join address a on a.id = n.token
        left join nft_balance b on b.nft = n.id and b.holder = k.id order by r.n";
    let rows = page_of_address(client, sql, HELD_NFTS, address, PageRequest { order, ..page }).await?;
    page_of(&rows, |row| {
        Ok(HeldNft {
            token: row.address(2)?,
            kind: row.kind(3)?,
            token_name: row.option_text(4)?,
            token_symbol: row.option_text(5)?,
            id: to_u256(row.value(6)?)?,
            amount: row.value::<Numeric>(7)?.0,
        })
    })
}
