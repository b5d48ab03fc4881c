use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use domain::{Address, AuditResult};
use store::{IndexWriter, StoreError};
use tracing::info;

/// What the operator asks of the follower, which has the only writer.
#[derive(Debug, Default)]
pub struct OperatorRequests {
    /// Tokens whose balances events do not give.
    tokens: Mutex<BTreeSet<Address>>,
}

impl OperatorRequests {
    /// Balances of the token are read from its contract from now on, as if an audit had failed.
    pub fn read_balances_from_contract(&self, token: Address) {
        self.tokens().insert(token);
    }

    fn tokens(&self) -> MutexGuard<'_, BTreeSet<Address>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn carry_out(&self, writer: &mut dyn IndexWriter) -> Result<(), StoreError> {
        let tokens = std::mem::take(&mut *self.tokens());
        if tokens.is_empty() {
            return Ok(());
        }
        let Some(tip) = writer.tip().await? else { return Ok(()) };
        for token in &tokens {
            info!(%token, block = tip.number, "reading balances of a token from its contract from now on, as the operator asked");
        }
        let verdicts = tokens.into_iter().map(|token| (token, AuditResult::DoesNotAddUp)).collect();
        writer.save_audits(verdicts, tip.number).await
    }
}
