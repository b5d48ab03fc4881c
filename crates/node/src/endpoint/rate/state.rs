//! What a rate is learned from, and which request is next. Pure: the time is an argument.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

use crate::endpoint::{failure_share::FailureShare, lane::Lane};

/// Providers state limits per second, so responses are counted over one second.
pub(super) const WINDOW: Duration = Duration::from_secs(1);
/// Share of the rejected rate that is used from then on.
pub(super) const HEADROOM: f64 = 0.95;
/// Minimum time between cuts: requests from before a cut say nothing about the current rate.
pub(super) const BETWEEN_CUTS: Duration = WINDOW;
/// How long the rate stays below the rejected one after a cut.
pub(super) const HOLD: Duration = Duration::from_secs(5);
/// After the hold, growth per second accelerates by this share of the rate ...
pub(super) const GROWTH: f64 = 0.01;
/// ... up to this share.
pub(super) const STEEPEST_GROWTH: f64 = 0.2;
pub(super) const MIN_RATE: f64 = 1.0;
/// Above this rate, the limit is dropped.
pub(super) const MAX_RATE: f64 = 5_000.0;
/// The share of rejections that is no limit: some nodes reject requests now and then.
pub(super) const TOLERATED: f64 = 0.2;
/// The same once a rate was learned: it is exceeded by little at a time.
pub(super) const TOLERATED_AT_RATE: f64 = 0.1;
/// Rejections beyond the tolerated share that make a limit.
pub(super) const MIN_EXCESS: f64 = 4.0;
/// The pause after rejections without any response: it doubles, up to the second value.
pub(super) const FIRST_BACKOFF: Duration = Duration::from_millis(100);
pub(super) const MAX_BACKOFF: Duration = Duration::from_secs(1);
/// Between requests after such a pause, until one is answered.
pub(super) const PROBE_SPACING: Duration = Duration::from_millis(50);
/// How long a lane waits for another one whose turn it is, in case that gives up unnoticed.
pub(super) const TURN: Duration = Duration::from_millis(5);

/// Permission to send a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum RatePermit {
    /// The endpoint had not rejected any.
    Unlimited,
    /// Under the learned rate.
    Throttled,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// Between two calls, by the operator's limit; zero without one.
    pub(super) interval: Duration,
    /// Requests per second; None: no limit of the endpoint is known.
    pub(super) rate: Option<f64>,
    /// When the next request may be sent.
    pub(super) next: Option<Instant>,
    /// By `Retry-After` of the endpoint, or since it answers nothing.
    pub(super) paused_until: Option<Instant>,
    pub(super) responses: VecDeque<Instant>,
    pub(super) rejections: FailureShare,
    /// Requests sent before say nothing about the current rate.
    pub(super) counts_from: Option<Instant>,
    pub(super) last_cut: Option<Instant>,
    /// Until then, the first estimate grows with responses to requests that were in flight when it was made.
    pub(super) estimating_until: Option<Instant>,
    pub(super) last_growth: Option<Instant>,
    /// Whether a request had to wait since the last growth: an unused rate need not grow.
    pub(super) used: bool,
    /// The last pause, while nothing is answered.
    pub(super) backoff: Duration,
    pub(super) lanes: [LaneState; Lane::ALL.len()],
    /// The account of the lane that was served last.
    pub(super) served: f64,
}

#[derive(Debug, Default)]
pub(super) struct LaneState {
    pub(super) is_waiting: bool,
    /// What it was served, divided by its weight (stride scheduling): the lane with the lowest account is next.
    pub(super) account: f64,
}

impl State {
    pub(super) fn is_unlimited(&self) -> bool {
        self.rate.is_none() && self.interval.is_zero() && self.backoff.is_zero()
    }

    #[expect(clippy::indexing_slicing, reason = "there is one for each lane")]
    pub(super) fn lane(&mut self, lane: Lane) -> &mut LaneState {
        &mut self.lanes[lane as usize]
    }

    /// A lane begins to wait. It has no claim to what it did not use before.
    pub(super) fn enter(&mut self, lane: Lane) {
        let served = self.served;
        let state = self.lane(lane);
        *state = LaneState { is_waiting: true, account: state.account.max(served) };
    }

    /// Sends a request of a lane; else when to try again.
    pub(super) fn grant(&mut self, calls: u32, lane: Lane, now: Instant) -> Result<RatePermit, Instant> {
        let learned = self.rate.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(1.0 / rate));
        let limited = self.interval * calls;
        let free = self.next.unwrap_or(now).max(self.paused_until.unwrap_or(now));
        if free > now {
            // A rate that is not what requests wait for need not grow.
            self.used |= learned >= limited;
            return Err(free);
        }
        let account = self.lane(lane).account;
        if self.lanes.iter().any(|other| other.is_waiting && other.account < account) {
            return Err(now + TURN);
        }
        self.served = account;
        self.lane(lane).account = account + f64::from(calls.max(1)) / lane.weight();
        let probing = if self.backoff.is_zero() { Duration::ZERO } else { PROBE_SPACING };
        self.next = Some(now + learned.max(limited).max(probing));
        Ok(if self.rate.is_some() { RatePermit::Throttled } else { RatePermit::Unlimited })
    }

    pub(super) fn answered(&mut self, now: Instant) {
        self.responses.push_back(now);
        self.drop_old_responses(now);
        self.backoff = Duration::ZERO;
        self.not_rejected();
        if let (Some(rate), Some(until)) = (self.rate, self.estimating_until)
            && now < until
        {
            self.rate = Some(rate.max(self.answered_in_window() * HEADROOM));
        }
        self.grow(now);
    }

    pub(super) fn not_rejected(&mut self) {
        self.rejections.succeeded(if self.rate.is_some() { TOLERATED_AT_RATE } else { TOLERATED });
    }

    pub(super) fn answered_in_window(&self) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "the responses of one second")]
        let responses = self.responses.len() as f64;
        responses
    }

    pub(super) fn drop_old_responses(&mut self, now: Instant) {
        while self.responses.front().is_some_and(|then| now.duration_since(*then) >= WINDOW) {
            self.responses.pop_front();
        }
    }

    pub(super) fn grow(&mut self, now: Instant) {
        let (Some(rate), Some(cut)) = (self.rate, self.last_cut) else { return };
        let held = now.duration_since(cut).saturating_sub(HOLD);
        let since = self.last_growth.map_or(held, |last| now.duration_since(last));
        if held.is_zero() || since < WINDOW || !self.used {
            return;
        }
        let rate = rate * (1.0 + (GROWTH * held.as_secs_f64()).min(STEEPEST_GROWTH));
        self.rate = (rate < MAX_RATE).then_some(rate);
        self.last_growth = Some(now);
        self.used = false;
    }

    pub(super) fn refused(&mut self, sent: Instant, pause: Option<Duration>, now: Instant) {
        if self.counts_from.is_some_and(|from| sent < from) {
            return;
        }
        // At a low rate there are few requests to count.
        let enough = if self.backoff.is_zero() {
            self.rate.map_or(MIN_EXCESS, |rate| (rate / 10.0).clamp(1.0, MIN_EXCESS))
        } else {
            1.0
        };
        if !self.rejections.failed(enough) {
            return;
        }
        if let Some(pause) = pause {
            self.pause_until(now + pause);
        }
        self.drop_old_responses(now);
        if self.responses.is_empty() {
            // That nothing is answered says nothing about the rate.
            self.backoff = (self.backoff * 2).clamp(FIRST_BACKOFF, MAX_BACKOFF);
            self.pause_until(now + self.backoff);
            self.counts_from = Some(now);
            return;
        }
        let measured = self.answered_in_window();
        let first = self.rate.is_none();
        let refused_at = self.rate.map_or(measured, |rate| rate.min(measured.max(rate / 2.0)));
        self.rate = Some((refused_at * HEADROOM).max(MIN_RATE));
        self.counts_from = Some(now + BETWEEN_CUTS);
        self.last_cut = Some(now);
        self.last_growth = None;
        if first {
            // The burst has used up the second in which it was sent. A rate-limit error arrives sooner than the responses to the
            // requests sent with it.
            self.pause_until(self.responses.front().map_or(now, |oldest| *oldest) + WINDOW);
            self.estimating_until = Some(now + WINDOW);
        }
    }

    pub(super) fn is_paused(&self, now: Instant) -> bool {
        self.paused_until.is_some_and(|until| until > now)
    }

    pub(super) fn pause_until(&mut self, until: Instant) {
        self.paused_until = Some(self.paused_until.map_or(until, |before| before.max(until)));
    }
}
