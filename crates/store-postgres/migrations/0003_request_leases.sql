-- What callers used in the last seconds, counted over all processes, with leases. Logged, so that a standby that is promoted goes on
-- counting.

drop function take_requests(bytea[], int8[], interval, int8);
drop table request_quota, quota_request;

-- What a process may use of a caller's limit without a round trip. It counts as used until it is reported or returned, or until
-- no use of it can count any more.
create type quota_lease as (
    process int8,
    units int8,
    -- Times are those of the server, in microseconds since 1970.
    ends_at int8,
    -- When another process needed it; 0 if none did. From then on the process gets no other one for a while.
    recalled_at int8
);

create table request_quota (
    caller bytea primary key,
    -- When the requests were that may still count, oldest first, each as often as it costs.
    used int8[] not null,
    leases quota_lease[] not null,
    used_at timestamptz not null
) with (fillfactor = 50);

-- Leases that their processes should return at once.
create table recalled_lease (
    process int8 not null,
    caller bytea not null,
    primary key (process, caller)
);

-- Counts a request of every caller, as often as it costs, if each has so much left, and returns what is left; a cost of 0 only
-- looks. Callers are locked in the given order. The leases are of the first caller: how long ago `process` used units of its lease, how
-- many it returns, and how many it wants for `lease_time`. If there is enough only with the leases of other processes, these are
-- recalled, for as long as `patience`: then the request is to be repeated.
create function take_requests(
    callers bytea[], limits int8[], period int8, cost int8,
    process int8, ages int8[], returned int8, wanted int8, lease_time int8, patience int8
) returns table (is_allowed boolean, is_recalled boolean, remaining int8, granted int8, expiries int8[])
language plpgsql as $$
declare
    is_report boolean := cardinality(ages) + returned > 0;
    moment int8;
    quota request_quota;
    lease quota_lease;
    kept quota_lease[];
    quotas request_quota[];
    -- Of each caller: what leases hold, the part of it that can be recalled.
    held int8[];
    recallable int8[];
    allowed boolean := true;
    allowed_after_recall boolean := true;
    is_shared boolean := false;
    was_recalled boolean := false;
    needed int8 := greatest(cost, 1);
    total int8;
    expiring int8[];
begin
    -- The answer does not wait for the disk.
    perform set_config('synchronous_commit', 'off', true);
    if cost > 0 or is_report then
        for i in 1..cardinality(callers) loop
            -- A row that is found here can be deleted before it is locked.
            loop
                perform 1 from request_quota where caller = callers[i] for update;
                exit when found;
                insert into request_quota values (callers[i], '{}', '{}', clock_timestamp()) on conflict do nothing;
            end loop;
        end loop;
    end if;
    -- After the locks, so that requests are in the order of time.
    moment := (extract(epoch from clock_timestamp()) * 1000000)::int8;
    for i in 1..cardinality(callers) loop
        select * into quota from request_quota where caller = callers[i];
        if not found then
            quota := row(callers[i], '{}', '{}', null)::request_quota;
        end if;
        -- Requests at both ends of a period count. A clock that was set back must not lock anybody out.
        quota.used := quota.used[
            width_bucket(moment - period - 1, quota.used) + 1 : width_bucket(moment + period, quota.used)
        ];
        if i = 1 and cardinality(ages) > 0 then
            quota.used := array(
                select at from (
                    select unnest(quota.used) as at
                    union all
                    select moment - age from unnest(ages) age where age <= period
                ) request order by at
            );
        end if;
        kept := '{}';
        held[i] := 0;
        recallable[i] := 0;
        foreach lease in array quota.leases loop
            continue when moment not between lease.ends_at - lease_time - period and lease.ends_at + period;
            if i = 1 and lease.process = take_requests.process then
                lease.units := greatest(lease.units - cardinality(ages) - returned, 0);
                was_recalled := lease.recalled_at > 0;
            elsif i = 1 then
                is_shared := true;
            end if;
            if lease.process <> take_requests.process and lease.ends_at >= moment
                and (lease.recalled_at = 0 or moment - lease.recalled_at < patience) then
                recallable[i] := recallable[i] + lease.units;
            end if;
            held[i] := held[i] + lease.units;
            kept := kept || lease;
        end loop;
        quota.leases := kept;
        quotas[i] := quota;
        total := cardinality(quota.used) + held[i] + needed;
        allowed := allowed and total <= limits[i];
        allowed_after_recall := allowed_after_recall and total - recallable[i] <= limits[i];
    end loop;
    for i in 1..cardinality(callers) loop
        quota := quotas[i];
        granted := 0;
        is_recalled := cost > 0 and not allowed and allowed_after_recall;
        if allowed and cost > 0 then
            quota.used := quota.used || array_fill(
                greatest(moment, quota.used[cardinality(quota.used)]), array[cost::int4]
            );
            if i = 1 and wanted > 0 and not was_recalled then
                granted := limits[i] - cardinality(quota.used) - held[i];
                -- Where processes share a caller, what is left at the end is not leased, so that they seldom recall it.
                granted := greatest(least(wanted, granted - case when is_shared then limits[i] / 10 else 0 end), 0);
            end if;
            if granted > 0 then
                total := 0;
                kept := '{}';
                foreach lease in array quota.leases loop
                    if lease.process = take_requests.process then
                        total := lease.units;
                    else
                        kept := kept || lease;
                    end if;
                end loop;
                quota.leases := kept || row(process, total + granted, moment + lease_time, 0)::quota_lease;
            end if;
        elsif is_recalled then
            insert into recalled_lease
            select l.process, callers[i] from unnest(quota.leases) l
            where l.process <> take_requests.process and l.units > 0 and l.recalled_at = 0 on conflict do nothing;
            quota.leases := array(
                select row(l.process, l.units, l.ends_at, case
                    when l.process <> take_requests.process and l.units > 0 and l.recalled_at = 0 then moment else l.recalled_at
                end)::quota_lease from unnest(quota.leases) l
            );
        end if;
        if allowed and cost > 0 or is_recalled or i = 1 and is_report then
            update request_quota q set used = quota.used, leases = quota.leases, used_at = clock_timestamp()
            where q.caller = callers[i];
        end if;
        is_allowed := allowed;
        if allowed then
            -- What other processes hold may be unused.
            remaining := greatest(limits[i] - cardinality(quota.used), 0);
            expiring := quota.used[1:64];
        else
            total := cardinality(quota.used) + held[i];
            remaining := greatest(limits[i] - total, 0);
            expiring := array(
                select at from (
                    select unnest(quota.used) as at
                    union all
                    select l.ends_at from unnest(quota.leases) l cross join generate_series(1, l.units)
                ) request order by at offset greatest(total + needed - limits[i] - 1, 0) limit 1
            );
        end if;
        expiries := array(select greatest(at + period - moment + 1, 0) from unnest(expiring) at);
        return next;
    end loop;
end
$$;

-- What pages need, so that the rows that they join are looked up one by one.
alter function rank_page rows 25;
alter function log_by_id rows 1;
