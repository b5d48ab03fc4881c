-- Logs in chain order. An emitter with a first topic is a source; topics have ids in order of first appearance.

alter table chain
    add column logs int8 not null default 0,
    add column log_topics int8 not null default 0,
    add column log_sources int8 not null default 0;
alter table block
    add column logs int8 not null default 0,
    add column log_topics int8 not null default 0,
    add column log_sources int8 not null default 0;

create table log_topic (
    id int8 primary key,
    topic bytea not null
);
create unique index log_topic_by_topic on log_topic (topic);

create table log_source (
    id int8 primary key,
    emitter int8 not null,
    -- -1 for logs without topics.
    topic int8 not null
);
create unique index log_source_by_emitter on log_source (emitter, topic);

create table log (
    id int8 primary key,
    transaction int8 not null,
    log_index int4 not null,
    source int8 not null,
    topic1 int8,
    topic2 int8,
    topic3 int8,
    -- Null if it is too long to be kept.
    data bytea,
    data_size int4 not null
);
create index log_by_transaction on log using brin (transaction) with (autosummarize = on);

-- Makes lists with the tables and functions of another one.
create function create_lists(names text[], template text) returns void
language plpgsql as $f$
declare
    list text;
    definition text;
begin
    foreach list in array names loop
        execute format('create table %s_run (like %s_run including all)', list, template);
        for definition in
            select replace(pg_get_functiondef(p.oid), template, list) from pg_proc p
            where p.pronamespace = current_schema()::regnamespace and p.proname like replace(template, '_', '\_') || '\_%'
            order by array_position(array['_end', '_rank', '_slice', '_page', '_ids'], substr(p.proname, length(template) + 1))
        loop
            execute definition;
        end loop;
    end loop;
end
$f$;

select create_lists(
    array['emitter_log', 'source_log', 'topic0_log', 'topic1_log', 'topic2_log', 'topic3_log'], 'address_transfer'
);

drop function span_of_blocks(int8, int8);
-- The ids assigned in a range of blocks, from low to before high; no row for an empty index.
create function span_of_blocks(from_block int8, to_block int8) returns table (
    low_transaction int8, high_transaction int8, low_transfer int8, high_transfer int8, low_trade int8, high_trade int8,
    low_log int8, high_log int8
)
language sql stable parallel safe as $$
    select
        case when from_block > c.tip_number then c.transactions else l.transactions end,
        case when to_block >= c.tip_number then c.transactions else coalesce(h.transactions, 0) end,
        case when from_block > c.tip_number then c.transfers else l.transfers end,
        case when to_block >= c.tip_number then c.transfers else coalesce(h.transfers, 0) end,
        case when from_block > c.tip_number then c.trades else l.trades end,
        case when to_block >= c.tip_number then c.trades else coalesce(h.trades, 0) end,
        case when from_block > c.tip_number then c.logs else l.logs end,
        case when to_block >= c.tip_number then c.logs else coalesce(h.logs, 0) end
    from chain c
    left join block l on l.number = greatest(from_block, c.first_block)
    left join block h on h.number = to_block + 1
    where c.tip_number is not null
$$;

create view logs as
select x.id, t.hash as transaction_hash, t.block as block_number, x.log_index, to_timestamp(b.timestamp) as time,
    e.address, t0.topic as topic0, t1.topic as topic1, t2.topic as topic2, t3.topic as topic3, x.data, x.data_size
from log x
join transaction t on t.id = x.transaction
join block b on b.number = t.block
join log_source s on s.id = x.source
join address e on e.id = s.emitter
left join log_topic t0 on t0.id = s.topic
left join log_topic t1 on t1.id = x.topic1
left join log_topic t2 on t2.id = x.topic2
left join log_topic t3 on t3.id = x.topic3;
