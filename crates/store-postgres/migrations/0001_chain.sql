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
    gas_prices numeric not null default 0
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
    gas_prices numeric not null
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
    succeeded boolean not null,
    method bytea
);
create index transaction_by_hash on transaction using hash (hash);

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
    shortfall numeric
);

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
    is_fetched boolean not null default false,
    name bytea not null default '',
    symbol bytea not null default '',
    decimals int2 not null default 0,
    total_supply numeric not null default 0,
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
