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
