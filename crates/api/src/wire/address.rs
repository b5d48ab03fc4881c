use domain::{Account, AddressSummary, Code, Creation, TracedRange};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Address, Coverage, Decimal, Hash, Timestamp, Token, Transaction};

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddressDetail {
    pub address: Address,
    /// In wei, at `balanceBlock`.
    pub balance: Decimal,
    /// From or to the address.
    pub tx_count: u64,
    pub is_contract: bool,
    /// The operator's label, or else the name of the token or of the verified contract, or null.
    #[schema(required = true)]
    pub label: Option<String>,
    /// Null, as `lastSeen`, if no indexed block contains the address.
    #[schema(required = true)]
    pub first_seen: Option<Timestamp>,
    #[schema(required = true)]
    pub last_seen: Option<Timestamp>,
    /// The newest 25.
    pub recent_txs: Vec<Transaction>,
    /// Of tokens, from or to the address.
    pub transfer_count: u64,
    /// That the address made; of a pool, its trades.
    pub trade_count: u64,
    /// From or to the address, since `internalTransactionsFrom`.
    pub internal_tx_count: u64,
    /// The first block from which `internalTxCount` is complete; null without traces.
    #[schema(required = true)]
    pub internal_transactions_from: Option<u64>,
    /// Logs that the address emitted, since `completeFrom` of `/logs`.
    pub log_count: u64,
    pub nonce: u64,
    /// The block of `balance`, `nonce` and `isContract`: the newest indexed one, or an older one while the node is
    /// unavailable.
    pub balance_block: u64,
    /// Null without code.
    #[schema(required = true)]
    pub contract: Option<Contract>,
    /// Whose code runs in place of the account's own (EIP-7702), or null.
    #[schema(required = true)]
    pub delegates_to: Option<Address>,
    /// The block since which it delegates to the same account. Null if it does not, or if nothing tells: the node lacks the state of
    /// old blocks, or the index begins later.
    #[schema(required = true)]
    pub delegates_since: Option<u64>,
    /// Null if the address is no token.
    #[schema(required = true)]
    pub token: Option<Token>,
    #[serde(flatten)]
    pub coverage: Coverage,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Contract {
    /// The account or contract that created it; null if unknown.
    #[schema(required = true)]
    pub creator: Option<Address>,
    /// Null if unknown.
    #[schema(required = true)]
    pub creation_tx_hash: Option<Hash>,
    /// Whether its source code was verified at this address.
    pub verified: bool,
    /// In the verified source code, or null.
    #[schema(required = true)]
    pub name: Option<String>,
    /// Where the same bytecode was verified, if not here; `name` is then from there.
    #[schema(required = true)]
    pub twin_of: Option<Address>,
    /// Keccak-256 of the code.
    pub code_hash: Hash,
}

impl AddressDetail {
    #[must_use]
    pub fn new(
        summary: &AddressSummary,
        account: &Account,
        label: Option<&str>,
        recent: Vec<domain::Transaction>,
        token: Option<Token>,
    ) -> Self {
        let token_name = token.as_ref().map(|token| token.name.as_str()).filter(|name| !name.is_empty());
        let label = label.or(token_name);
        let known = Self::unindexed(summary.address, account, label);
        Self {
            tx_count: summary.tx_count,
            first_seen: Some(Timestamp::from_unix_seconds(summary.first_seen)),
            last_seen: Some(Timestamp::from_unix_seconds(summary.last_seen)),
            recent_txs: recent.into_iter().map(Transaction::from).collect(),
            contract: Contract::of(summary.creation, account.code),
            token,
            ..known
        }
    }

    /// An address that no indexed block contains, but that the node knows.
    #[must_use]
    pub fn unindexed(address: domain::Address, account: &Account, label: Option<&str>) -> Self {
        Self {
            address: address.into(),
            balance: account.balance.into(),
            tx_count: 0,
            is_contract: account.code.is_contract(),
            label: label.map(str::to_owned),
            first_seen: None,
            last_seen: None,
            recent_txs: Vec::new(),
            transfer_count: 0,
            trade_count: 0,
            internal_tx_count: 0,
            internal_transactions_from: None,
            log_count: 0,
            nonce: account.nonce,
            balance_block: account.block,
            contract: Contract::of(None, account.code),
            delegates_to: delegate_of(account.code),
            delegates_since: None,
            token: None,
            coverage: domain::Coverage::default().into(),
        }
    }

    #[must_use]
    pub(crate) fn with_delegation_since(self, delegates_since: Option<u64>) -> Self {
        Self { delegates_since, ..self }
    }

    #[must_use]
    pub(crate) fn with_counts(self, transfer_count: u64, trade_count: u64, log_count: u64) -> Self {
        Self { transfer_count, trade_count, log_count, ..self }
    }

    #[must_use]
    pub(crate) fn with_internal(self, internal_tx_count: u64, traced_range: Option<TracedRange>) -> Self {
        Self { internal_tx_count, internal_transactions_from: traced_range.map(|range| range.from), ..self }
    }

    #[must_use]
    pub(crate) fn with_coverage(self, coverage: domain::Coverage) -> Self {
        Self { coverage: coverage.into(), ..self }
    }
}

/// The verified source of the code at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownSource {
    pub name: String,
    /// Where it was verified, if not at the address itself.
    pub twin_of: Option<domain::Address>,
}

impl AddressDetail {
    /// Adds the name and state of the verified source.
    #[must_use]
    pub(crate) fn with_source(mut self, source: Option<KnownSource>) -> Self {
        if let (Some(contract), Some(source)) = (&mut self.contract, source) {
            contract.verified = source.twin_of.is_none();
            contract.twin_of = source.twin_of.map(Address::from);
            if contract.verified && self.label.is_none() {
                self.label = Some(source.name.clone());
            }
            contract.name = Some(source.name);
        }
        self
    }
}

fn delegate_of(code: Code) -> Option<Address> {
    match code {
        Code::Delegation { target } => Some(target.into()),
        Code::None | Code::Contract { .. } => None,
    }
}

impl Contract {
    fn of(creation: Option<Creation>, code: Code) -> Option<Self> {
        match code {
            Code::Contract { hash } if code.is_contract() => Some(Self {
                creator: creation.map(|creation| creation.creator.into()),
                creation_tx_hash: creation.map(|creation| creation.tx_hash.into()),
                verified: false,
                name: None,
                twin_of: None,
                code_hash: hash.into(),
            }),
            // A hash of no code is no contract.
            Code::None | Code::Contract { .. } | Code::Delegation { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::{Address, B256, TokenPrefix, U256};

    use super::{super::token::tests::coin, *};

    fn summary() -> AddressSummary {
        AddressSummary {
            address: Address::repeat_byte(0xdd),
            tx_count: 1,
            first_seen: 1_794_700_800,
            last_seen: 1_794_787_199,
            creation: None,
        }
    }

    fn account(code: Code) -> Account {
        Account { balance: U256::MAX, nonce: 4, code, block: 17 }
    }

    #[test]
    fn a_contract_has_its_creator() {
        let creation = Creation {
            creator: Address::repeat_byte(1),
            tx_hash: B256::repeat_byte(2),
            block_hash: B256::repeat_byte(4),
        };
        let summary = AddressSummary { creation: Some(creation), ..summary() };
        let account = account(Code::Contract { hash: B256::repeat_byte(3) });
        let recent = vec![domain::Transaction::sample()];
        let mut detail = AddressDetail::new(&summary, &account, Some("Treasury"), recent, None);
        // Lists of transactions have a snapshot of their own.
        assert_eq!(detail.recent_txs.drain(..).count(), 1);
        insta::assert_json_snapshot!(detail);
    }

    #[test]
    fn an_account_that_delegates_has_no_contract() {
        let target = Address::repeat_byte(9);
        let account = account(Code::Delegation { target });
        let detail = AddressDetail::new(&summary(), &account, None, vec![], None);
        insta::assert_json_snapshot!(detail);
    }

    #[test]
    fn the_label_of_a_token_is_its_name_unless_the_operator_sets_one() {
        let detail = |label, name: &str| {
            let mut token = coin();
            token.metadata.name = name.to_owned();
            let account = account(Code::Contract { hash: B256::repeat_byte(3) });
            AddressDetail::new(
                &summary(),
                &account,
                label,
                vec![],
                Some(Token::new(
                    token,
                    TokenPrefix::Bep,
                    domain::Coverage::default(),
                    &enrichment::FoundImitations::default(),
                )),
            )
        };
        assert_eq!(detail(None, "Coin").label.as_deref(), Some("Coin"));
        assert_eq!(detail(Some("Treasury"), "Coin").label.as_deref(), Some("Treasury"));
        assert_eq!(detail(None, "").label, None);
        insta::assert_json_snapshot!(detail(None, "Coin"));
    }

    #[test]
    fn the_label_of_a_verified_contract_is_its_name_but_not_that_of_a_twin() {
        let account = account(Code::Contract { hash: B256::repeat_byte(3) });
        let detail = |label, twin_of| {
            let source = KnownSource { name: "Vault".to_owned(), twin_of };
            AddressDetail::new(&summary(), &account, label, vec![], None).with_source(Some(source))
        };
        let verified = detail(None, None);
        let contract = verified.contract.unwrap();
        assert_eq!((contract.verified, contract.name.as_deref()), (true, Some("Vault")));
        assert_eq!(verified.label.as_deref(), Some("Vault"));
        assert_eq!(detail(Some("Treasury"), None).label.as_deref(), Some("Treasury"));
        let twin = detail(None, Some(Address::repeat_byte(9)));
        let contract = twin.contract.unwrap();
        assert_eq!((contract.verified, contract.name.as_deref(), twin.label), (false, Some("Vault"), None));
        assert!(contract.twin_of.is_some());
    }

    #[test]
    fn a_contract_of_unknown_origin_has_no_creator() {
        let account = account(Code::Contract { hash: B256::repeat_byte(3) });
        let contract = AddressDetail::new(&summary(), &account, None, vec![], None).contract.unwrap();
        assert_eq!((contract.creator, contract.creation_tx_hash), (None, None));
    }
}
