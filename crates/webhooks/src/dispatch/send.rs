//! One attempt: connect if need be, post, read the answer, judge it.

use std::{sync::Arc, time::Duration};

use domain::{Attempt, AttemptEffect, AttemptOutcome, AttemptReport, ClaimedDelivery, NextStep, UnixMillis};
use tokio::time::Instant;
use tokio::time::timeout;

use super::endpoint::Route;
use crate::{
    clock,
    egress::{Answer, Connection, Egress, SendFault},
    retry, sign,
};

/// For a whole attempt, the answer's body included.
const PATIENCE: Duration = Duration::from_secs(10);

/// An attempt that is over.
pub(super) struct Sent {
    pub(super) report: AttemptReport,
    /// Fit for another message by the same route.
    pub(super) connection: Option<(Connection, Arc<Route>)>,
    /// The receiver asks to be left alone so long.
    pub(super) rest: Option<Duration>,
}

pub(super) async fn attempt(
    egress: Arc<Egress>,
    route: Result<Arc<Route>, Arc<SendFault>>,
    connection: Option<Connection>,
    delivery: ClaimedDelivery,
    chance: f64,
) -> Sent {
    let (at, begun) = (clock::now(), Instant::now());
    let outcome = match route {
        Ok(ref route) => match timeout(PATIENCE, exchange(&egress, route, connection, &delivery, at)).await {
            Ok(Ok((answer, connection))) => Ok((answer, connection.zip(Some(Arc::clone(route))))),
            Ok(Err(fault)) => Err(fault.to_string()),
            Err(_) => Err(SendFault::Timeout.to_string()),
        },
        Err(ref fault) => Err(fault.to_string()),
    };
    let millis = u32::try_from(begun.elapsed().as_millis()).unwrap_or(u32::MAX);
    match outcome {
        Ok((answer, connection)) => {
            let rest = asked_rest(&answer, at + u64::from(millis));
            Sent { report: judge(&delivery, at, millis, answer, chance), connection, rest }
        }
        Err(reason) => {
            let next = next_step(&delivery, at + u64::from(millis), None, chance);
            let attempt = Attempt { at, millis, outcome: AttemptOutcome::Unanswered { reason } };
            let report = report(&delivery, attempt, AttemptEffect::Failed, next);
            Sent { report, connection: None, rest: None }
        }
    }
}

async fn exchange(
    egress: &Egress,
    route: &Route,
    kept: Option<Connection>,
    delivery: &ClaimedDelivery,
    at: UnixMillis,
) -> Result<(Answer, Option<Connection>), SendFault> {
    let headers = sign::headers(delivery, &route.secrets, at);
    if let Some(connection) = kept {
        match connection.post(&route.target, &headers, delivery.body.0.clone()).await {
            // The receiver may have closed it just now, which is its right: that is no failure.
            Err(SendFault::Http(error))
                if error.is_canceled() || error.is_closed() || error.is_incomplete_message() => {}
            done => return done,
        }
    }
    let connection = egress.connect(&route.target).await?;
    connection.post(&route.target, &headers, delivery.body.0.clone()).await
}

/// How long the receiver as a whole wants to be left alone.
fn asked_rest(answer: &Answer, now: UnixMillis) -> Option<Duration> {
    if !matches!(answer.status, 429 | 503) {
        return None;
    }
    retry::retry_after(answer.retry_after.as_deref()?, now)
}

fn judge(delivery: &ClaimedDelivery, at: UnixMillis, millis: u32, answer: Answer, chance: f64) -> AttemptReport {
    let now = at + u64::from(millis);
    let (effect, next) = match answer.status {
        200..300 => (AttemptEffect::Succeeded, NextStep::Done),
        status => {
            let asked = answer.retry_after.as_deref().and_then(|value| retry::retry_after(value, now));
            let effect = if status == 410 { AttemptEffect::Gone } else { AttemptEffect::Failed };
            (effect, next_step(delivery, now, asked, chance))
        }
    };
    let outcome = AttemptOutcome::Answered { status: answer.status, body: answer.body };
    report(delivery, Attempt { at, millis, outcome }, effect, next)
}

fn next_step(delivery: &ClaimedDelivery, now: UnixMillis, asked: Option<Duration>, chance: f64) -> NextStep {
    let age = Duration::from_millis(now.saturating_sub(delivery.created_at));
    let next = retry::next_attempt(delivery.attempt_count + 1, age, now, asked, chance);
    next.map_or(NextStep::GiveUp, NextStep::RetryAt)
}

fn report(delivery: &ClaimedDelivery, attempt: Attempt, effect: AttemptEffect, next: NextStep) -> AttemptReport {
    let ClaimedDelivery { webhook, number, dropped, .. } = *delivery;
    AttemptReport { webhook, number, attempt, effect, next, dropped: dropped.total }
}

#[cfg(test)]
mod tests {
    use domain::{Bytes, DeliveryId, DropCount, EventKind};

    use super::*;

    /// So long after the message was queued that no time is left.
    const MADE_AT: UnixMillis = 300_000_000;
    const SOON: NextStep = NextStep::RetryAt(MADE_AT + 5_500);

    fn delivery(attempt_count: u32) -> ClaimedDelivery {
        ClaimedDelivery {
            webhook: 1,
            number: 2,
            id: DeliveryId::new([0; 16]),
            kind: EventKind::Tx,
            body: Bytes::new(),
            created_at: 0,
            attempt_count,
            dropped: DropCount::default(),
        }
    }

    fn verdict(status: u16, retry_after: Option<&str>, before: u32) -> (AttemptEffect, NextStep) {
        let answer = Answer { status, retry_after: retry_after.map(str::to_owned), body: String::new() };
        let report = judge(&delivery(before), MADE_AT, 500, answer, 0.5);
        (report.effect, report.next)
    }

    #[test]
    fn two_hundreds_are_success_and_nothing_else_is() {
        for status in [200, 201, 204, 299] {
            assert_eq!(verdict(status, None, 0), (AttemptEffect::Succeeded, NextStep::Done));
        }
        for status in [100, 199, 300, 301, 302, 307, 400, 404, 429, 500, 503] {
            assert_eq!(verdict(status, None, 0), (AttemptEffect::Failed, SOON), "{status}");
        }
    }

    #[test]
    fn gone_is_gone_and_the_message_waits() {
        assert_eq!(verdict(410, None, 0), (AttemptEffect::Gone, SOON));
    }

    #[test]
    fn the_receiver_may_name_a_later_time_and_the_last_attempt_is_the_last() {
        assert_eq!(verdict(503, Some("120"), 0).1, NextStep::RetryAt(MADE_AT + 120_500));
        assert_eq!(verdict(503, Some("soon"), 0).1, SOON);
        assert_eq!(verdict(503, Some("1"), 0).1, SOON, "not earlier");
        assert_eq!(verdict(500, None, 11).1, NextStep::GiveUp);
    }
}
