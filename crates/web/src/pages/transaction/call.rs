use domain::{Address, Code, Token, Transaction, TransactionDetail};

use super::interfaces::{DecodedCall, TransactionInterfaces};
use crate::{account::find_account, error::PageError, state::WebState, view::method_name};

/// What a transaction calls, as far as it is known.
pub(super) struct CalledFunction {
    /// The name of the called function, or what the transaction is without one.
    pub(super) method: String,
    /// Whether the receiver has no code, so that the input is a message.
    pub(super) is_message: bool,
    pub(super) decoded: Option<DecodedCall>,
    /// The called contract, if it is a token.
    pub(super) token: Option<Token>,
}

impl CalledFunction {
    pub(super) async fn find(
        app: &WebState,
        tx: &Transaction,
        detail: Option<&TransactionDetail>,
        is_message: bool,
        interfaces: &TransactionInterfaces,
    ) -> Result<Self, PageError> {
        if is_message {
            return Ok(Self { method: "message".to_owned(), is_message, decoded: None, token: None });
        }
        let method = tx.to.zip(tx.method).and_then(|(to, selector)| interfaces.function_name(to, selector));
        let decoded = tx.to.zip(detail).and_then(|(to, detail)| interfaces.decode_call(to, &detail.input));
        let token = match tx.to {
            Some(to) if decoded.is_some() => app.chain.find_token(to).await?,
            _ => None,
        };
        Ok(Self { method: method.unwrap_or_else(|| method_name(tx)), is_message, decoded, token })
    }
}

/// Whether the input is not that of a call: the receiver has no code. The node is asked about one of which the index has none,
/// since it may be a contract whose code has not been read, or an account that delegates to one.
pub(super) async fn is_message(app: &WebState, tx: &Transaction) -> Result<bool, PageError> {
    let Some((to, _)) = tx.to.zip(tx.method) else { return Ok(false) };
    if app.chain.find_code_hash(to).await?.is_some() || is_precompile(to) {
        return Ok(false);
    }
    Ok(find_account(app, to).await.is_some_and(|account| account.code == Code::None))
}

/// The addresses at which nodes run code of their own.
fn is_precompile(address: Address) -> bool {
    address.iter().take(18).all(|byte| *byte == 0)
}
