//! One attempt: connect if needed, post, read and evaluate the response.

use std::{sync::Arc, time::Duration};

use domain::{Attempt, AttemptEffect, AttemptOutcome, AttemptReport, ClaimedDelivery, NextStep, UnixMillis};
use egress::{Connection, ConnectionFault, Egress, ReceiverResponse};
use tokio::time::{Instant, timeout};

use super::route::Route;
use crate::{clock, retry, sign};

/// For a whole attempt, including the response body.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);
/// Characters of a reason that are stored: it may list the names of a certificate, which the receiver chose.
const MAX_REASON: usize = 500;

/// Why a message could not be sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendFault {
    #[error(transparent)]
    Connection(#[from] ConnectionFault),
    #[error("no complete response within {} seconds", ATTEMPT_TIMEOUT.as_secs())]
    Timeout,
    #[error("the signing secret cannot be decrypted")]
    Secret,
    #[error("the receiver responded with status {0}")]
    Status(u16),
}

/// A finished attempt.
pub(super) struct Sent {
    pub(super) report: AttemptReport,
    /// Why it failed; the report has only what the owner may know of it.
    pub(super) fault: Option<Arc<SendFault>>,
    /// Reusable for the same route.
    pub(super) connection: Option<(Connection, Arc<Route>)>,
    /// The pause that the receiver requested for the whole endpoint.
    pub(super) pause: Option<Duration>,
}

pub(super) async fn attempt(
    egress: Arc<Egress>,
    route: Result<Arc<Route>, Arc<SendFault>>,
    connection: Option<Connection>,
    delivery: ClaimedDelivery,
    chance: f64,
) -> Sent {
    let (at, started) = (clock::now(), Instant::now());
    let outcome = match route {
        Ok(ref route) => match timeout(ATTEMPT_TIMEOUT, exchange(&egress, route, connection, &delivery, at)).await {
            Ok(Ok((response, connection))) => Ok((response, connection.zip(Some(Arc::clone(route))))),
            Ok(Err(fault)) => Err(Arc::new(fault)),
            Err(_) => Err(Arc::new(SendFault::Timeout)),
        },
        Err(ref fault) => Err(Arc::clone(fault)),
    };
    let millis = u32::try_from(started.elapsed().as_millis()).unwrap_or(u32::MAX);
    match outcome {
        Ok((response, connection)) => {
            let pause = requested_pause(&response, at + u64::from(millis));
            let fault = (!is_success(response.status)).then(|| Arc::new(SendFault::Status(response.status)));
            Sent { report: evaluate(&delivery, at, millis, response, chance), fault, connection, pause }
        }
        Err(fault) => {
            let next = next_step(&delivery, at + u64::from(millis), None, chance);
            let attempt = Attempt { at, millis, outcome: unanswered(&fault) };
            let report = report(&delivery, attempt, AttemptEffect::Failed, next);
            Sent { report, fault: Some(fault), connection: None, pause: None }
        }
    }
}

async fn exchange(
    egress: &Egress,
    route: &Route,
    idle: Option<Connection>,
    delivery: &ClaimedDelivery,
    at: UnixMillis,
) -> Result<(ReceiverResponse, Option<Connection>), SendFault> {
    let headers = sign::headers(delivery, &route.secrets, at);
    if let Some(connection) = idle {
        match connection.post(&route.target, &headers, delivery.body.0.clone()).await {
            // The receiver may close an idle connection at any time: reconnect instead of failing.
            Err(ConnectionFault::Http(error))
                if error.is_canceled() || error.is_closed() || error.is_incomplete_message() => {}
            done => return Ok(done?),
        }
    }
    let connection = egress.connect(&route.target).await?;
    Ok(connection.post(&route.target, &headers, delivery.body.0.clone()).await?)
}

fn unanswered(fault: &SendFault) -> AttemptOutcome {
    AttemptOutcome::Unanswered {
        reason: fault.to_string().chars().take(MAX_REASON).collect(),
        sent: matches!(fault, SendFault::Connection(ConnectionFault::Http(_)) | SendFault::Timeout),
    }
}

fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

/// The pause that a 429 or 503 response requests for the whole endpoint.
fn requested_pause(response: &ReceiverResponse, now: UnixMillis) -> Option<Duration> {
    if !matches!(response.status, 429 | 503) {
        return None;
    }
    retry::retry_after(response.retry_after.as_deref()?, now)
}

fn evaluate(
    delivery: &ClaimedDelivery,
    at: UnixMillis,
    millis: u32,
    response: ReceiverResponse,
    chance: f64,
) -> AttemptReport {
    let now = at + u64::from(millis);
    let (effect, next) = match response.status {
        status if is_success(status) => (AttemptEffect::Succeeded, NextStep::Done),
        status => {
            let requested = response.retry_after.as_deref().and_then(|value| retry::retry_after(value, now));
            let effect = if status == 410 { AttemptEffect::Gone } else { AttemptEffect::Failed };
            (effect, next_step(delivery, now, requested, chance))
        }
    };
    let outcome = AttemptOutcome::Answered { status: response.status, body: response.body };
    report(delivery, Attempt { at, millis, outcome }, effect, next)
}

fn next_step(delivery: &ClaimedDelivery, now: UnixMillis, requested: Option<Duration>, chance: f64) -> NextStep {
    let age = Duration::from_millis(now.saturating_sub(delivery.created_at));
    let next = retry::next_attempt(delivery.attempt_count + 1, age, now, requested, chance);
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

    /// Long after the message was queued, so that the schedule is used up.
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

    fn outcome_of(status: u16, retry_after: Option<&str>, before: u32) -> (AttemptEffect, NextStep) {
        let response = ReceiverResponse { status, retry_after: retry_after.map(str::to_owned), body: String::new() };
        let report = evaluate(&delivery(before), MADE_AT, 500, response, 0.5);
        (report.effect, report.next)
    }

    #[test]
    fn only_2xx_responses_are_a_success() {
        for status in [200, 201, 204, 299] {
            assert_eq!(outcome_of(status, None, 0), (AttemptEffect::Succeeded, NextStep::Done));
        }
        for status in [100, 199, 300, 301, 302, 307, 400, 404, 429, 500, 503] {
            assert_eq!(outcome_of(status, None, 0), (AttemptEffect::Failed, SOON), "{status}");
        }
    }

    #[test]
    fn a_410_response_marks_the_endpoint_as_gone_and_keeps_the_message() {
        assert_eq!(outcome_of(410, None, 0), (AttemptEffect::Gone, SOON));
    }

    #[test]
    fn retry_after_delays_the_retry_and_the_last_attempt_gives_up() {
        assert_eq!(outcome_of(503, Some("120"), 0).1, NextStep::RetryAt(MADE_AT + 120_500));
        assert_eq!(outcome_of(503, Some("soon"), 0).1, SOON);
        assert_eq!(outcome_of(503, Some("1"), 0).1, SOON, "not earlier");
        assert_eq!(outcome_of(500, None, 11).1, NextStep::GiveUp);
    }
}
