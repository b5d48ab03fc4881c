use domain::{Address, PageRequest};

use super::filter::ListFilter;
use crate::{server_address::ServerAddress, state::WebState, view::PageNames};

/// The request for a tab. The file of each tab adds how its content is read.
pub(super) struct TabRequest<'a> {
    pub(super) app: &'a WebState,
    pub(super) address: Address,
    /// None if the filter is invalid, which its form says: then nothing is listed.
    pub(super) filter: Option<ListFilter>,
    /// For the balance: what the user chose, or what is wrong about it; None means the coin.
    pub(super) token: Result<Option<Address>, String>,
    pub(super) page: PageRequest,
    /// Whether transfers that imitate counterparties are listed with the others.
    pub(super) shows_lookalikes: bool,
    /// The address of this server, for commands that are shown.
    pub(super) server: &'a ServerAddress,
    pub(super) names: &'a PageNames,
}
