-- Lists of ids in ascending order. A commit appends rows of up to 128 entries to the lists that it touches, each with the
-- counts before it; nothing is updated in place. An entry is id << 2 | roles: 1 for the sender, 2 for the receiver.

create type list_page as (total int8, ids int8[]);

-- Entries with all roles of the mask before a run.
create function run_before(first_seq int8, sent_before int8, received_before int8, mask int4) returns int8
language sql immutable parallel safe as $$
    select case mask
        when 0 then first_seq
        when 1 then sent_before
        when 2 then received_before
        -- Every entry has a role.
        else sent_before + received_before - first_seq
    end
$$;

-- Entries of a run with all roles of the mask, below a bound.
create function run_count_below(first int8, rest int4[], mask int4, bound int8) returns int8
language sql immutable parallel safe as $$
    select (case when first < bound and first & mask = mask then 1 else 0 end)
        + (select count(*) from unnest(rest) e where e & mask = mask and e < bound - (first & -4))
$$;

do $do$
declare
    list text;
begin
    foreach list in array array[
        'address_transaction', 'address_involved', 'address_mined', 'address_transfer', 'token_transfer', 'maker_trade',
        'pool_trade', 'exchange_trade'
    ] loop
        execute format($sql$
            create table %1$s_run (
                owner int8 not null,
                first_seq int8 not null,
                first int8 not null,
                -- Null in lists without roles.
                sent_before int8,
                received_before int8,
                -- Each entry minus (first & -4); null if there is one entry.
                rest int4[],
                primary key (owner, first_seq)
            );
            create index %1$s_run_by_first on %1$s_run using brin (first) with (pages_per_range = 16, autosummarize = on);
        $sql$, list);

        -- The length of a list, and its last id.
        execute format($sql$
            create function %1$s_end(of_owner int8) returns table (total int8, last_id int8)
            language sql stable parallel safe as $f$
                select first_seq + 1 + coalesce(cardinality(rest), 0),
                    (first + coalesce(rest[cardinality(rest)] - (first & 3), 0)) >> 2
                from %1$s_run where owner = of_owner order by first_seq desc limit 1
            $f$
        $sql$, list);

        -- Entries with all roles of the mask and an id below the bound.
        execute format($sql$
            create function %1$s_rank(of_owner int8, mask int4, bound int8) returns int8
            language plpgsql stable parallel safe as $f$
            declare
                run %1$s_run;
                below %1$s_run;
                low int8 := 0;
                high int8;
            begin
                if bound <= 0 then
                    return 0;
                end if;
                select * into run from %1$s_run where owner = of_owner order by first_seq desc limit 1;
                if not found then
                    return 0;
                end if;
                if run.first < bound << 2 then
                    below := run;
                else
                    high := run.first_seq - 1;
                    while low <= high loop
                        select * into run from %1$s_run
                        where owner = of_owner and first_seq <= (low + high) / 2 order by first_seq desc limit 1;
                        if run.first < bound << 2 then
                            below := run;
                            low := run.first_seq + 1 + coalesce(cardinality(run.rest), 0);
                        else
                            high := run.first_seq - 1;
                        end if;
                    end loop;
                end if;
                if below.owner is null then
                    return 0;
                end if;
                return run_before(below.first_seq, below.sent_before, below.received_before, mask)
                    + run_count_below(below.first, below.rest, mask, bound << 2);
            end
            $f$
        $sql$, list);

        -- The ids from one rank to before another, among the entries with all roles of the mask. A rare role is searched
        -- run by run, a frequent one is read in sequence.
        execute format($sql$
            create function %1$s_slice(of_owner int8, mask int4, first_rank int8, end_rank int8) returns int8[]
            language plpgsql stable parallel safe as $f$
            declare
                run %1$s_run;
                probe %1$s_run;
                ids int8[] := '{}';
                wanted int8 := first_rank;
                before int8;
                held int8;
                low int8 := 0;
                left_end int8;
                right_end int8;
                last_seq int8;
            begin
                if first_rank >= end_rank then
                    return ids;
                end if;
                if mask = 0 then
                    return (
                        select coalesce(array_agg(entry.id order by entry.seq), '{}') from (
                            select ((r.first & -4) + e.value) >> 2 as id, r.first_seq + e.n - 1 as seq
                            from %1$s_run r
                            cross join lateral unnest(array_prepend((r.first & 3)::int4, r.rest)) with ordinality e(value, n)
                            where r.owner = of_owner and r.first_seq < end_rank and r.first_seq >= (
                                select s.first_seq from %1$s_run s where s.owner = of_owner and s.first_seq <= first_rank
                                order by s.first_seq desc limit 1
                            )
                        ) entry where entry.seq >= first_rank and entry.seq < end_rank
                    );
                end if;
                select first_seq + coalesce(cardinality(rest), 0) into last_seq
                from %1$s_run where owner = of_owner order by first_seq desc limit 1;
                while wanted < end_rank and low <= last_seq loop
                    run := null;
                    if wanted > first_rank then
                        select * into probe from %1$s_run where owner = of_owner and first_seq = low;
                        if run_before(probe.first_seq, probe.sent_before, probe.received_before, mask) <= wanted
                            and run_before(probe.first_seq, probe.sent_before, probe.received_before, mask)
                                + run_count_below(probe.first, probe.rest, mask, 9223372036854775807) > wanted then
                            run := probe;
                        end if;
                    end if;
                    if run.owner is null then
                        left_end := low;
                        right_end := last_seq;
                        while left_end <= right_end loop
                            select * into probe from %1$s_run
                            where owner = of_owner and first_seq <= (left_end + right_end) / 2
                            order by first_seq desc limit 1;
                            if run_before(probe.first_seq, probe.sent_before, probe.received_before, mask) <= wanted then
                                run := probe;
                                left_end := probe.first_seq + 1 + coalesce(cardinality(probe.rest), 0);
                            else
                                right_end := probe.first_seq - 1;
                            end if;
                        end loop;
                    end if;
                    if run.owner is null then
                        return ids;
                    end if;
                    before := run_before(run.first_seq, run.sent_before, run.received_before, mask);
                    held := run_count_below(run.first, run.rest, mask, 9223372036854775807);
                    ids := ids || array(
                        select ((run.first & -4) + e.value) >> 2
                        from unnest(array_prepend((run.first & 3)::int4, run.rest)) with ordinality e(value, n)
                        where e.value & mask = mask
                        order by e.n offset wanted - before limit end_rank - wanted
                    );
                    wanted := before + held;
                    low := run.first_seq + 1 + coalesce(cardinality(run.rest), 0);
                end loop;
                return ids;
            end
            $f$
        $sql$, list);

        -- A page of the entries with all roles of the mask whose id is in a span.
        execute format($sql$
            create function %1$s_page(
                of_owner int8, mask int4, low_id int8, high_id int8, skipped int8, wanted int8, newest_first boolean
            ) returns list_page
            language plpgsql stable parallel safe as $f$
            declare
                page list_page;
                low int8;
                start int8;
                stop int8;
            begin
                if low_id >= high_id then
                    return row(0, '{}'::int8[])::list_page;
                end if;
                low := %1$s_rank(of_owner, mask, low_id);
                page.total := %1$s_rank(of_owner, mask, high_id) - low;
                start := least(skipped, page.total);
                stop := start + least(wanted, page.total - start);
                if newest_first then
                    page.ids := array(
                        select e.id from unnest(%1$s_slice(
                            of_owner, mask, low + page.total - stop, low + page.total - start
                        )) with ordinality e(id, n) order by e.n desc
                    );
                else
                    page.ids := %1$s_slice(of_owner, mask, low + start, low + stop);
                end if;
                return page;
            end
            $f$
        $sql$, list);

        -- All ids with all roles of the mask, in ascending order.
        execute format($sql$
            create function %1$s_ids(of_owner int8, mask int4, low_id int8, high_id int8) returns int8[]
            language sql stable parallel safe as $f$
                select coalesce(array_agg(entry.id order by entry.id), '{}') from (
                    select ((r.first & -4) + e.value) >> 2 as id
                    from %1$s_run r
                    cross join lateral unnest(array_prepend((r.first & 3)::int4, r.rest)) e(value)
                    where r.owner = of_owner and r.first < high_id << 2 and e.value & mask = mask
                ) entry where entry.id >= low_id and entry.id < high_id
            $f$
        $sql$, list);
    end loop;
end
$do$;

-- A page of all ids of a span.
create function span_page(low_id int8, high_id int8, skipped int8, wanted int8, newest_first boolean) returns list_page
language plpgsql immutable parallel safe as $f$
declare
    page list_page;
    start int8;
    stop int8;
begin
    page.total := greatest(high_id - low_id, 0);
    start := least(skipped, page.total);
    stop := start + least(wanted, page.total - start);
    if newest_first then
        page.ids := array(select generate_series(high_id - 1 - start, high_id - stop, -1));
    else
        page.ids := array(select generate_series(low_id + start, low_id + stop - 1));
    end if;
    return page;
end
$f$;

-- The ids assigned in a range of blocks, from low to before high; no row for an empty index.
create function span_of_blocks(from_block int8, to_block int8) returns table (
    low_transaction int8, high_transaction int8, low_transfer int8, high_transfer int8, low_trade int8, high_trade int8
)
language sql stable parallel safe as $$
    select
        case when from_block > c.tip_number then c.transactions else l.transactions end,
        case when to_block >= c.tip_number then c.transactions else coalesce(h.transactions, 0) end,
        case when from_block > c.tip_number then c.transfers else l.transfers end,
        case when to_block >= c.tip_number then c.transfers else coalesce(h.transfers, 0) end,
        case when from_block > c.tip_number then c.trades else l.trades end,
        case when to_block >= c.tip_number then c.trades else coalesce(h.trades, 0) end
    from chain c
    left join block l on l.number = greatest(from_block, c.first_block)
    left join block h on h.number = to_block + 1
    where c.tip_number is not null
$$;

-- Sorted sets in which the n-th member is found without a scan: members are counted in buckets, each from its lower bound
-- to the next one.
create table rank_member (
    kind int2 not null,
    owner int8 not null,
    sort numeric not null,
    tie bytea not null,
    primary key (kind, owner, sort, tie)
);
create table rank_bucket (
    kind int2 not null,
    owner int8 not null,
    low_sort numeric not null,
    low_tie bytea not null,
    members int8 not null,
    primary key (kind, owner, low_sort, low_tie)
) with (fillfactor = 80);

create function rank_total(of_kind int2, of_owner int8) returns int8 language sql stable parallel safe as $$
    select coalesce(sum(members), 0)::int8 from rank_bucket where kind = of_kind and owner = of_owner
$$;

-- The members on a page of a set, with their position on it. `from_end` starts at the last member.
create function rank_page(of_kind int2, of_owner int8, skipped int8, wanted int8, from_end boolean)
returns table (n int8, sort numeric, tie bytea)
language plpgsql stable parallel safe as $f$
declare
    total int8 := rank_total(of_kind, of_owner);
    start int8 := least(skipped, total);
    stop int8 := start + least(wanted, total - start);
    first int8 := case when from_end then total - stop else start end;
    bucket record;
begin
    if start >= stop then
        return;
    end if;
    select b.low_sort, b.low_tie, b.before into bucket from (
        select r.low_sort, r.low_tie, sum(r.members) over (order by r.low_sort, r.low_tie) - r.members as before
        from rank_bucket r where r.kind = of_kind and r.owner = of_owner
    ) b where b.before <= first order by b.low_sort desc, b.low_tie desc limit 1;
    return query
        select case when from_end then stop - start + 1 - p.n else p.n end, p.sort, p.tie from (
            select row_number() over (order by m.sort, m.tie) as n, m.sort, m.tie from (
                select r.sort, r.tie from rank_member r
                where r.kind = of_kind and r.owner = of_owner and (r.sort, r.tie) >= (bucket.low_sort, bucket.low_tie)
                order by r.sort, r.tie offset first - bucket.before limit stop - start
            ) m
        ) p order by 1;
end
$f$;

-- Removes members (change -1) and inserts others (change 1). Buckets are split when they are full.
create function rank_move(kinds int2[], owners int8[], sorts numeric[], ties bytea[], changes int4[]) returns void
language plpgsql as $f$
declare
    bucket record;
    middle record;
    is_split boolean := true;
begin
    delete from rank_member m
    using unnest(kinds, owners, sorts, ties, changes) as c(kind, owner, sort, tie, change)
    where c.change < 0 and m.kind = c.kind and m.owner = c.owner and m.sort = c.sort and m.tie = c.tie;
    insert into rank_member
    select c.kind, c.owner, c.sort, c.tie
    from unnest(kinds, owners, sorts, ties, changes) as c(kind, owner, sort, tie, change) where c.change > 0;
    insert into rank_bucket
    select distinct c.kind, c.owner, '-Infinity'::numeric, ''::bytea, 0
    from unnest(kinds, owners) as c(kind, owner)
    on conflict do nothing;
    update rank_bucket b set members = b.members + d.change from (
        select c.kind, c.owner, low.low_sort, low.low_tie, sum(c.change) as change
        from unnest(kinds, owners, sorts, ties, changes) as c(kind, owner, sort, tie, change)
        cross join lateral (
            select r.low_sort, r.low_tie from rank_bucket r
            where r.kind = c.kind and r.owner = c.owner and (r.low_sort, r.low_tie) <= (c.sort, c.tie)
            order by r.low_sort desc, r.low_tie desc limit 1
        ) low
        group by 1, 2, 3, 4
    ) d
    where b.kind = d.kind and b.owner = d.owner and b.low_sort = d.low_sort and b.low_tie = d.low_tie and d.change <> 0;
    while is_split loop
        is_split := false;
        for bucket in
            select b.* from (select distinct c.kind, c.owner from unnest(kinds, owners) as c(kind, owner)) t
            join rank_bucket b on b.kind = t.kind and b.owner = t.owner where b.members > 512
        loop
            select m.sort, m.tie into middle from rank_member m
            where m.kind = bucket.kind and m.owner = bucket.owner
                and (m.sort, m.tie) >= (bucket.low_sort, bucket.low_tie)
            order by m.sort, m.tie offset bucket.members / 2 limit 1;
            insert into rank_bucket
            values (bucket.kind, bucket.owner, middle.sort, middle.tie, bucket.members - bucket.members / 2);
            update rank_bucket b set members = bucket.members / 2
            where b.kind = bucket.kind and b.owner = bucket.owner
                and b.low_sort = bucket.low_sort and b.low_tie = bucket.low_tie;
            is_split := true;
        end loop;
    end loop;
    delete from rank_bucket b
    using (select distinct c.kind, c.owner from unnest(kinds, owners) as c(kind, owner)) t
    where b.kind = t.kind and b.owner = t.owner and b.members = 0;
end
$f$;
