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

alter table chain add column nfts int8 not null default 0;
-- The total before the block.
alter table block add column nfts int8 not null default 0;
-- The part of the value that the sender did not have of the id of a multi-token, according to earlier transfers.
alter table transfer add column nft_shortfall numeric;

select create_lists(array['token_nft', 'nft_transfer'], 'token_transfer');

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
