//! Whether a connection leads to the database that this process uses. A URL may name several servers, or the wrong one, and what
//! a name stands for may change. A standby, and what it is promoted to, is the same database as its primary; any other one must have the
//! same chain.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use domain::{B256, BlockNumber, BlockRef, ChainIdentity};
use store::StoreError;
use tokio_postgres::{Client, error::SqlState};

use crate::{
    error::store_error,
    rows::{RowExt, int8},
};

/// What this process knows of its database.
#[derive(Debug, Default)]
pub(crate) struct Expected(Mutex<Known>);

#[derive(Debug, Clone, Default)]
struct Known {
    /// None if the server does not tell.
    origin: Option<Origin>,
    /// None before the first block.
    chain: Option<ChainIdentity>,
    /// A block that no reorg reverts.
    block: Option<BlockRef>,
}

/// Which database of which cluster it is. Physical copies have the same one, whatever they contain by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Origin {
    cluster: i64,
    database: i64,
}

impl Expected {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn chain(&self) -> Option<ChainIdentity> {
        self.known().chain
    }

    /// Notes to which database a connection leads.
    pub(crate) async fn note_origin(&self, client: &Client) {
        let origin = find_origin(client).await;
        self.known().origin = origin;
    }

    /// Notes the chain, and a block that no reorg reverts.
    pub(crate) fn note_chain(&self, chain: ChainIdentity, block: Option<BlockRef>) {
        let mut known = self.known();
        (known.chain, known.block) = (Some(chain), block);
    }
}

/// A URL of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Database,
    ReadDatabase,
}

impl Part {
    fn option(self) -> &'static str {
        match self {
            Self::Database => "--database",
            Self::ReadDatabase => "--read-database",
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Self::Database => "let all servers in the URL of --database be copies of one database",
            Self::ReadDatabase => "give a standby of --database with --read-database, or leave it out",
        }
    }
}

/// Refuses connections that lead to another database.
#[derive(Debug)]
pub(crate) struct ConnectionCheck {
    pub(crate) expected: Arc<Expected>,
    part: Part,
    /// For the log.
    servers: String,
    is_reported: AtomicBool,
}

impl ConnectionCheck {
    pub(crate) fn new(expected: Arc<Expected>, part: Part, servers: String) -> Self {
        Self { expected, part, servers, is_reported: AtomicBool::new(false) }
    }

    pub(crate) async fn check(&self, client: &Client) -> Result<(), StoreError> {
        let known = self.expected.known().clone();
        if known.chain.is_none() && self.part == Part::Database {
            return Ok(());
        }
        // The chain of one database may be reset, and a copy may be behind.
        if known.origin.is_some() && find_origin(client).await == known.origin {
            return Ok(());
        }
        let Some(chain) = known.chain else {
            let reason = format!("{} is compared when a chain is indexed", self.part.option());
            return Err(StoreError::Unavailable { reason });
        };
        match find_difference(client, chain, known.block).await? {
            None => {
                self.is_reported.store(false, Ordering::Relaxed);
                Ok(())
            }
            Some(found) => {
                let (option, remedy, servers) = (self.part.option(), self.part.remedy(), &self.servers);
                if !self.is_reported.swap(true, Ordering::Relaxed) {
                    tracing::error!(servers, %found, expected = %chain, "{option} leads to another chain and is not used: {remedy}");
                }
                Err(StoreError::Unavailable {
                    reason: format!("{option} leads to {found} instead of {chain}: {remedy}"),
                })
            }
        }
    }
}

/// None if the server does not tell.
async fn find_origin(client: &Client) -> Option<Origin> {
    let sql = "select c.system_identifier, (select oid::int8 from pg_database where datname = current_database())
        from pg_control_system() c";
    let row = client.query_one(sql, &[]).await.ok()?;
    Some(Origin { cluster: row.value(0).ok()?, database: row.value(1).ok()? })
}

/// What the database has in place of the chain.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum Found {
    #[error("a database without an index")]
    Nothing,
    #[error("{0}")]
    Chain(ChainIdentity),
    #[error("a chain whose block {number} is {found}, not {expected},")]
    Block { number: BlockNumber, expected: B256, found: B256 },
}

async fn find_difference(
    client: &Client,
    chain: ChainIdentity,
    block: Option<BlockRef>,
) -> Result<Option<Found>, StoreError> {
    let sql = "select chain_id, genesis_hash, (select hash from block where number = $1) from chain";
    let row = match client.query_opt(sql, &[&block.map(|block| int8(block.number))]).await {
        Ok(Some(row)) => row,
        Ok(None) => return Ok(Some(Found::Nothing)),
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => return Ok(Some(Found::Nothing)),
        Err(error) => return Err(store_error(error)),
    };
    let Some((chain_id, genesis_hash)) = row.option_u64(0)?.zip(row.option_hash(1)?) else {
        return Ok(Some(Found::Nothing));
    };
    let found = ChainIdentity { chain_id, genesis_hash };
    if found != chain {
        return Ok(Some(Found::Chain(found)));
    }
    // A copy that does not have the block yet says nothing.
    Ok(block.zip(row.option_hash(2)?).and_then(|(block, found)| {
        let BlockRef { number, hash: expected } = block;
        (found != expected).then_some(Found::Block { number, expected, found })
    }))
}
