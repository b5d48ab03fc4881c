//! Verified contracts. Changes run one at a time, and not while the writer changes the code at addresses.

mod jobs;
pub(crate) mod raw;
mod running;

use std::sync::Arc;

use async_trait::async_trait;
use deadpool_postgres::Transaction;
use domain::{
    Address, Artifacts, B256, Balance, Bytes, CreationId, CreationProof, CreationTemplate, Deployment, JobId,
    LibraryOffset, MatchKind, Order, Page, PageRequest, SourceFile, VerificationJob, VerifiedCode, VerifiedContract,
    VerifiedSummary,
};
pub use running::PostgresJobs;
use store::{Kept, StateVersion, StoreError, VerifiedContracts};
use tokio_postgres::Row;

use crate::{
    database::{Connection, Database, execute, find, get, query, snapshot},
    error::store_error,
    locks,
    ranks::{RankMoves, RankedSet, id_tie},
    read,
    rows::{RowExt, both, clamped, int2, int8, pairs, to_address, to_hash, to_text},
    versions::{self, Versions},
};

/// The verified contracts of a database.
#[derive(Debug, Clone)]
pub struct PostgresVerifiedContracts {
    database: Database,
    versions: Arc<Versions>,
}

impl PostgresVerifiedContracts {
    pub(crate) fn new(database: Database, versions: Arc<Versions>) -> Self {
        Self { database, versions }
    }
}

/// The summary of verified code that applies to an address.
struct Record {
    only_at: Vec<u8>,
    origin: Address,
    runtime_match: MatchKind,
    verified_at: u64,
    build: B256,
    name: String,
    compiler: String,
    license: Option<String>,
}

/// The sources that prove the most of some code at an address.
async fn find_record(client: &dyn Connection, address: Address, code_hash: B256) -> Result<Option<Record>, StoreError> {
    // Of two with equal proof, the one of the address itself.
    let sql = format!(
        "select {RECORD} from verified_code
        where code_hash = $1 and only_at in ('', $2) order by runtime_match desc, length(only_at) desc limit 1"
    );
    let row = find(client, &sql, &[&code_hash.as_slice(), &address.as_slice()]).await?;
    row.map(|row| record_from_row(&row)).transpose()
}

/// The columns of a record.
const RECORD: &str = "only_at, origin, runtime_match, verified_at, build, name, compiler, license";

fn record_from_row(row: &Row) -> Result<Record, StoreError> {
    Ok(Record {
        only_at: row.value(0)?,
        origin: row.address(1)?,
        runtime_match: row.kind(2)?,
        verified_at: row.u64(3)?,
        build: row.hash(4)?,
        name: row.text(5)?,
        compiler: row.text(6)?,
        license: row.option_text(7)?,
    })
}

impl Record {
    /// What was derived about the deployment at an address, if it belongs to the current creation and to this code.
    async fn deployment(
        &self,
        client: &dyn Connection,
        address: Address,
        code_hash: B256,
    ) -> Result<Option<Deployment>, StoreError> {
        let sql = "select tx_hash, block_hash, build, proof_kind, arguments, library_names, library_addresses
            from verified_deployment where address = $1 and code_hash = $2 and build = $3";
        let parameters = [address.as_slice(), code_hash.as_slice(), self.build.as_slice()];
        let row = find(client, sql, &[&parameters[0], &parameters[1], &parameters[2]]).await?;
        let Some(deployment) = row.map(|row| deployment_from_row(&row)).transpose()? else { return Ok(None) };
        let metadata = read::find_address(client, address).await?;
        let creation = metadata.and_then(|metadata| metadata.creation).map(|creation| creation.id());
        Ok((creation == Some(deployment.creation)).then_some(deployment))
    }

    async fn detail(self, client: &dyn Connection, code_hash: B256) -> Result<VerifiedCode, StoreError> {
        let sql = "select names_own_address, file, abi, settings, source_paths, source_contents, library_names,
                library_addresses, metadata, input_settings, storage_layout, userdoc, devdoc, creation_code, link_libraries,
                link_starts, metadata_starts, metadata_ends, proves_sources
            from verified_code where code_hash = $1 and only_at = $2";
        let row = get(client, sql, &[&code_hash.as_slice(), &self.only_at]).await?;
        let sources = pairs(texts(&row, 4)?, texts(&row, 5)?)?;
        let links = pairs(texts(&row, 14)?, positions(&row, 15)?)?;
        let metadata = pairs(positions(&row, 16)?, positions(&row, 17)?)?;
        Ok(VerifiedCode {
            code_hash,
            name: self.name,
            compiler: self.compiler,
            runtime_match: self.runtime_match,
            license: self.license,
            verified_at: self.verified_at,
            names_own_address: row.value(0)?,
            file: row.text(1)?,
            abi: row.text(2)?,
            settings: row.text(3)?,
            sources: sources.map(|(path, content)| SourceFile { path, content }).collect(),
            libraries: libraries(&row, 6)?,
            artifacts: Artifacts {
                metadata: row.text(8)?,
                input_settings: row.text(9)?,
                storage_layout: row.option_text(10)?,
                userdoc: row.option_text(11)?,
                devdoc: row.option_text(12)?,
            },
            creation: CreationTemplate {
                code: row.bytes(13)?,
                links: links.map(|(library, start)| LibraryOffset { library, start }).collect(),
                metadata: metadata.map(|(start, end)| start..end).collect(),
                proves_sources: row.value(18)?,
            },
        })
    }
}

fn texts(row: &Row, column: usize) -> Result<Vec<String>, StoreError> {
    row.value::<Vec<&[u8]>>(column)?.into_iter().map(to_text).collect()
}

fn positions(row: &Row, column: usize) -> Result<Vec<usize>, StoreError> {
    let position = |number| usize::try_from(number).map_err(|_| StoreError::Corrupt("a position in code"));
    row.value::<Vec<i64>>(column)?.into_iter().map(position).collect()
}

/// Names, and in the next column their addresses.
fn libraries(row: &Row, column: usize) -> Result<Vec<(String, Address)>, StoreError> {
    let addresses = row.value::<Vec<&[u8]>>(column + 1)?;
    let pair = |(name, address)| Ok((name, to_address(address)?));
    pairs(texts(row, column)?, addresses)?.map(pair).collect()
}

fn deployment_from_row(row: &Row) -> Result<Deployment, StoreError> {
    let proof = match row.option_kind(3)? {
        None => None,
        Some(kind) => Some(CreationProof {
            kind,
            arguments: Bytes::copy_from_slice(row.value(4)?),
            libraries: libraries(row, 5)?,
        }),
    };
    let creation = CreationId { tx_hash: row.hash(0)?, block_hash: row.hash(1)? };
    Ok(Deployment { creation, build: row.hash(2)?, proof })
}

/// The number of a verified contract; None if this code was not verified at this address.
async fn find_number(client: &dyn Connection, address: Address, code_hash: B256) -> Result<Option<u64>, StoreError> {
    let sql = "select number from verified_contract where address = $1 and code_hash = $2";
    let row = find(client, sql, &[&address.as_slice(), &code_hash.as_slice()]).await?;
    row.map(|row| row.u64(0)).transpose()
}

async fn find_summary(
    client: &dyn Connection,
    address: Address,
    code_hash: B256,
) -> Result<Option<VerifiedSummary>, StoreError> {
    let Some(record) = find_record(client, address, code_hash).await? else { return Ok(None) };
    let deployment = record.deployment(client, address, code_hash).await?;
    let is_verified_here = find_number(client, address, code_hash).await?.is_some();
    Ok(Some(VerifiedSummary {
        address,
        code_hash,
        build: record.build,
        name: record.name,
        compiler: record.compiler,
        runtime_match: record.runtime_match,
        creation_match: deployment.and_then(|deployment| deployment.proof).map(|proof| proof.kind),
        license: record.license,
        verified_at: record.verified_at,
        twin_of: (!is_verified_here).then_some(record.origin),
    }))
}

/// Returns what changed, and whether anything was written.
async fn save_contract(tx: &Transaction<'_>, contract: &VerifiedContract) -> Result<(Kept, bool), StoreError> {
    query(tx, "select pg_advisory_xact_lock($1)", &[&locks::LISTING]).await?;
    let (address, code) = (contract.address, &contract.code);
    let hash = code.code_hash;
    let before = find_record(tx, address, hash).await?;
    let here = Some(address);
    // A copy of code that contains its own address no longer matches its sources.
    let everywhere = here.filter(|_| code.names_own_address);
    let (kept, only_at) = match &before {
        None => (Kept::New, Some(everywhere)),
        Some(before) if code.runtime_match > before.runtime_match => (Kept::Upgraded, Some(everywhere)),
        Some(before) if code.runtime_match == before.runtime_match => {
            let known = before.deployment(tx, address, hash).await?;
            let is_proven = known.is_some_and(|known| known.proof.is_some());
            // At other addresses, the other sources may be the proven ones.
            if contract.creation_match().is_some() && !is_proven {
                (Kept::Upgraded, Some(here))
            } else {
                (Kept::Unchanged, None)
            }
        }
        Some(_) => (Kept::Unchanged, None),
    };
    if let Some(only_at) = only_at {
        put_code(tx, only_at, address, code).await?;
        if let Some(deployment) = &contract.deployment {
            put_deployment(tx, address, hash, deployment).await?;
        }
    }
    let is_new_here = find_number(tx, address, hash).await?.is_none();
    if is_new_here {
        let sql = "insert into verified_contract select coalesce(max(number), 0) + 1, $1::bytea, $2::bytea from verified_contract
            returning number";
        let number = get(tx, sql, &[&address.as_slice(), &hash.as_slice()]).await?.u64(0)?;
        if read::find_code_hash(tx, address).await? == Some(hash) {
            let mut moves = RankMoves::default();
            moves.insert(RankedSet::VerifiedContracts, Balance::ZERO, &id_tie(number));
            moves.write(tx).await?;
        }
    }
    Ok((kept, is_new_here || only_at.is_some()))
}

/// Numbers are not reused: that of a removed contract names an address without such code.
const REMOVED: &str = "decode(repeat('00', 20), 'hex')";

async fn remove(tx: &Transaction<'_>, code_hash: B256) -> Result<u64, StoreError> {
    query(tx, "select pg_advisory_xact_lock($1)", &[&locks::LISTING]).await?;
    let hash = code_hash.as_slice();
    let contracts = query(tx, "select number, address from verified_contract where code_hash = $1", &[&hash]).await?;
    let mut moves = RankMoves::default();
    for row in &contracts {
        if read::find_code_hash(tx, to_address(row.value(1)?)?).await? == Some(code_hash) {
            moves.remove(RankedSet::VerifiedContracts, Balance::ZERO, &id_tie(row.u64(0)?));
        }
    }
    moves.write(tx).await?;
    let number_as_hash = |number: &str| format!("decode(lpad(to_hex({number}), 64, '0'), 'hex')");
    let sql = format!(
        "update verified_contract set address = {REMOVED}, code_hash = {} where code_hash = $1",
        number_as_hash("number")
    );
    query(tx, &sql, &[&hash]).await?;
    query(tx, "delete from verified_deployment where code_hash = $1", &[&hash]).await?;
    query(tx, "delete from verified_code where code_hash = $1", &[&hash]).await?;
    if !contracts.is_empty() {
        let sql = format!(
            "insert into verified_contract select number, {REMOVED}, {} from
                (select max(number) + 1 as number from verified_contract) next",
            number_as_hash("number")
        );
        query(tx, &sql, &[]).await?;
    }
    Ok(contracts.len() as u64)
}

async fn put_code(
    tx: &Transaction<'_>,
    only_at: Option<Address>,
    origin: Address,
    code: &VerifiedCode,
) -> Result<(), StoreError> {
    let VerifiedCode { artifacts, creation, .. } = code;
    let only_at = only_at.map(|address| address.to_vec()).unwrap_or_default();
    let paths: Vec<&[u8]> = code.sources.iter().map(|source| source.path.as_bytes()).collect();
    let contents: Vec<&[u8]> = code.sources.iter().map(|source| source.content.as_bytes()).collect();
    let (names, addresses) = split_libraries(&code.libraries);
    let link_libraries: Vec<&[u8]> = creation.links.iter().map(|link| link.library.as_bytes()).collect();
    let link_starts: Vec<i64> = creation.links.iter().map(|link| int8(link.start as u64)).collect();
    let metadata_starts: Vec<i64> = creation.metadata.iter().map(|region| int8(region.start as u64)).collect();
    let metadata_ends: Vec<i64> = creation.metadata.iter().map(|region| int8(region.end as u64)).collect();
    let delete = "delete from verified_code where code_hash = $1 and only_at = $2";
    execute(tx, delete, &[&code.code_hash.as_slice(), &only_at]).await?;
    let sql =
        "insert into verified_code values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
        $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28)";
    execute(
        tx,
        sql,
        &[
            &code.code_hash.as_slice(),
            &only_at,
            &origin.as_slice(),
            &code.names_own_address,
            &int2(code.runtime_match),
            &int8(code.verified_at),
            &code.build().as_slice(),
            &code.name.as_bytes(),
            &code.compiler.as_bytes(),
            &code.license.as_ref().map(String::as_bytes),
            &code.file.as_bytes(),
            &code.abi.as_bytes(),
            &code.settings.as_bytes(),
            &paths,
            &contents,
            &names,
            &addresses,
            &artifacts.metadata.as_bytes(),
            &artifacts.input_settings.as_bytes(),
            &artifacts.storage_layout.as_ref().map(String::as_bytes),
            &artifacts.userdoc.as_ref().map(String::as_bytes),
            &artifacts.devdoc.as_ref().map(String::as_bytes),
            &creation.code.as_ref(),
            &link_libraries,
            &link_starts,
            &metadata_starts,
            &metadata_ends,
            &creation.proves_sources,
        ],
    )
    .await?;
    Ok(())
}

fn split_libraries(libraries: &[(String, Address)]) -> (Vec<&[u8]>, Vec<&[u8]>) {
    libraries.iter().map(|(name, address)| (name.as_bytes(), address.as_slice())).unzip()
}

async fn put_deployment(
    client: &dyn Connection,
    address: Address,
    code_hash: B256,
    deployment: &Deployment,
) -> Result<(), StoreError> {
    let proof = deployment.proof.as_ref();
    let libraries = proof.map(|proof| split_libraries(&proof.libraries));
    let (names, addresses) = libraries.unzip();
    let sql = "insert into verified_deployment values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        on conflict (address, code_hash) do update set tx_hash = excluded.tx_hash, block_hash = excluded.block_hash,
            build = excluded.build, proof_kind = excluded.proof_kind, arguments = excluded.arguments,
            library_names = excluded.library_names, library_addresses = excluded.library_addresses";
    execute(
        client,
        sql,
        &[
            &address.as_slice(),
            &code_hash.as_slice(),
            &deployment.creation.tx_hash.as_slice(),
            &deployment.creation.block_hash.as_slice(),
            &deployment.build.as_slice(),
            &proof.map(|proof| int2(proof.kind)),
            &proof.map(|proof| proof.arguments.as_ref()),
            &names,
            &addresses,
        ],
    )
    .await?;
    Ok(())
}

#[async_trait]
impl VerifiedContracts for PostgresVerifiedContracts {
    fn state(&self) -> Option<StateVersion> {
        self.versions.now()
    }

    async fn find_verified(&self, address: Address, code_hash: B256) -> Result<Option<VerifiedContract>, StoreError> {
        let mut connection = self.database.connection().await?;
        let client = snapshot(&mut connection).await?;
        let Some(record) = find_record(&client, address, code_hash).await? else { return Ok(None) };
        let is_verified_here = find_number(&client, address, code_hash).await?.is_some();
        let twin_of = (!is_verified_here).then_some(record.origin);
        let deployment = record.deployment(&client, address, code_hash).await?;
        let code = record.detail(&client, code_hash).await?;
        Ok(Some(VerifiedContract { address, twin_of, code, deployment }))
    }

    async fn find_verified_summary(
        &self,
        address: Address,
        code_hash: B256,
    ) -> Result<Option<VerifiedSummary>, StoreError> {
        let mut connection = self.database.connection().await?;
        let client = snapshot(&mut connection).await?;
        find_summary(&client, address, code_hash).await
    }

    async fn list_verified(&self, page: PageRequest) -> Result<Page<VerifiedSummary>, StoreError> {
        const MISSING: StoreError = StoreError::Corrupt("a listed verified contract is missing");
        let mut connection = self.database.connection().await?;
        let client = snapshot(&mut connection).await?;
        let set = RankedSet::VerifiedContracts;
        let from_end = page.order == Order::NewestFirst;
        let sql = "select rank_total($1, $2), r.n, v.address, v.code_hash from (select 1) one
            left join lateral rank_page($1, $2, $3, $4, $5) r on true
            left join verified_contract v on v.number = ('x' || encode(r.tie, 'hex'))::bit(64)::int8 order by r.n";
        let (kind, owner, offset) = (set.kind(), set.owner(), clamped(page.offset));
        let rows = query(&client, sql, &[&kind, &owner, &offset, &i64::from(page.limit), &from_end]).await?;
        let total = rows.first().map_or(Ok(0), |row| row.u64(0))?;
        let mut items = Vec::with_capacity(rows.len());
        for row in &rows {
            // Null if the page is empty.
            if row.value::<Option<i64>>(1)?.is_none() {
                continue;
            }
            let contract = both(row.value::<Option<&[u8]>>(2)?, row.value::<Option<&[u8]>>(3)?)?;
            let (address, hash) = contract.ok_or(MISSING)?;
            items.push(find_summary(&client, to_address(address)?, to_hash(hash)?).await?.ok_or(MISSING)?);
        }
        Ok(Page { items, total })
    }

    async fn count_verifications(&self) -> Result<u64, StoreError> {
        let client = self.database.connection().await?;
        get(&client, "select coalesce(max(number), 0) from verified_contract", &[]).await?.u64(0)
    }

    async fn save_verified(&self, contract: VerifiedContract) -> Result<Kept, StoreError> {
        let mut client = self.database.connection().await?;
        let tx = client.transaction().await.map_err(store_error)?;
        let (kept, is_written) = save_contract(&tx, &contract).await?;
        if is_written {
            versions::commit(tx, &self.versions).await?;
        }
        Ok(kept)
    }

    async fn save_deployment(
        &self,
        address: Address,
        code_hash: B256,
        deployment: Deployment,
    ) -> Result<(), StoreError> {
        let mut client = self.database.connection().await?;
        let tx = client.transaction().await.map_err(store_error)?;
        put_deployment(&tx, address, code_hash, &deployment).await?;
        versions::commit(tx, &self.versions).await
    }

    async fn remove_verified(&self, code_hash: B256) -> Result<u64, StoreError> {
        let mut client = self.database.connection().await?;
        let tx = client.transaction().await.map_err(store_error)?;
        let removed = remove(&tx, code_hash).await?;
        if removed > 0 {
            versions::commit(tx, &self.versions).await?;
        }
        Ok(removed)
    }

    async fn save_job(&self, job: VerificationJob) -> Result<(), StoreError> {
        let mut client = self.database.connection().await?;
        let tx = client.transaction().await.map_err(store_error)?;
        jobs::put(&tx, &job).await?;
        tx.commit().await.map_err(store_error)
    }

    async fn find_job(&self, id: JobId) -> Result<Option<VerificationJob>, StoreError> {
        jobs::find(&self.database.connection().await?, id).await
    }
}
