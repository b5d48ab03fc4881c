use domain::{Address, Transaction};
use futures::future::try_join_all;
use store::StoreError;

use crate::{state::WebState, view::Methods};

/// Contracts of a page whose implementations are looked up, which may need calls of the node.
const MAX_PROXIES: usize = 10;

/// Looks up the contracts that these transactions call, each once. Those that do not have the called function themselves may
/// be proxies of others that do.
pub(crate) async fn methods_of(app: &WebState, transactions: &[Transaction]) -> Result<Methods, StoreError> {
    let mut methods = Methods::default();
    let verifications = app.interfaces.count_verifications().await?;
    if verifications == 0 {
        return Ok(methods);
    }
    for contract in called(transactions.iter()) {
        if let Some(interface) = app.interfaces.own(contract, verifications, &app.node_calls).await? {
            methods.insert(contract, vec![interface]);
        }
    }
    let unknown = called(transactions.iter().filter(|tx| !methods.knows(tx))).into_iter().take(MAX_PROXIES);
    let look_up = async |contract| Ok::<_, StoreError>((contract, app.interfaces.of(contract, &app.node_calls).await?));
    for (contract, interfaces) in try_join_all(unknown.map(look_up)).await? {
        methods.insert(contract, interfaces);
    }
    Ok(methods)
}

fn called<'a>(transactions: impl Iterator<Item = &'a Transaction>) -> Vec<Address> {
    let mut called: Vec<Address> = transactions.filter(|tx| tx.method.is_some()).filter_map(|tx| tx.to).collect();
    called.sort_unstable();
    called.dedup();
    called
}
