use domain::{Address, Transaction};
use store::StoreError;

use crate::{state::WebState, view::Methods};

impl WebState {
    /// Looks up the contracts that these transactions call, each once, without node calls.
    pub(crate) async fn methods_of(&self, transactions: &[Transaction]) -> Result<Methods, StoreError> {
        let mut methods = Methods::default();
        let verifications = self.interfaces.count_verifications().await?;
        let mut called: Vec<Address> =
            transactions.iter().filter(|tx| tx.method.is_some()).filter_map(|tx| tx.to).collect();
        called.sort_unstable();
        called.dedup();
        for contract in called {
            if let Some(interface) = self.interfaces.own(contract, verifications, &self.node_calls).await? {
                methods.insert(contract, interface);
            }
        }
        Ok(methods)
    }
}
