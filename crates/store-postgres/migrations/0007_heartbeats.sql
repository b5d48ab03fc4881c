-- When the holder of a lock last showed that it runs. A process that stands still keeps its connection, and so its lock.

create unlogged table heartbeat (
    lock int8 primary key,
    beaten_at timestamptz not null
);
