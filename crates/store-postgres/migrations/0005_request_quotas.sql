-- Requests of callers in the last seconds, counted over all processes. Nothing here has to survive a crash, which empties
-- unlogged tables.

create unlogged table request_quota (
    caller bytea primary key,
    -- The oldest request that may still count, and the next one.
    first_seq int8 not null,
    next_seq int8 not null,
    used_at timestamptz not null
) with (fillfactor = 50);

create unlogged table quota_request (
    caller bytea not null,
    seq int8 not null,
    at timestamptz not null,
    primary key (caller, seq)
);

-- Counts a request of every caller if each has one left, and returns what is left. The time is the server's, so that the
-- clocks of the processes do not matter. Callers are locked in the given order.
create function take_requests(callers bytea[], limits int8[], period interval, is_counted boolean)
returns table (is_allowed boolean, remaining int8, until_more_micros int8)
language plpgsql as $$
declare
    quota request_quota;
    moment timestamptz;
    -- Of each caller: the oldest request that counts, and the next one.
    oldest_seqs int8[];
    next_seqs int8[];
    allowed boolean := true;
    used int8;
    expires timestamptz;
begin
    if is_counted then
        for i in 1..cardinality(callers) loop
            -- A row that is found here can be deleted before it is locked.
            loop
                perform 1 from request_quota where caller = callers[i] for update;
                exit when found;
                insert into request_quota values (callers[i], 0, 0, clock_timestamp()) on conflict do nothing;
            end loop;
        end loop;
    end if;
    -- After the locks, so that requests are in the order of time.
    moment := clock_timestamp();
    for i in 1..cardinality(callers) loop
        select * into quota from request_quota where caller = callers[i];
        next_seqs[i] := coalesce(quota.next_seq, 0);
        -- A clock that was set back must not lock anybody out.
        oldest_seqs[i] := coalesce((
            select r.seq from quota_request r
            where r.caller = callers[i] and r.seq >= quota.first_seq
                and r.at between moment - period and moment + period
            order by r.seq limit 1
        ), next_seqs[i]);
        allowed := allowed and next_seqs[i] - oldest_seqs[i] < limits[i];
    end loop;
    for i in 1..cardinality(callers) loop
        if allowed and is_counted then
            delete from quota_request r where r.caller = callers[i] and r.seq < oldest_seqs[i];
            insert into quota_request values (callers[i], next_seqs[i], moment);
            next_seqs[i] := next_seqs[i] + 1;
            update request_quota q set first_seq = oldest_seqs[i], next_seq = next_seqs[i], used_at = moment
            where q.caller = callers[i];
        end if;
        used := next_seqs[i] - oldest_seqs[i];
        -- After a limit was lowered, several requests must expire before the next one is allowed.
        select r.at + period into expires from quota_request r
        where r.caller = callers[i] and r.seq = oldest_seqs[i] + greatest(used - limits[i], 0);
        is_allowed := allowed;
        remaining := greatest(limits[i] - used, 0);
        until_more_micros := case
            when used = 0 then 0
            -- Requests at both ends of a period count.
            else greatest(floor(extract(epoch from expires - moment) * 1000000)::int8 + 1, 0)
        end;
        return next;
    end loop;
end
$$;
