-- Copies of all records to another store, or from one: what this store is in it, as JSON.
create table record_transfer (
    is_only boolean primary key default true check (is_only),
    state bytea not null
);

-- Whether the cursor was copied from another store, and not moved since: the index may not have reached it yet.
alter table webhook_progress add column is_copied boolean not null default false;

-- The first 8 bytes of a hash identify an orphaned block among those with its number, in every store.
update orphaned_block set hash = substr(hash, 1, 8);
