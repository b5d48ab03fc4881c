-- Totals for figures by day. An index without them is filled again.

alter table chain
    add column total_gas int8 not null default 0,
    add column fees numeric not null default 0,
    add column burnt_fees numeric not null default 0,
    add column contracts int8 not null default 0,
    -- For each day, the addresses that were active on it.
    add column active_addresses int8 not null default 0;
-- The totals before the block.
alter table block
    add column total_gas int8 not null default 0,
    add column fees numeric not null default 0,
    add column burnt_fees numeric not null default 0,
    add column contracts int8 not null default 0,
    add column active_addresses int8 not null default 0;
