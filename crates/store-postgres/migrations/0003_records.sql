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
    dropped int8 not null default 0
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
