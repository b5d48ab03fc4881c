-- Blocks and what follows from them. Transactions, transfers and trades are numbered in chain order, addresses in order of
-- first appearance. Unsigned 64-bit numbers are stored with the same bits as int8.

-- The writer with the newest epoch is the only one that may change the tables of the chain.
create table writer (
    is_only boolean primary key default true check (is_only),
    epoch int8 not null default 0
);
insert into writer default values;

-- How following goes, as the process with the writer last said.
create table indexer (
    is_only boolean primary key default true check (is_only),
    -- By the clock of the server.
    reported_at timestamptz not null,
    -- 0: starting, 1: backfilling, 2: following, 3: waiting, 4: halted.
    phase int2 not null,
    -- Why it waits or was halted.
    reason bytea,
    settled int8,
    -- Milliseconds until the chain counts as stalled.
    quiet_in int8,
    node_head int8,
    node_reachable boolean not null
);

-- Increased by every change that a query may show.
create table state_version (
    is_only boolean primary key default true check (is_only),
    number int8 not null default 0
);
insert into state_version default values;

-- The chain, its tip, and the totals including the tip.
create table chain (
    is_only boolean primary key default true check (is_only),
    chain_id int8,
    genesis_hash bytea,
    start_block int8,
    first_block int8,
    tip_number int8,
    tip_hash bytea,
    -- The lowest block that can be reverted.
    undo_first int8,
    transactions int8 not null default 0,
    transfers int8 not null default 0,
    trades int8 not null default 0,
    addresses int8 not null default 0,
    tokens int8 not null default 0,
    filled_blocks int8 not null default 0,
    untraced_blocks int8 not null default 0,
    gas_prices numeric not null default 0,
    logs int8 not null default 0,
    log_topics int8 not null default 0,
    log_sources int8 not null default 0,
    nfts int8 not null default 0,
    approvals int8 not null default 0,
    total_gas int8 not null default 0,
    fees numeric not null default 0,
    burnt_fees numeric not null default 0,
    contracts int8 not null default 0,
    -- For each day, the addresses that were active on it.
    active_addresses int8 not null default 0,
    -- Transactions without a gas price in the coin, which gas_prices leaves out.
    unpriced_transactions int8 not null default 0,
    -- What the protocol paid.
    credits int8 not null default 0
);
insert into chain default values;

create table block (
    number int8 primary key,
    hash bytea not null,
    parent_hash bytea not null,
    timestamp int8 not null,
    miner int8 not null,
    tx_count int4 not null,
    gas_used int8 not null,
    gas_limit int8 not null,
    base_fee_per_gas numeric,
    size int8 not null,
    -- Totals before the block.
    transactions int8 not null,
    transfers int8 not null,
    trades int8 not null,
    addresses int8 not null,
    tokens int8 not null,
    filled_blocks int8 not null,
    untraced_blocks int8 not null,
    gas_prices numeric not null,
    logs int8 not null default 0,
    log_topics int8 not null default 0,
    log_sources int8 not null default 0,
    nfts int8 not null default 0,
    approvals int8 not null default 0,
    total_gas int8 not null default 0,
    fees numeric not null default 0,
    burnt_fees numeric not null default 0,
    contracts int8 not null default 0,
    active_addresses int8 not null default 0,
    unpriced_transactions int8 not null default 0,
    credits int8 not null default 0
);
create index block_by_hash on block using hash (hash);
create index block_with_transactions on block (number) where tx_count > 0;

create table address (
    id int8 primary key,
    address bytea not null,
    -- The block.
    first_seen int8 not null
);
create unique index address_by_address on address (address);

create table transaction (
    id int8 primary key,
    hash bytea not null,
    block int8 not null,
    sender int8 not null,
    receiver int8,
    created int8,
    value numeric not null,
    nonce int8 not null,
    gas_used int8 not null,
    gas_price numeric not null,
    -- Null if it is not known: receipts before Byzantium do not tell.
    succeeded boolean,
    method bytea,
    -- What it paid beside its gas; null for most.
    blob_fee numeric,
    l1_fee numeric,
    operator_fee numeric,
    -- The token in which it paid; null for the coin, and empty if nobody paid.
    fee_currency bytea,
    gas_limit int8,
    cumulative_gas_used int8,
    -- Call data or creation code; null if it is too long to be kept.
    input bytea
);

-- All that a transaction paid, in the chain's coin.
create function fee(t transaction) returns numeric language sql immutable as $$
    select case when t.fee_currency is null then t.gas_used * t.gas_price
        + coalesce(t.blob_fee, 0) + coalesce(t.l1_fee, 0) + coalesce(t.operator_fee, 0) else 0 end
$$;
create index transaction_by_hash on transaction using hash (hash);
-- The rows of a range of blocks. The tables are in chain order, so such indexes are small.
create index transaction_by_block on transaction using brin (block) with (autosummarize = on);

create table transfer (
    id int8 primary key,
    transaction int8 not null,
    token int8 not null,
    sender int8 not null,
    receiver int8 not null,
    -- 0: fungible, 1: non-fungible, 2: multi-token.
    kind int2 not null,
    log_index int4 not null,
    batch_index int4 not null,
    value numeric not null,
    token_id numeric,
    -- The part of the value that the sender did not have according to earlier transfers.
    shortfall numeric,
    -- The part of the value that the sender did not have of the id of a multi-token.
    nft_shortfall numeric
);
create index transfer_by_transaction on transfer using brin (transaction) with (autosummarize = on);

create table trade (
    id int8 primary key,
    transaction int8 not null,
    pool int8 not null,
    log_index int4 not null,
    -- Whether token0 was sold.
    zero_for_one boolean not null,
    amount_in numeric not null,
    amount_out numeric not null
);
create index trade_by_transaction on trade using brin (transaction) with (autosummarize = on);

-- What the protocol paid to accounts, in chain order.
create table credit (
    id int8 primary key,
    block int8 not null,
    receiver int8 not null,
    amount numeric not null,
    -- 0: a withdrawal, 1: the reward of a block, 2: that of an uncle, 3: coins that a deposit brought, 4: of the first block.
    kind int2 not null,
    -- The index of a withdrawal, the number of an uncle, the position of a deposit in its block.
    number int8,
    -- Of a withdrawal.
    validator int8,
    -- Of an uncle, as the next.
    hash bytea,
    timestamp int8
);

create table pool (
    id int8 primary key,
    style int2 not null,
    factory int8 not null,
    token0 int8 not null,
    token1 int8 not null,
    first_block int8 not null
);
create index pool_by_first_block on pool using brin (first_block);

-- Every creation of a contract; the one of the newest transaction counts.
create table creation (
    created int8 not null,
    transaction int8 not null,
    -- The contract that created it, if it was not the sender of the transaction.
    creator int8,
    primary key (created, transaction)
);
create index creation_by_transaction on creation using brin (transaction);

-- Tokens: counts from transfers, and what was read from their contracts.
create table token (
    id int8 primary key,
    kind int2 not null,
    transfers int8 not null,
    -- Holders according to transfers.
    holders int8 not null,
    -- Transfers with a shortfall.
    overdrafts int8 not null,
    -- What all holders have together according to transfers: ids, of those with owners.
    held numeric not null,
    is_fetched boolean not null default false,
    -- Null if not fetched, or if the contract has none.
    name bytea,
    symbol bytea,
    decimals int2,
    total_supply numeric,
    requested_at int8,
    -- The blocks since which metadata is pending: of a new token, and of a known one.
    new_since int8,
    pending_since int8,
    -- 0: adds up, 1: does not.
    audit int2,
    audit_block int8,
    audit_transfers int8,
    is_audit_due boolean not null default false,
    -- Balances read from the contract, and how many of them are above zero.
    call_fetched int8 not null default 0,
    call_holding int8 not null default 0,
    -- The next holder of a sweep.
    sweep_from int8
) with (fillfactor = 80);
create index token_new on token (id) where new_since is not null;
create index token_pending on token (id) where pending_since is not null;
create index token_audit_due on token (id) where is_audit_due;
create index token_sweep on token (id) where sweep_from is not null;

create table token_name (
    -- Lower case, truncated.
    name bytea not null,
    token int8 not null,
    primary key (name, token)
);
create index token_name_by_token on token_name (token);

create table balance (
    token int8 not null,
    holder int8 not null,
    -- The sum of the transfers.
    amount numeric not null default 0,
    -- The first transfer, and the first block with another event, that touched it.
    first_transfer int8,
    first_touch int8,
    -- As read from the contract.
    call_amount numeric,
    -- As ranked among the holders.
    ranked numeric,
    primary key (token, holder)
) with (fillfactor = 80);

-- Balances to read from contracts.
create table pending_balance (
    token int8 not null,
    holder int8 not null,
    since int8 not null,
    primary key (token, holder)
);

-- Balances whose rank is outdated.
create table unranked_balance (
    token int8 not null,
    holder int8 not null,
    primary key (token, holder)
);

-- Balances that events other than transfers touched in blocks that can be reverted.
create table touched_balance (
    block int8 not null,
    token int8 not null,
    holder int8 not null,
    primary key (block, token, holder)
);

create table code (
    hash bytea primary key,
    code bytea not null
);

-- Addresses whose code was read; null: there was none.
create table address_code (
    address int8 primary key,
    hash bytea
);

create table pending_code (
    address int8 primary key,
    since int8 not null
);

-- Ids of tokens: who holds them, and their transfers. They are numbered in the order of their first transfers. Transfers of
-- another kind than that of their token do not move ids.

create table nft (
    id int8 primary key,
    token int8 not null,
    token_id numeric not null,
    -- The owner of a non-fungible id; null if it was burned, and for ids of a multi-token.
    owner int8
) with (fillfactor = 80);
create unique index nft_by_token on nft (token, token_id);

-- Amounts of the ids of multi-tokens, above zero.
create table nft_balance (
    nft int8 not null,
    holder int8 not null,
    amount numeric not null,
    primary key (nft, holder)
) with (fillfactor = 80);

-- Approvals of tokens, as their last events say. They are numbered in the order in which they were first given.

create table approval (
    id int8 primary key,
    token int8 not null,
    -- 0: an amount, 1: one id of a non-fungible token, 2: all ids.
    scope int2 not null,
    -- Of one id; an id has one approval at a time, whoever owns it.
    token_id numeric,
    owner int8 not null,
    -- Not an id: a spender may be in no transaction.
    spender bytea not null,
    -- 0: revoked.
    value numeric not null,
    -- The transaction of the last event.
    transaction int8 not null
) with (fillfactor = 80);
create unique index approval_by_spender on approval (token, owner, scope, spender) where scope <> 1;
create unique index approval_by_id on approval (token, token_id) where scope = 1;

-- Approvals before blocks that can be reverted and that changed them.
create table approval_undo (
    block int8 not null,
    approval int8 not null,
    owner int8 not null,
    spender bytea not null,
    value numeric not null,
    transaction int8 not null,
    primary key (block, approval)
);

-- Logs in chain order. An emitter with a first topic is a source; topics have ids in order of first appearance.

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

-- Consecutive logs of a transaction in one row.
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
    -- 0: call, 1: create, 2: create2, 3: selfdestruct, 4: transfer, 5: burn. The last two are from logs, without gas.
    kind int2 not null,
    sender int8 not null,
    receiver int8,
    value numeric not null,
    gas int8 not null,
    gas_used int8 not null,
    error bytea
);

-- Accounts, as the node last gave them. Not derived from blocks, as what follows.
create table account (
    address bytea primary key,
    balance numeric not null,
    nonce int8 not null,
    -- 0: no code, 1: contract, 2: delegation.
    code int2 not null,
    -- The hash of the code, or the target of the delegation.
    code_reference bytea,
    block int8 not null
);

-- Why a transaction failed, as the node told.
create table transaction_failure (
    transaction bytea primary key,
    -- The hash of the block that contained the transaction.
    block bytea not null,
    error text not null,
    -- The revert data; null: none.
    data bytea,
    -- 0: from a trace, 1: from the same call on the state before the block.
    source int2 not null
);

-- Metadata of ids of tokens, as the hosts that their contracts name last gave it.
create table nft_metadata (
    token bytea not null,
    token_id numeric not null,
    -- The block at which the contract was asked for the URI.
    block int8 not null,
    block_hash bytea not null,
    -- Unix time in milliseconds.
    fetched_at int8 not null,
    -- Texts are UTF-8 in bytea, since they may contain zeros.
    uri bytea,
    -- Why there is no document; null: there is one.
    failure bytea,
    name bytea,
    description bytea,
    image bytea,
    trait_types bytea[] not null,
    trait_values bytea[] not null,
    primary key (token, token_id)
);

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

-- Makes the table and the functions of a list.
create function create_list(list text) returns void
language plpgsql as $create$
begin
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
end
$create$;

select create_list(list) from unnest(array[
    'address_transaction', 'address_involved', 'address_mined', 'address_transfer', 'token_transfer', 'maker_trade',
    'pool_trade', 'exchange_trade', 'emitter_log', 'source_log', 'topic0_log', 'topic1_log', 'topic2_log', 'topic3_log',
    'token_nft', 'nft_transfer', 'address_withdrawal', 'address_issuance', 'address_uncle',
    'internal_above', 'internal_below'
]) list;

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
    low_transaction int8, high_transaction int8, low_transfer int8, high_transfer int8, low_trade int8, high_trade int8,
    low_log int8, high_log int8, low_credit int8, high_credit int8
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
        case when to_block >= c.tip_number then c.logs else coalesce(h.logs, 0) end,
        case when from_block > c.tip_number then c.credits else l.credits end,
        case when to_block >= c.tip_number then c.credits else coalesce(h.credits, 0) end
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

-- Records that do not follow from the chain: API keys, verified contracts, webhooks. Texts are stored as UTF-8 bytes, since
-- a text value cannot contain the character NUL.

create table api_key (
    id int8 primary key,
    digest bytea not null,
    owner bytea not null,
    prefix bytea not null,
    label bytea not null,
    requests_per_minute int8 not null,
    total_requests int8 not null,
    created_at int8 not null,
    last_used_at int8 not null,
    is_active boolean not null
);
create index api_key_by_digest on api_key using hash (digest);
create index api_key_by_owner on api_key (owner, id);
create index api_key_active on api_key (owner, id) where is_active;

create table api_key_proof (
    owner bytea not null,
    signed_at int8 not null,
    primary key (owner, signed_at)
);

create table verified_code (
    code_hash bytea not null,
    -- Empty if it is valid at every address with this code.
    only_at bytea not null,
    origin bytea not null,
    names_own_address boolean not null,
    -- 1: partial, 2: exact.
    runtime_match int2 not null,
    verified_at int8 not null,
    build bytea not null,
    name bytea not null,
    compiler bytea not null,
    license bytea,
    file bytea not null,
    abi bytea not null,
    settings bytea not null,
    source_paths bytea[] not null,
    source_contents bytea[] not null,
    library_names bytea[] not null,
    library_addresses bytea[] not null,
    metadata bytea not null,
    input_settings bytea not null,
    storage_layout bytea,
    userdoc bytea,
    devdoc bytea,
    creation_code bytea not null,
    link_libraries bytea[] not null,
    link_starts int8[] not null,
    metadata_starts int8[] not null,
    metadata_ends int8[] not null,
    proves_sources boolean not null,
    primary key (code_hash, only_at)
);

create table verified_contract (
    number int8 primary key,
    address bytea not null,
    code_hash bytea not null,
    unique (address, code_hash)
);

create table verified_deployment (
    address bytea not null,
    code_hash bytea not null,
    tx_hash bytea not null,
    block_hash bytea not null,
    build bytea not null,
    -- Null if the creation code does not match.
    proof_kind int2,
    arguments bytea,
    library_names bytea[],
    library_addresses bytea[],
    primary key (address, code_hash)
);

create table verification_job (
    id bytea primary key,
    -- In order of submission.
    number int8 not null unique,
    address bytea not null,
    submitted_at int8 not null,
    -- Null until it ends, as all that follows.
    finished_at int8,
    compilation_millis int8,
    message bytea,
    -- 0: verified, 1: refused, 2: failed.
    verdict int2,
    -- Of a verified contract.
    name bytea,
    runtime_match int2,
    -- 0: unknown, 1: partial, 2: exact, 3: differs.
    creation_check int2,
    -- Why it was refused, or why it failed.
    reason int2,
    -- Of a refused contract.
    creation_match int2
);

create table webhook_progress (
    is_only boolean primary key default true check (is_only),
    -- Of the watch list.
    version int8 not null default 0,
    last_webhook int8 not null default 0,
    last_event int8 not null default 0,
    cursor_number int8,
    cursor_hash bytea,
    -- The first block whose messages have to be retracted.
    retracting_from int8,
    -- Totals over all webhooks.
    webhooks int8 not null default 0,
    pending int8 not null default 0,
    dropped int8 not null default 0,
    -- Whether the cursor was copied from another store, and not moved since: the index may not have reached it yet.
    is_copied boolean not null default false,
    -- The newest block whose internal transactions were matched.
    internal_cursor int8
);
insert into webhook_progress default values;

create table webhook (
    id int8 primary key,
    owner bytea not null,
    url bytea not null,
    watched bytea not null,
    events int2 not null,
    is_active boolean not null,
    created_at int8 not null,
    after_number int8,
    after_hash bytea,
    secret bytea not null,
    retired_secrets bytea[] not null,
    retired_until int8[] not null,
    last_triggered_at int8,
    fail_count int8 not null,
    failing_since int8,
    is_proven boolean not null
);
create index webhook_by_owner on webhook (owner, id);
create index webhook_by_watched on webhook (watched, id);

-- Webhooks that their owners changed, or queued a message for. The process that sends may be another one.
create sequence webhook_change_number;
create table webhook_change (
    webhook int8 primary key,
    number int8 not null
);
create index webhook_change_by_number on webhook_change (number);

-- The messages of a webhook have numbers from `first` to before `next`. It outlives its webhook until they are deleted.
create table delivery_log (
    webhook int8 primary key,
    first int8 not null,
    next int8 not null,
    pending int8 not null,
    dropped int8 not null,
    reported int8 not null,
    -- Whether the webhook was deleted.
    is_orphaned boolean not null default false
);

create table event (
    number int8 primary key,
    block_number int8,
    block_hash bytea,
    tx_hash bytea,
    body bytea not null,
    -- Messages that use it.
    uses int8 not null
);

create table delivery (
    webhook int8 not null,
    number int8 not null,
    id bytea not null,
    kind int2 not null,
    event int8 not null,
    created_at int8 not null,
    -- 0: pending and never sent, 1: pending at a time, 2: delivered, 3: failed, 4: cancelled.
    status int2 not null,
    due int8,
    is_retracted boolean not null,
    -- Set from a claim until its report or release; in the past if the lease has ended.
    lease_until int8,
    attempt_count int8 not null,
    attempt_at int8[] not null,
    attempt_millis int8[] not null,
    -- Null without a response.
    attempt_status int4[] not null,
    attempt_sent boolean[] not null,
    -- The start of the response, or why there is none.
    attempt_text bytea[] not null,
    primary key (webhook, number)
) with (fillfactor = 80);
-- Of several messages with one id, the newest counts.
create index delivery_by_id on delivery (webhook, id, number);
create index delivery_fresh on delivery (webhook, number) where status = 0;
create index delivery_retry on delivery (webhook, due, number) where status = 1;
create index delivery_leased on delivery (webhook, number) where lease_until is not null;

create table matched_block (
    number int8 primary key,
    hash bytea not null,
    known_to int8 not null
);

create table orphaned_block (
    number int8 not null,
    -- The first 8 bytes, which identify it among the blocks with its number, in every store.
    hash bytea not null,
    times int8 not null,
    known_to int8 not null,
    primary key (number, hash)
);

-- Messages to retract if a block is orphaned.
create table delivery_of_block (
    block int8 not null,
    webhook int8 not null,
    number int8 not null,
    primary key (block, webhook, number)
);

-- The import whose records these are, as JSON; none if they were changed since.
create table record_import (
    is_only boolean primary key default true check (is_only),
    state bytea not null
);

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

-- Counts a request of every caller, as often as it costs, if each has so much left, and returns what is left; a cost of 0 only
-- looks. The time is the server's, so that the clocks of the processes do not matter. Callers are locked in the given order.
create function take_requests(callers bytea[], limits int8[], period interval, cost int8)
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
    if cost > 0 then
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
        allowed := allowed and next_seqs[i] - oldest_seqs[i] + greatest(cost, 1) <= limits[i];
    end loop;
    for i in 1..cardinality(callers) loop
        if allowed and cost > 0 then
            delete from quota_request r where r.caller = callers[i] and r.seq < oldest_seqs[i];
            insert into quota_request select callers[i], seq, moment
            from generate_series(next_seqs[i], next_seqs[i] + cost - 1) seq;
            next_seqs[i] := next_seqs[i] + cost;
            update request_quota q set first_seq = oldest_seqs[i], next_seq = next_seqs[i], used_at = moment
            where q.caller = callers[i];
        end if;
        used := next_seqs[i] - oldest_seqs[i];
        -- For a dear request, and after a limit was lowered, several must expire before it is allowed.
        select r.at + period into expires from quota_request r
        where r.caller = callers[i] and r.seq = oldest_seqs[i]
            + greatest(used + case when allowed then 1 else greatest(cost, 1) end - limits[i] - 1, 0);
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

-- Verification jobs that a process runs now. Its renewals are lost with the server, and then repeated.

create unlogged table running_verification (
    job bytea primary key,
    -- A hash of what is verified; null if the job waits for an equal one.
    request bytea unique,
    expires_at timestamptz not null
);

-- When the holder of a lock last showed that it runs. A process that stands still keeps its connection, and so its lock.

create unlogged table heartbeat (
    lock int8 primary key,
    beaten_at timestamptz not null
);

-- Several processes send webhooks. Each queue belongs to one of them at a time, which alone claims its messages.

create table sender (
    -- Random, one for each process.
    token int8 primary key,
    beaten_at timestamptz not null
);

create table queue_owner (
    webhook int8 primary key,
    -- The token of the sender. If it has not beaten for a while, another one may take the queue.
    owner int8 not null
);

create index queue_owner_by_owner on queue_owner (owner);

-- How far the lists were compacted: runs that begin below this entry, and can no longer be reverted, have been merged.

create table compaction (
    list text primary key,
    below int8 not null
);

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
    t.succeeded, t.method, fee(t) as fee
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

create view nfts as
select n.id, a.address as token, n.token_id, o.address as owner
from nft n
join address a on a.id = n.token
left join address o on o.id = n.owner;

create view nft_holders as
select a.address as token, n.token_id, h.address as holder, coalesce(b.amount, 1) as amount
from nft n
left join nft_balance b on b.nft = n.id
join address a on a.id = n.token
join address h on h.id = coalesce(b.holder, n.owner);

create view approvals as
select p.id, o.address as owner, a.address as token, p.spender, (array['amount', 'id', 'all'])[p.scope + 1] as scope,
    p.token_id, p.value, t.hash as transaction_hash, t.block as block_number
from approval p
join address o on o.id = p.owner
join address a on a.id = p.token
join transaction t on t.id = p.transaction
where p.value > 0;

create view internal_transactions as
select x.id, t.hash as transaction_hash, t.block as block_number, x.position, to_timestamp(b.timestamp) as time,
    (array['call', 'create', 'create2', 'selfdestruct', 'transfer', 'burn'])[x.kind + 1] as type, s.address as "from",
    r.address as "to", x.value, case when x.kind < 4 then x.gas end as gas, case when x.kind < 4 then x.gas_used end as gas_used,
    plain_text(x.error) as error
from internal_transaction x
join transaction t on t.id = x.transaction
join block b on b.number = t.block
join internal_party s on s.id = x.sender
left join internal_party r on r.id = x.receiver;
