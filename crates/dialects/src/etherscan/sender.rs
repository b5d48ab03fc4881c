use client_address::Client;
use domain::Address;

/// The sender of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sender {
    pub(super) client: Client,
    /// The owner of its API key.
    pub(super) owner: Option<Address>,
}
