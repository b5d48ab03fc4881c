-- Metadata of ids of tokens, as the hosts that their contracts name last gave it. Not derived from blocks.
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
