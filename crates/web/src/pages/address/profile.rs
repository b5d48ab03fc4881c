//! What is known about an address, whichever tab is shown.

use domain::{Account, Address, AddressOverview, AddressSummary, B256, Creation, Token};

use super::account::AccountView;
use crate::{
    account::{find_account, find_delegation_start, find_unindexed_account},
    error::PageError,
    state::WebState,
    view::{ImitationBanner, PageNames, counted, sanitize_name, short},
};

pub(super) struct Profile {
    pub(super) address: Address,
    /// None if no indexed block contains the address.
    pub(super) overview: Option<AddressOverview>,
    /// None if the node is unavailable and no account is stored.
    account: Option<Account>,
    pub(super) is_contract: bool,
    /// None if the code is not known: then neither is whether its source is verified.
    pub(super) code_hash: Option<B256>,
    /// The name in the verified source.
    pub(super) verified_name: Option<String>,
    pub(super) imitation: Option<ImitationBanner>,
    pub(super) label: Option<String>,
}

impl Profile {
    pub(super) async fn read(app: &WebState, address: Address) -> Result<Self, PageError> {
        let overview = app.chain.find_address_overview(address, 0).await?;
        let account = match overview {
            Some(_) => find_account(app, address).await,
            None => find_unindexed_account(app, address).await,
        };
        let mut profile = Self {
            address,
            overview,
            account,
            is_contract: false,
            code_hash: None,
            verified_name: None,
            imitation: None,
            label: None,
        };
        profile.read_code(app).await?;
        profile.imitation = profile.find_imitation(app).await?;
        profile.label = profile.choose_label(app);
        Ok(profile)
    }

    async fn read_code(&mut self, app: &WebState) -> Result<(), PageError> {
        (self.is_contract, self.code_hash) = match &self.account {
            Some(account) => (account.code.is_contract(), account.code.hash()),
            // What the index knows: where it has read code, or seen a creation.
            None => {
                let code_hash = app.chain.find_code_hash(self.address).await?;
                (self.creation().is_some() || code_hash.is_some(), code_hash)
            }
        };
        if let Some(hash) = self.code_hash {
            let verified = app.verified.find_verified_summary(self.address, hash).await?;
            self.verified_name = verified.map(|summary| sanitize_name(&summary.name));
        }
        Ok(())
    }

    async fn find_imitation(&self, app: &WebState) -> Result<Option<ImitationBanner>, PageError> {
        let Some(token) = self.token() else { return Ok(None) };
        let own_names = (token.metadata.symbol.as_str(), token.metadata.name.as_str());
        let imitated = app.imitations.find(self.address, own_names.0, own_names.1).await?;
        Ok(imitated.map(|original| ImitationBanner::new(&original, own_names, token.holder_count)))
    }

    /// The operator's label, otherwise the name of the token or of the verified source.
    fn choose_label(&self, app: &WebState) -> Option<String> {
        let label = app.names.label(&self.address).as_deref().map(sanitize_name);
        let token_name =
            || self.token().map(|token| sanitize_name(&token.metadata.name)).filter(|name| !name.is_empty());
        label.or_else(token_name).or_else(|| self.verified_name.clone())
    }

    pub(super) fn summary(&self) -> Option<&AddressSummary> {
        self.overview.as_ref().map(|overview| &overview.summary)
    }

    pub(super) fn creation(&self) -> Option<Creation> {
        self.summary().and_then(|summary| summary.creation)
    }

    /// None if the address is not a token.
    pub(super) fn token(&self) -> Option<&Token> {
        self.overview.as_ref().and_then(|overview| overview.token.as_ref())
    }

    pub(super) fn tx_count(&self) -> u64 {
        self.summary().map_or(0, |summary| summary.tx_count)
    }

    pub(super) fn kind(&self) -> &'static str {
        if self.is_contract { "Contract" } else { "Address" }
    }

    /// Every address has a page, also one that nobody uses.
    pub(super) fn is_used(&self) -> bool {
        self.overview.is_some() || self.is_contract
    }

    pub(super) async fn account_view(&self, app: &WebState, names: &PageNames) -> Option<AccountView> {
        let account = self.account.as_ref()?;
        let delegates_since = find_delegation_start(app, self.address, account).await;
        Some(AccountView::new(account, delegates_since, names))
    }

    pub(super) fn title(&self) -> String {
        let (kind, address) = (self.kind(), short(&self.address.to_checksum(None)));
        match &self.label {
            Some(label) => format!("{kind} {label} {address}"),
            None => format!("{kind} {address}"),
        }
    }

    /// The page in a sentence, for search engines and previews of links.
    pub(super) fn description(&self, account: Option<&AccountView>, names: &PageNames) -> String {
        let label = self.label.as_ref().map(|label| format!(", {label}")).unwrap_or_default();
        let transfer_count = self.overview.as_ref().map_or(0, |overview| overview.transfer_count);
        let balance = account.map(|account| format!(", balance {}", account.balance.shown())).unwrap_or_default();
        format!(
            "{} {} on {}{label}: {} and {}{balance}.",
            self.kind(),
            self.address.to_checksum(None),
            names.chain,
            counted(self.tx_count(), "transaction"),
            counted(transfer_count, "token transfer"),
        )
    }
}
