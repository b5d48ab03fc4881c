-- Whether the index was filled from a chain for development, which may begin anew.
alter table chain add column is_dev_chain boolean not null default false;

-- The chain that the node serves, if it is another one than that of the index.
alter table indexer add column other_chain_id int8;
alter table indexer add column other_genesis_hash bytea;
