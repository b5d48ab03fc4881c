-- Consecutive logs of a transaction in one row. An index with a row for each log is filled again.

drop view logs;
drop table log;

create table log_pack (
    -- Of the first log, as is its index in the block; those of the others follow.
    id int8 primary key,
    transaction int8 not null,
    log_index int4 not null,
    -- 26 bytes for each log, big endian: the ids of the source and of the topics after the first one (5 bytes each; all bits are
    -- set if there is none), the size of the data (4), and where the packed data ends (2).
    entries bytea not null,
    -- The data of all logs: for each whole word its length without leading zeros and those bytes, then the bytes after the last
    -- word. Nothing for data that is too long to be kept.
    data bytea not null
);
create index log_pack_by_transaction on log_pack using brin (transaction) with (autosummarize = on);

-- A number in a pack: `width` bytes at an offset in the entry of a log.
create function log_number(entries bytea, place int4, at int4, width int4) returns int8
language sql immutable parallel safe as $$
    select ('x' || lpad(encode(substr(entries, place * 26 + at + 1, width), 'hex'), 16, '0'))::bit(64)::int8
$$;

create function log_reference(entries bytea, place int4, field int4) returns int8
language sql immutable parallel safe as $$
    select nullif(log_number(entries, place, field * 5, 5), (1::int8 << 40) - 1)
$$;

create function log_packed_data(entries bytea, data bytea, place int4) returns bytea
language sql immutable parallel safe as $$
    select case place
        when 0 then substr(data, 1, log_number(entries, 0, 24, 2)::int4)
        else substr(data, log_number(entries, place - 1, 24, 2)::int4 + 1,
            (log_number(entries, place, 24, 2) - log_number(entries, place - 1, 24, 2))::int4)
    end
$$;

-- The data of a log; null if it was too long to be kept.
create function log_data(packed bytea, size int8) returns bytea
language plpgsql immutable parallel safe as $$
declare
    unpacked bytea := '';
    next int4 := 0;
    width int4;
begin
    if size > 0 and length(packed) = 0 then
        return null;
    end if;
    for word in 1 .. size / 32 loop
        width := get_byte(packed, next);
        unpacked := unpacked || decode(repeat('00', 32 - width), 'hex') || substr(packed, next + 2, width);
        next := next + 1 + width;
    end loop;
    return unpacked || substr(packed, next + 1);
end
$$;

create function log_by_id(log_id int8) returns table (
    transaction int8, log_index int4, source int8, topic1 int8, topic2 int8, topic3 int8, packed_data bytea, data_size int8
)
language sql stable parallel safe as $$
    select p.transaction, p.log_index + o.place, log_reference(p.entries, o.place, 0), log_reference(p.entries, o.place, 1),
        log_reference(p.entries, o.place, 2), log_reference(p.entries, o.place, 3),
        log_packed_data(p.entries, p.data, o.place), log_number(p.entries, o.place, 20, 4)
    from (select * from log_pack where id <= log_id order by id desc limit 1) p
    cross join lateral (select (log_id - p.id)::int4 as place) o
$$;

create view logs as
select p.id + o.place as id, t.hash as transaction_hash, t.block as block_number, p.log_index + o.place as log_index,
    to_timestamp(b.timestamp) as time, e.address, t0.topic as topic0, t1.topic as topic1, t2.topic as topic2, t3.topic as topic3,
    log_data(log_packed_data(p.entries, p.data, o.place), log_number(p.entries, o.place, 20, 4)) as data,
    log_number(p.entries, o.place, 20, 4) as data_size
from log_pack p
cross join lateral generate_series(0, length(p.entries) / 26 - 1) o(place)
join transaction t on t.id = p.transaction
join block b on b.number = t.block
join log_source s on s.id = log_reference(p.entries, o.place, 0)
join address e on e.id = s.emitter
left join log_topic t0 on t0.id = s.topic
left join log_topic t1 on t1.id = log_reference(p.entries, o.place, 1)
left join log_topic t2 on t2.id = log_reference(p.entries, o.place, 2)
left join log_topic t3 on t3.id = log_reference(p.entries, o.place, 3);
