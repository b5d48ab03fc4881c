-- Internal transactions, from traces of the node. They are traced behind the tip, from a first block on in both directions.
-- Their ids follow the chain: from 0 up for the first block and those above it, from -1 down for those below. Lists of the
-- lower side contain -1 - id, so that they only grow.

create table internal_progress (
    is_only boolean primary key default true check (is_only),
    -- The first block of the upper side; null before the first trace.
    anchor int8,
    -- The next blocks to trace.
    above int8,
    below int8,
    -- Blocks of the upper side that were given up, from the first to the last.
    gap_first int8,
    gap_last int8,
    above_count int8 not null default 0,
    below_count int8 not null default 0,
    parties int8 not null default 0
);
insert into internal_progress default values;

-- Addresses in internal transactions, in the order of tracing. They are not those of the chain, which a revert removes.
create table internal_party (
    id int8 primary key,
    address bytea not null
);
create unique index internal_party_by_address on internal_party (address);

create table internal_block (
    number int8 primary key,
    first_id int8 not null
);

create table internal_transaction (
    id int8 primary key,
    transaction int8 not null,
    position int4 not null,
    -- 0: call, 1: create, 2: create2, 3: selfdestruct.
    kind int2 not null,
    sender int8 not null,
    receiver int8,
    value numeric not null,
    gas int8 not null,
    gas_used int8 not null,
    error bytea
);

-- The lists have the tables and functions of other lists.
do $do$
declare
    list text;
    definition text;
begin
    foreach list in array array['internal_above', 'internal_below'] loop
        execute format('create table %s_run (like address_transfer_run including all)', list);
        for definition in
            select replace(pg_get_functiondef(p.oid), 'address_transfer', list) from pg_proc p
            where p.pronamespace = current_schema()::regnamespace and p.proname like 'address\_transfer\_%'
            order by array_position(array['_end', '_rank', '_slice', '_page', '_ids'], substr(p.proname, 17))
        loop
            execute definition;
        end loop;
    end loop;
end
$do$;

-- The first id of a span whose transaction is not below one. The ids have no gaps.
create function internal_first(low_id int8, high_id int8, of_transaction int8) returns int8
language plpgsql stable parallel safe as $f$
declare
    low int8 := low_id;
    high int8 := high_id;
    middle int8;
begin
    while low < high loop
        middle := low + (high - low) / 2;
        if (select transaction from internal_transaction where id = middle) < of_transaction then
            low := middle + 1;
        else
            high := middle;
        end if;
    end loop;
    return low;
end
$f$;

-- A page of the internal transactions of a party with all roles of the mask whose id is in a span.
create function internal_page(
    of_owner int8, mask int4, low_id int8, high_id int8, skipped int8, wanted int8, newest_first boolean
) returns list_page
language plpgsql stable parallel safe as $f$
declare
    page list_page;
    below_first int8 := internal_below_rank(of_owner, mask, greatest(0, -high_id));
    below_total int8 := internal_below_rank(of_owner, mask, greatest(0, -low_id)) - below_first;
    above_first int8 := internal_above_rank(of_owner, mask, greatest(0, low_id));
    above_total int8 := internal_above_rank(of_owner, mask, greatest(0, high_id)) - above_first;
    start int8;
    stop int8;
begin
    page.total := below_total + above_total;
    start := least(skipped, page.total);
    stop := start + least(wanted, page.total - start);
    if newest_first then
        select page.total - stop, page.total - start into start, stop;
    end if;
    page.ids := array(
        select e.id from (
            select -1 - b.id as id from unnest(internal_below_slice(
                of_owner, mask, below_first + below_total - least(stop, below_total),
                below_first + below_total - least(start, below_total)
            )) b(id)
            union all
            select a.id from unnest(internal_above_slice(
                of_owner, mask, above_first + greatest(start - below_total, 0),
                above_first + greatest(stop - below_total, 0)
            )) a(id)
        ) e order by case when newest_first then -e.id else e.id end
    );
    return page;
end
$f$;

create view internal_transactions as
select x.id, t.hash as transaction_hash, t.block as block_number, x.position, to_timestamp(b.timestamp) as time,
    (array['call', 'create', 'create2', 'selfdestruct'])[x.kind + 1] as type, s.address as "from", r.address as "to",
    x.value, x.gas, x.gas_used, plain_text(x.error) as error
from internal_transaction x
join transaction t on t.id = x.transaction
join block b on b.number = t.block
join internal_party s on s.id = x.sender
left join internal_party r on r.id = x.receiver;
