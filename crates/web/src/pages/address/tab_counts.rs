use domain::{Address, AddressOverview, CreditClass, CreditFilter, InternalFilter, PageRequest};

use crate::{error::PageError, state::WebState, view::grouped};

/// How many entries the lists of an address have, as shown beside the names of the tabs.
pub(super) struct TabCounts {
    pub(super) transfers: String,
    pub(super) trades: String,
    /// `?` without traces: then it is not known.
    pub(super) internal: String,
    pub(super) logs: String,
    pub(super) withdrawals: String,
    pub(super) rewards: String,
}

impl TabCounts {
    /// `overview` is None if no indexed block contains the address.
    pub(super) async fn read(
        app: &WebState,
        address: Address,
        overview: Option<&AddressOverview>,
    ) -> Result<Self, PageError> {
        let count = |of: fn(&AddressOverview) -> u64| grouped(overview.map_or(0, of));
        Ok(Self {
            transfers: count(|overview| overview.transfer_count),
            trades: count(|overview| overview.trade_count),
            internal: internal_count(app, address, overview).await?.map_or_else(|| "?".to_owned(), grouped),
            logs: count(|overview| overview.log_count),
            withdrawals: grouped(credit_count(app, address, CreditClass::Withdrawals).await?),
            rewards: grouped(credit_count(app, address, CreditClass::Issuances).await?),
        })
    }
}

/// None if no block is traced.
async fn internal_count(
    app: &WebState,
    address: Address,
    overview: Option<&AddressOverview>,
) -> Result<Option<u64>, PageError> {
    if let Some(overview) = overview {
        return Ok(overview.traced_range.map(|_| overview.internal_tx_count));
    }
    let filter = InternalFilter::touching(address);
    let found = app.chain.list_internal_transactions(&filter, PageRequest::newest(0)).await?;
    Ok(found.traced_range.map(|_| found.page.total))
}

async fn credit_count(app: &WebState, address: Address, class: CreditClass) -> Result<u64, PageError> {
    Ok(app.chain.list_credits(&CreditFilter::of(address, class), PageRequest::newest(0)).await?.total)
}
