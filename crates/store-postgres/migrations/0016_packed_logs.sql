-- Consecutive logs of a transaction in one row. An index with a row for each log is filled again.

drop view logs;
drop table log;

create table log_pack (
    -- Of the first log, as is its index in the block; those of the others follow.
    id int8 primary key,
    transaction int8 not null,
    log_index int4 not null,
    -- The first byte is the width of an id in bytes, plus 16 times the number of topics after the first one. Then, for each log, big
    -- endian: the ids of its source and of those topics (all bits are set if there is none), and in two bytes where its data ends.
    entries bytea not null,
    -- For each log a byte with the number of its words, or 255 and the size in four bytes; then for each whole word its length without
    -- leading zeros and those bytes, then the bytes after the last word. Data that is too long to be kept has a size only.
    data bytea not null
);
create index log_pack_by_transaction on log_pack using brin (transaction) with (autosummarize = on);

-- A number of `width` bytes, which begin after `skipped` ones.
create function big_endian(bytes bytea, skipped int4, width int4) returns int8
language sql immutable parallel safe as $$
    select ('x' || lpad(encode(substr(bytes, skipped + 1, width), 'hex'), 16, '0'))::bit(64)::int8
$$;

-- The bytes of a log in `entries`.
create function log_width(entries bytea) returns int4
language sql immutable parallel safe as $$
    select (get_byte(entries, 0) & 15) * (1 + (get_byte(entries, 0) >> 4)) + 2
$$;

create function log_count(entries bytea) returns int4
language sql immutable parallel safe as $$
    select (length(entries) - 1) / log_width(entries)
$$;

-- The id of the source of a log, or of a topic at a position after the first one; null if there is none.
create function log_reference(entries bytea, place int4, topic int4) returns int8
language sql immutable parallel safe as $$
    select case when topic <= get_byte(entries, 0) >> 4 then nullif(
        big_endian(entries, 1 + place * log_width(entries) + topic * (get_byte(entries, 0) & 15), get_byte(entries, 0) & 15),
        (1::int8 << (get_byte(entries, 0) & 15) * 8) - 1
    ) end
$$;

-- Where the data of a log ends; it begins where that of the one before does.
create function log_data_end(entries bytea, place int4) returns int4
language sql immutable parallel safe as $$
    select case when place < 0 then 0 else big_endian(entries, (place + 1) * log_width(entries) - 1, 2)::int4 end
$$;

create function log_packed_data(entries bytea, data bytea, place int4) returns bytea
language sql immutable parallel safe as $$
    select substr(data, log_data_end(entries, place - 1) + 1, log_data_end(entries, place) - log_data_end(entries, place - 1))
$$;

create function log_data_size(packed bytea) returns int8
language sql immutable parallel safe as $$
    select case get_byte(packed, 0) when 255 then big_endian(packed, 1, 4) else get_byte(packed, 0) * 32 end
$$;

-- The data of a log; null if it was too long to be kept.
create function log_data(packed bytea) returns bytea
language plpgsql immutable parallel safe as $$
declare
    size int8 := log_data_size(packed);
    unpacked bytea := '';
    next int4 := case get_byte(packed, 0) when 255 then 5 else 1 end;
    width int4;
begin
    if size > 0 and length(packed) = next then
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
    transaction int8, log_index int4, source int8, topic1 int8, topic2 int8, topic3 int8, packed_data bytea
)
language sql stable parallel safe as $$
    select p.transaction, p.log_index + o.place, log_reference(p.entries, o.place, 0), log_reference(p.entries, o.place, 1),
        log_reference(p.entries, o.place, 2), log_reference(p.entries, o.place, 3), log_packed_data(p.entries, p.data, o.place)
    from (select * from log_pack where id <= log_id order by id desc limit 1) p
    cross join lateral (select (log_id - p.id)::int4 as place) o
$$;

create view logs as
select p.id + o.place as id, t.hash as transaction_hash, t.block as block_number, p.log_index + o.place as log_index,
    to_timestamp(b.timestamp) as time, e.address, t0.topic as topic0, t1.topic as topic1, t2.topic as topic2, t3.topic as topic3,
    log_data(log_packed_data(p.entries, p.data, o.place)) as data,
    log_data_size(log_packed_data(p.entries, p.data, o.place)) as data_size
from log_pack p
cross join lateral generate_series(0, log_count(p.entries) - 1) o(place)
join transaction t on t.id = p.transaction
join block b on b.number = t.block
join log_source s on s.id = log_reference(p.entries, o.place, 0)
join address e on e.id = s.emitter
left join log_topic t0 on t0.id = s.topic
left join log_topic t1 on t1.id = log_reference(p.entries, o.place, 1)
left join log_topic t2 on t2.id = log_reference(p.entries, o.place, 2)
left join log_topic t3 on t3.id = log_reference(p.entries, o.place, 3);
