//! Whether a connection leads to the database that this process uses. A URL may name several servers, or the wrong one, and what
//! a name stands for may change. A standby, and what it is promoted to, is the same database as its primary; any other one must have the
//! same chain.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use domain::{B256, BlockNumber, BlockRef, ChainIdentity};
use futures::future::join3;
use store::StoreError;
use tokio_postgres::{Client, error::SqlState};

use crate::{
    error::store_error,
    rows::{RowExt, int8},
};

/// What this process knows of its database.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    known: Mutex<Known>,
    /// The newest [`Position`].
    seen: AtomicU64,
}

/// How far a server is: its timeline, which a promotion raises, and in it the number of the newest commit. Versions of the data have the
/// same form, so that none is used for two states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position(u64);

impl Position {
    pub(crate) const TIMELINE_BIT: u32 = 40;

    pub(crate) fn of_version(version: u64) -> Self {
        Self(version)
    }

    pub(crate) fn timeline(self) -> u64 {
        self.0 >> Self::TIMELINE_BIT
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "timeline {}, commit {}", self.timeline(), self.0 % (1 << Self::TIMELINE_BIT))
    }
}

#[derive(Debug, Clone, Default)]
struct Known {
    /// None if the server does not report it.
    origin: Option<Origin>,
    /// None before the first block.
    chain: Option<ChainIdentity>,
    /// A block that no reorg reverts.
    block: Option<BlockRef>,
}

/// Which database of which cluster it is. Physical copies have the same one, whatever they contain by now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    cluster: i64,
    database: i64,
}

impl Expected {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No server that is behind is used from now on.
    pub(crate) fn note_seen(&self, position: Position) {
        self.seen.fetch_max(position.0, Ordering::AcqRel);
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
    pub(crate) fn option(self) -> &'static str {
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
    pub(crate) part: Part,
    /// For the log.
    servers: String,
    is_reported: AtomicBool,
}

impl ConnectionCheck {
    pub(crate) fn new(expected: Arc<Expected>, part: Part, servers: String) -> Self {
        Self { expected, part, servers, is_reported: AtomicBool::new(false) }
    }

    pub(crate) async fn check(&self, client: &Client) -> Result<Checked, Refusal> {
        let known = self.expected.known().clone();
        // Before the server is asked: it may commit meanwhile.
        let seen = Position(self.expected.seen.load(Ordering::Acquire));
        let (origin, timeline, version) = join3(find_origin(client), find_timeline(client), find_version(client)).await;
        let found = Position(version?.max(timeline.unwrap_or(0) << Position::TIMELINE_BIT));
        self.check_chain(client, &known, origin).await?;
        if self.part == Part::Database && found < seen {
            return Err(Refusal::Behind { found, seen });
        }
        Ok(Checked { position: found, origin })
    }

    async fn check_chain(&self, client: &Client, known: &Known, origin: Option<Origin>) -> Result<(), Refusal> {
        if known.chain.is_none() && self.part == Part::Database {
            return Ok(());
        }
        // The chain of one database may be reset, and a copy may be behind.
        if known.origin.is_some() && origin == known.origin {
            return Ok(());
        }
        let Some(chain) = known.chain else {
            let reason = format!("{} is compared when a chain is indexed", self.part.option());
            return Err(Refusal::Failed(StoreError::Unavailable { reason }));
        };
        match find_difference(client, chain, known.block).await? {
            None => {
                self.is_reported.store(false, Ordering::Relaxed);
                Ok(())
            }
            Some(found) => {
                let (option, remedy, servers) = (self.part.option(), self.part.remedy(), &self.servers);
                if !self.is_reported.swap(true, Ordering::Relaxed) {
                    tracing::error!(servers, %found, expected = %chain, "{option} connects to the database of another chain and is not used: {remedy}");
                }
                Err(Refusal::OtherChain(StoreError::Unavailable {
                    reason: format!("{option} leads to {found} instead of {chain}: {remedy}"),
                }))
            }
        }
    }
}

/// A server that can be used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Checked {
    /// How far it is.
    pub(crate) position: Position,
    /// None if it does not report it.
    pub(crate) origin: Option<Origin>,
}

/// Why a server is not used.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It did not answer, or not yet.
    Failed(StoreError),
    OtherChain(StoreError),
    /// It lacks what this process has seen.
    Behind {
        found: Position,
        seen: Position,
    },
}

impl From<Refusal> for StoreError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Failed(error) | Refusal::OtherChain(error) => error,
            Refusal::Behind { found, seen } => Self::Unavailable { reason: format!("{found} is behind {seen}") },
        }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

/// The timeline in which the server writes, which its session keeps for [`crate::versions::commit`]. None of a standby, and of a server
/// that does not report it.
async fn find_timeline(client: &Client) -> Option<u64> {
    let sql = "select set_config('explorer.timeline', ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int8::text,
            false)
        where not pg_is_in_recovery()";
    let rows = client.query_typed(sql, &[]).await.ok()?;
    rows.first()?.try_get::<_, &str>(0).ok()?.parse().ok()
}

/// 0 before the first migration.
async fn find_version(client: &Client) -> Result<u64, StoreError> {
    match client.query_typed("select number from state_version", &[]).await {
        Ok(rows) => rows.first().map_or(Ok(0), |row| row.u64(0)),
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => Ok(0),
        Err(error) => Err(store_error(error)),
    }
}

/// None if the server does not report it.
async fn find_origin(client: &Client) -> Option<Origin> {
    let sql = "select c.system_identifier, (select oid::int8 from pg_database where datname = current_database())
        from pg_control_system() c";
    let rows = client.query_typed(sql, &[]).await.ok()?;
    let row = rows.first()?;
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
    // A copy that does not have the block yet proves nothing.
    Ok(block.zip(row.option_hash(2)?).and_then(|(block, found)| {
        let BlockRef { number, hash: expected } = block;
        (found != expected).then_some(Found::Block { number, expected, found })
    }))
}
