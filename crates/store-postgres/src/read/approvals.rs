use async_trait::async_trait;
use domain::{Address, Approval, ApprovalScope, Order, Page, PageRequest};
use store::{ApprovalReader, StoreError};
use tokio_postgres::Row;

use super::{pages::page_of, tokens::page_of_address};
use crate::{
    database::Connection,
    ranks::APPROVALS,
    reader::{PostgresReader, read_statement},
    rows::{RowExt, to_u256},
    tokens::option_decimals,
};

#[async_trait]
impl ApprovalReader for PostgresReader {
    async fn list_approvals(&self, owner: Address, page: PageRequest) -> Result<Page<Approval>, StoreError> {
        read_statement!(self, |client| list_approvals(&client, owner, page))
    }
}

pub(crate) async fn list_approvals(
    client: &dyn Connection,
    owner: Address,
    page: PageRequest,
) -> Result<Page<Approval>, StoreError> {
    // The set is stored with the oldest first.
    let order = match page.order {
        Order::NewestFirst => Order::OldestFirst,
        Order::OldestFirst => Order::NewestFirst,
    };
    let sql = "select rank_total($1, k.id), r.n, a.address, t.kind, t.name, t.symbol, t.decimals, p.spender,
            p.scope, p.token_id, p.value, x.hash, x.block, b.timestamp
        from (select id from address where address = $2) k
        left join lateral rank_page($1, k.id, $3, $4, $5) r on true
        left join approval p on p.id = ('x' || encode(r.tie, 'hex'))::bit(64)::int8
        left join address a on a.id = p.token left join token t on t.id = p.token
        left join transaction x on x.id = p.transaction left join block b on b.number = x.block order by r.n";
    let rows = page_of_address(client, sql, APPROVALS, owner, PageRequest { order, ..page }).await?;
    page_of(&rows, approval_from_row)
}

fn approval_from_row(row: &Row) -> Result<Approval, StoreError> {
    Ok(Approval {
        token: row.address(2)?,
        token_kind: row.option_kind(3)?,
        token_name: row.option_text(4)?,
        token_symbol: row.option_text(5)?,
        token_decimals: option_decimals(row, 6)?,
        spender: row.address(7)?,
        scope: match row.value::<i16>(8)? {
            0 => ApprovalScope::Amount,
            1 => ApprovalScope::Id(to_u256(row.value(9)?)?),
            2 => ApprovalScope::All,
            _ => return Err(StoreError::Corrupt("an approval of an unknown scope")),
        },
        value: to_u256(row.value(10)?)?,
        tx_hash: row.hash(11)?,
        block_number: row.u64(12)?,
        timestamp: row.u64(13)?,
    })
}
