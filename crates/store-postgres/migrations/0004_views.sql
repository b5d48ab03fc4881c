-- Views for people: amounts as numeric, times as timestamps, addresses and hashes as bytea, by which the indexes find them.
-- hex() and bytes() convert these from and to 0x text.

create function hex(bytes bytea) returns text language sql immutable parallel safe as $$
    select '0x' || encode(bytes, 'hex')
$$;

create function bytes(hex text) returns bytea language sql immutable strict parallel safe as $$
    select decode(substr(hex, 3), 'hex')
$$;

-- Texts come from contracts and may contain the character NUL, which a text value cannot.
create function plain_text(bytes bytea) returns text language sql immutable parallel safe as $$
    select case when position('\x00'::bytea in bytes) = 0 then convert_from(bytes, 'UTF8') else (
        select convert_from(
            string_agg(case get_byte(bytes, i) when 0 then '\xefbfbd'::bytea else substr(bytes, i + 1, 1) end, ''::bytea
                order by i),
            'UTF8'
        ) from generate_series(0, length(bytes) - 1) i
    ) end
$$;

create view blocks as
select b.number, b.hash, b.parent_hash, to_timestamp(b.timestamp) as time,
    m.address as miner, b.tx_count, b.gas_used, b.gas_limit, b.base_fee_per_gas, b.size
from block b join address m on m.id = b.miner;

create view transactions as
select t.id, t.hash, t.block as block_number, t.id - b.transactions as index, to_timestamp(b.timestamp) as time,
    s.address as "from", r.address as "to", c.address as created, t.value, t.nonce, t.gas_used, t.gas_price,
    t.succeeded, t.method
from transaction t
join block b on b.number = t.block
join address s on s.id = t.sender
left join address r on r.id = t.receiver
left join address c on c.id = t.created;

create view tokens as
select a.address, (array['BEP20', 'BEP721', 'BEP1155'])[t.kind + 1] as standard, plain_text(t.name) as name,
    plain_text(t.symbol) as symbol, t.decimals, t.total_supply, t.transfers,
    case when t.call_fetched > 0 and (t.audit = 1 or t.overdrafts > 0 and t.kind < 2) then t.call_holding else t.holders end
        as holders
from token t join address a on a.id = t.id;

create view transfers as
select x.id, t.hash as transaction_hash, t.block as block_number, x.log_index, x.batch_index,
    to_timestamp(b.timestamp) as time, k.address as token, s.address as "from", r.address as "to", x.value,
    x.token_id
from transfer x
join transaction t on t.id = x.transaction
join block b on b.number = t.block
join address k on k.id = x.token
join address s on s.id = x.sender
join address r on r.id = x.receiver;

create view trades as
select d.id, t.hash as transaction_hash, t.block as block_number, d.log_index, to_timestamp(b.timestamp) as time,
    m.address as maker, p.address as pool, f.address as factory,
    case when d.zero_for_one then a0.address else a1.address end as token_in,
    case when d.zero_for_one then a1.address else a0.address end as token_out, d.amount_in, d.amount_out
from trade d
join transaction t on t.id = d.transaction
join block b on b.number = t.block
join address m on m.id = t.sender
join pool on pool.id = d.pool
join address p on p.id = d.pool
join address f on f.id = pool.factory
join address a0 on a0.id = pool.token0
join address a1 on a1.id = pool.token1;

-- As ranked: may lag behind the tip.
create view holders as
select t.address as token, h.address as holder, b.ranked as balance
from balance b join address t on t.id = b.token join address h on h.id = b.holder where b.ranked is not null;

create view address_transactions as
select a.address, t.hash as transaction_hash, t.block as block_number, e.value & 1 <> 0 as sent,
    e.value & 2 <> 0 as received, r.first_seq + e.n - 1 as position
from address a
join address_transaction_run r on r.owner = a.id
cross join lateral unnest(array_prepend((r.first & 3)::int4, r.rest)) with ordinality e(value, n)
join transaction t on t.id = ((r.first & -4) + e.value) >> 2;

create view address_transfers as
select a.address, x.transfer as transfer_id, x.sent, x.received, x.position
from address a
cross join lateral (
    select ((r.first & -4) + e.value) >> 2 as transfer, e.value & 1 <> 0 as sent, e.value & 2 <> 0 as received,
        r.first_seq + e.n - 1 as position
    from address_transfer_run r
    cross join lateral unnest(array_prepend((r.first & 3)::int4, r.rest)) with ordinality e(value, n)
    where r.owner = a.id
) x;

-- So that the views find the rows of a range of blocks. The tables are in chain order, so these indexes are small.
create index transaction_by_block on transaction using brin (block) with (autosummarize = on);
create index transfer_by_transaction on transfer using brin (transaction) with (autosummarize = on);
create index trade_by_transaction on trade using brin (transaction) with (autosummarize = on);
