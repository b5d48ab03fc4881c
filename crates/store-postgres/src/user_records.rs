//! API keys. Changes run one at a time.

pub(crate) mod raw;

use async_trait::async_trait;
use deadpool_postgres::Transaction;
use domain::{Address, ApiKey, ApiKeyId, KeyDigest, KeyUse, NewApiKey};
use store::{ACTIVE_KEYS_PER_OWNER, AddKeyError, LISTED_KEYS, StoreError, UserRecords};
use subtle::ConstantTimeEq;
use tokio_postgres::Row;

use crate::{
    database::{Database, Object, execute, find, get, query},
    error::store_error,
    locks,
    rows::{RowExt, int8, limit},
};

/// The API keys of a database.
#[derive(Debug, Clone)]
pub struct PostgresUserRecords {
    database: Database,
}

const KEY: &str =
    "id, digest, owner, prefix, label, requests_per_minute, total_requests, created_at, last_used_at, is_active";

impl PostgresUserRecords {
    pub(crate) fn new(database: Database) -> Self {
        Self { database }
    }

    async fn connection(&self) -> Result<Object, StoreError> {
        self.database.connection().await
    }

    /// Changes one key, and returns it; None if it is unknown.
    async fn update(&self, id: ApiKeyId, assignment: &str, value: i64) -> Result<Option<ApiKey>, StoreError> {
        let sql = format!("update api_key set {assignment} where id = $1 returning {KEY}");
        let row = find(&self.connection().await?, &sql, &[&int8(id), &value]).await?;
        row.map(|row| key_from_row(&row)).transpose()
    }

    async fn list(&self, sql: &str, parameters: crate::database::Parameters<'_>) -> Result<Vec<ApiKey>, StoreError> {
        let rows = query(&self.connection().await?, sql, parameters).await?;
        rows.iter().map(key_from_row).collect()
    }
}

fn key_from_row(row: &Row) -> Result<ApiKey, StoreError> {
    let digest = <[u8; 32]>::try_from(row.value::<&[u8]>(1)?);
    let requests_per_minute = u32::try_from(row.u64(5)?);
    Ok(ApiKey {
        id: row.u64(0)?,
        digest: KeyDigest::new(digest.map_err(|_| StoreError::Corrupt("a digest without 32 bytes"))?),
        owner: row.address(2)?,
        prefix: row.text(3)?,
        label: row.text(4)?,
        requests_per_minute: requests_per_minute.map_err(|_| StoreError::Corrupt("a rate limit"))?,
        total_requests: row.u64(6)?,
        created_at: row.u64(7)?,
        last_used_at: row.u64(8)?,
        active: row.value(9)?,
    })
}

async fn add_key(tx: &Transaction<'_>, new: NewApiKey) -> Result<ApiKey, AddKeyError> {
    query(tx, "select pg_advisory_xact_lock($1)", &[&locks::KEYS]).await?;
    let owner = new.owner.as_slice();
    if let Some(signed_at) = new.proof {
        let sql = "insert into api_key_proof values ($1, $2) on conflict do nothing";
        if execute(tx, sql, &[&owner, &int8(signed_at)]).await? == 0 {
            return Err(AddKeyError::ProofUsed);
        }
    }
    let active = get(tx, "select count(*) from api_key where owner = $1 and is_active", &[&owner]).await?.u64(0)?;
    if active >= ACTIVE_KEYS_PER_OWNER as u64 {
        return Err(AddKeyError::QuotaReached);
    }
    let sql = format!(
        "insert into api_key ({KEY})
        select coalesce(max(id), 0) + 1, $1::bytea, $2::bytea, $3::bytea, $4::bytea, $5::int8, 0, $6::int8, $6::int8, true
        from api_key returning {KEY}"
    );
    let (digest, limit, at) =
        (new.digest.as_bytes().as_slice(), i64::from(new.requests_per_minute), int8(new.created_at));
    let row = get(tx, &sql, &[&digest, &owner, &new.prefix.as_bytes(), &new.label.as_bytes(), &limit, &at]).await?;
    Ok(key_from_row(&row)?)
}

#[async_trait]
impl UserRecords for PostgresUserRecords {
    async fn add_key(&self, new: NewApiKey) -> Result<ApiKey, AddKeyError> {
        let mut client = self.connection().await?;
        let tx = client.transaction().await.map_err(store_error)?;
        // A rejected key leaves nothing behind: the transaction is rolled back.
        let key = add_key(&tx, new).await?;
        tx.commit().await.map_err(store_error)?;
        Ok(key)
    }

    async fn find_key(&self, id: ApiKeyId) -> Result<Option<ApiKey>, StoreError> {
        let sql = format!("select {KEY} from api_key where id = $1");
        Ok(self.list(&sql, &[&int8(id)]).await?.pop())
    }

    async fn find_key_by_digest(&self, digest: KeyDigest) -> Result<Option<ApiKey>, StoreError> {
        // The index has a hash of the digest. The whole digest is compared here, in constant time.
        let sql = format!("select {KEY} from api_key where digest = $1");
        let found = self.list(&sql, &[&digest.as_bytes().as_slice()]).await?;
        Ok(found.into_iter().find(|key| key.digest.as_bytes().ct_eq(digest.as_bytes()).into()))
    }

    async fn list_keys(&self, owner: Address) -> Result<Vec<ApiKey>, StoreError> {
        let sql = format!(
            "select {KEY} from (
                (select * from api_key where owner = $1 order by id desc limit $2)
                union select * from api_key where owner = $1 and is_active
            ) listed order by id desc"
        );
        self.list(&sql, &[&owner.as_slice(), &limit(LISTED_KEYS)]).await
    }

    async fn list_newest_keys(&self, limit: u32) -> Result<Vec<ApiKey>, StoreError> {
        let sql = format!("select {KEY} from api_key order by id desc limit $1");
        self.list(&sql, &[&i64::from(limit)]).await
    }

    async fn revoke_key(&self, id: ApiKeyId) -> Result<Option<ApiKey>, StoreError> {
        self.update(id, "is_active = is_active and $2::int8 <> 0", 0).await
    }

    async fn set_requests_per_minute(&self, id: ApiKeyId, limit: u32) -> Result<Option<ApiKey>, StoreError> {
        self.update(id, "requests_per_minute = $2", limit.into()).await
    }

    async fn record_key_uses(&self, uses: Vec<KeyUse>) -> Result<(), StoreError> {
        let ids: Vec<i64> = uses.iter().map(|used| int8(used.id)).collect();
        let requests: Vec<i64> = uses.iter().map(|used| int8(used.requests)).collect();
        let times: Vec<i64> = uses.iter().map(|used| int8(used.last_used_at)).collect();
        // Locked in the order of their ids, so that two processes do not wait for each other.
        let sql = "with used as (
                select id, sum(requests)::int8 as requests, max(last_used_at) as last_used_at
                from unnest($1::int8[], $2::int8[], $3::int8[]) as u(id, requests, last_used_at) group by id
            ), locked as (
                select k.id from api_key k join used on used.id = k.id order by k.id for update of k
            )
            update api_key k set total_requests = k.total_requests + used.requests,
                last_used_at = greatest(k.last_used_at, used.last_used_at)
            from used join locked on locked.id = used.id where k.id = used.id";
        execute(&self.connection().await?, sql, &[&ids, &requests, &times]).await?;
        Ok(())
    }
}
