-- How far the lists were compacted: runs that begin below this entry, and can no longer be reverted, have been merged.

create table compaction (
    list text primary key,
    below int8 not null
);
