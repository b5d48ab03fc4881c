//! Claiming messages.

use domain::{ClaimedDelivery, UnixMillis, WebhookId};
use store::{MAX_WAIT, StoreError};

use super::{
    change::Change,
    rows::{find_webhook, id_from, kind_from},
};
use crate::{
    database::{Connection, find, query},
    rows::{RowExt, clamped, int8, limit},
};

/// An expression: when the next message of a webhook is due, 0 for immediately, null if its queue is empty. Of the messages
/// that are not leased, only the first ones are read.
pub(super) fn due_of(webhook: &str) -> String {
    format!(
        "least(
            (select 0::int8 from delivery where webhook = {webhook} and status = 0 and coalesce(lease_until, 0) = 0
                order by number limit 1),
            (select due from delivery where webhook = {webhook} and status = 1 and coalesce(lease_until, 0) = 0
                order by due limit 1),
            (select min(greatest(lease_until, due)) from delivery
                where webhook = {webhook} and status in (0, 1) and lease_until is not null and lease_until > 0)
        )"
    )
}

/// For any webhook.
pub(super) async fn next_due(client: &dyn Connection, webhook: WebhookId) -> Result<Option<UnixMillis>, StoreError> {
    let sql = format!("select {}", due_of("$1"));
    find(client, &sql, &[&int8(webhook)]).await?.map_or(Ok(None), |row| row.option_u64(0))
}

/// For an active webhook.
pub(super) async fn find_due(client: &dyn Connection, webhook: WebhookId) -> Result<Option<UnixMillis>, StoreError> {
    let sql = format!("select {} from webhook w where w.id = $1 and w.is_active", due_of("$1"));
    find(client, &sql, &[&int8(webhook)]).await?.map_or(Ok(None), |row| row.option_u64(0))
}

pub(super) async fn claim(
    change: &mut Change<'_>,
    webhook: WebhookId,
    count: usize,
    now: UnixMillis,
    lease_until: UnixMillis,
) -> Result<Vec<ClaimedDelivery>, StoreError> {
    if !find_webhook(change.tx, webhook).await?.is_some_and(|webhook| webhook.active) {
        return Ok(Vec::new());
    }
    let dropped = change.log(webhook).await?.dropped;
    // New messages oldest first, and retries by due time; of both, the oldest.
    let sql = "with due as (
            (select number from delivery where webhook = $1 and status = 0 and coalesce(lease_until, 0) <= $3
                order by number limit $2)
            union all
            (select number from delivery where webhook = $1 and status = 1 and coalesce(lease_until, 0) <= $3
                and (due <= $3 or due > $4) order by due, number limit $2)
        ), claimed as (
            update delivery d set lease_until = $5
            where d.webhook = $1 and d.number in (select number from due order by number limit $2)
            returning d.number, d.id, d.kind, d.event, d.created_at, d.attempt_count
        )
        select c.number, c.id, c.kind, e.body, c.created_at, c.attempt_count
        from claimed c join event e on e.number = c.event order by c.number";
    let latest = clamped(now.saturating_add(MAX_WAIT));
    let parameters = [int8(webhook), limit(count), clamped(now), latest, clamped(lease_until)];
    let [webhook_id, count, now, latest, until] = &parameters;
    let mut claimed = Vec::new();
    for row in query(change.tx, sql, &[webhook_id, count, now, latest, until]).await? {
        let attempt_count = u32::try_from(row.u64(5)?);
        claimed.push(ClaimedDelivery {
            webhook,
            number: row.u64(0)?,
            id: id_from(row.value(1)?)?,
            kind: kind_from(row.value(2)?)?,
            body: row.bytes(3)?,
            created_at: row.u64(4)?,
            attempt_count: attempt_count.map_err(|_| StoreError::Corrupt("a count of attempts"))?,
            dropped,
        });
    }
    Ok(claimed)
}
