//! Verification jobs that run in any process.

use async_trait::async_trait;
use domain::{B256, JobId};
use store::{JOB_LEASE, SharedJobs, StoreError};

use crate::{
    database::{Database, execute, find},
    error::store_error,
    rows::RowExt,
};

/// The running verification jobs of a database.
#[derive(Debug)]
pub struct PostgresJobs {
    database: Database,
}

impl PostgresJobs {
    pub(crate) fn new(database: Database) -> Self {
        Self { database }
    }
}

fn lease_seconds() -> f64 {
    JOB_LEASE.as_secs_f64()
}

#[async_trait]
impl SharedJobs for PostgresJobs {
    async fn begin(&self, id: JobId, request: B256) -> Result<Option<JobId>, StoreError> {
        let mut client = self.database.connection().await?;
        let (id, request) = (id.as_bytes().as_slice(), request.as_slice());
        loop {
            let tx = client.transaction().await.map_err(store_error)?;
            let sql = "delete from running_verification where expires_at < clock_timestamp() or job = $1";
            execute(&tx, sql, &[&id]).await?;
            let sql = "insert into running_verification
                values ($1, $2, clock_timestamp() + $3 * interval '1 second') on conflict (request) do nothing";
            let is_first = execute(&tx, sql, &[&id, &request, &lease_seconds()]).await? == 1;
            let other = if is_first {
                None
            } else {
                let other = find(&tx, "select job from running_verification where request = $1", &[&request]).await?;
                // It may have ended since.
                let Some(row) = other else { continue };
                let sql = "insert into running_verification
                    values ($1, null, clock_timestamp() + $2 * interval '1 second')";
                execute(&tx, sql, &[&id, &lease_seconds()]).await?;
                let other = <[u8; 16]>::try_from(row.value::<&[u8]>(0)?);
                Some(JobId::from_bytes(other.map_err(|_| StoreError::Corrupt("a job id without 16 bytes"))?))
            };
            tx.commit().await.map_err(store_error)?;
            return Ok(other);
        }
    }

    async fn renew(&self, id: JobId) -> Result<(), StoreError> {
        // The row is lost if the server crashed: then another process may verify the same.
        let sql = "insert into running_verification values ($1, null, clock_timestamp() + $2 * interval '1 second')
            on conflict (job) do update set expires_at = excluded.expires_at";
        let client = self.database.connection().await?;
        execute(&client, sql, &[&id.as_bytes().as_slice(), &lease_seconds()]).await?;
        Ok(())
    }

    async fn end(&self, id: JobId) -> Result<(), StoreError> {
        let client = self.database.connection().await?;
        execute(&client, "delete from running_verification where job = $1", &[&id.as_bytes().as_slice()]).await?;
        Ok(())
    }

    async fn is_running(&self, id: JobId) -> Result<bool, StoreError> {
        let sql = "select 1 from running_verification where job = $1 and expires_at >= clock_timestamp()";
        let client = self.database.connection().await?;
        Ok(find(&client, sql, &[&id.as_bytes().as_slice()]).await?.is_some())
    }
}
