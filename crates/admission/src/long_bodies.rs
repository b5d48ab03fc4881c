//! Long bodies of requests: they take memory until they are parsed, and a processor while they are. Clients of the API, its dialects
//! and the pages share both.

use std::{sync::LazyLock, time::Duration};

use axum::http::{
    HeaderMap,
    header::{CONTENT_LENGTH, TRANSFER_ENCODING},
};
use client_address::Client;
use futures::future::BoxFuture;

use crate::{
    fair_permits::{FairPermits, Permit, PermitBounds, TooManyWaiting},
    fair_slots::{FairSlots, NoSlot, Slot, SlotBounds},
};

/// Longer bodies are long.
pub const SHORT_BODY: usize = 64 << 10;
/// Who sends a body slowly makes room for others.
const READ: SlotBounds = SlotBounds { total: 32, per_client: 4, kept_for: Some(Duration::from_secs(2)) };
const PARSED: PermitBounds = PermitBounds { total: 1, per_client: 1, waiting_per_client: 8, stuck_after: None };

static SLOTS: LazyLock<FairSlots<Client>> = LazyLock::new(|| FairSlots::new(READ));
static PARSING: LazyLock<FairPermits<Client>> = LazyLock::new(|| FairPermits::new(PARSED));

/// Whether the body of a request with these headers may be long.
#[must_use]
pub fn may_be_long(headers: &HeaderMap) -> bool {
    match headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok()) {
        Some(length) => length > SHORT_BODY,
        None => headers.contains_key(TRANSFER_ENCODING),
    }
}

/// A slot for a long body, until it is parsed.
///
/// # Errors
/// If there is none for the client now.
pub fn take_slot(client: Client) -> Result<Slot<Client>, NoSlot> {
    SLOTS.take(client)
}

/// Permission to parse a long body.
///
/// # Errors
/// If too many bodies of the client wait already.
pub fn parsing(client: Client) -> BoxFuture<'static, Result<Permit<Client>, TooManyWaiting>> {
    PARSING.acquire(client)
}
