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

alter table chain add column approvals int8 not null default 0;
-- The total before the block.
alter table block add column approvals int8 not null default 0;

create view approvals as
select p.id, o.address as owner, a.address as token, p.spender, (array['amount', 'id', 'all'])[p.scope + 1] as scope,
    p.token_id, p.value, t.hash as transaction_hash, t.block as block_number
from approval p
join address o on o.id = p.owner
join address a on a.id = p.token
join transaction t on t.id = p.transaction
where p.value > 0;
