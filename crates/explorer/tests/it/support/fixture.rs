//! A small chain with one of everything that the API tells apart, and an explorer of it. Tests that only read share it.

use std::{
    io::Write,
    sync::{Arc, LazyLock, Weak},
};

use alloy_primitives::{Address, B256, Bytes, TxKind, U256, hex};
use devchain::TransactionForm;
use tempfile::NamedTempFile;
use tokio::{runtime::Runtime, sync::Mutex};

use super::{DevNode, Launch, TestExplorer};

/// Stores the word it is called with and logs it; reverts without input.
const LOGGER: [u8; 40] = hex!("601c600c600039601c6000f33660095760006000fd5b60003580600055600052602a60206000a100");
const FAILING_CREATION: [u8; 5] = hex!("60006000fd");

/// Payments between the two whose list is longer than a page.
pub(crate) const PAYMENTS: u64 = 130;

#[derive(Debug)]
pub(crate) struct Fixture {
    pub(crate) node: DevNode,
    pub(crate) explorer: TestExplorer,
    /// Pays and creates.
    pub(crate) alice: Address,
    /// Is paid, and has a label.
    pub(crate) bob: Address,
    /// Pays herself once, and does nothing else.
    pub(crate) carol: Address,
    /// Runs the keeper's code.
    pub(crate) dave: Address,
    /// Pays Frank many times.
    pub(crate) erin: Address,
    pub(crate) frank: Address,
    pub(crate) payment: B256,
    pub(crate) creation: B256,
    pub(crate) logger: Address,
    pub(crate) call: B256,
    pub(crate) failed_call: B256,
    pub(crate) failed_creation: B256,
    pub(crate) self_payment: B256,
    /// A contract that nobody ever called.
    pub(crate) idle: Address,
    _labels: NamedTempFile,
}

/// The node lives on a runtime of its own: that of the test which came first ends with it.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
static SHARED: Mutex<Weak<Fixture>> = Mutex::const_new(Weak::new());

impl Fixture {
    /// The stage that stands, or a new one. It goes when the last test that holds it ends.
    pub(crate) async fn shared() -> Arc<Self> {
        let mut shared = SHARED.lock().await;
        if let Some(fixture) = shared.upgrade() {
            return fixture;
        }
        let build = tokio::task::spawn_blocking(|| RUNTIME.block_on(Self::build()));
        let fixture = Arc::new(build.await.unwrap());
        *shared = Arc::downgrade(&fixture);
        fixture
    }

    async fn build() -> Self {
        let node = DevNode::start().await;
        let chain = &node.chain;
        let [alice, bob, carol, dave, erin, frank] = [0, 1, 2, 3, 4, 5].map(|index| node.account(index));
        let pay = |from, to, value: u64| chain.send(from, TxKind::Call(to), U256::from(value), []).unwrap();

        let payment = pay(0, bob, 1_000_000_000_000_000_000);
        chain.mine(None);
        let creation = chain.send(0, TxKind::Create, U256::ZERO, LOGGER).unwrap();
        chain.mine(None);
        let logger = chain.receipt(creation).unwrap().transaction().created.unwrap();
        let call = chain.send(1, TxKind::Call(logger), U256::ZERO, B256::repeat_byte(0xa9)).unwrap();
        let failed_call = chain.draft(0).unwrap().to(logger).gas_limit(100_000).submit().unwrap();
        let failed_creation = chain.draft(0).unwrap().data(FAILING_CREATION).gas_limit(100_000).submit().unwrap();
        let self_payment = pay(2, carol, 5);
        chain.mine(None);
        chain.mine(None);
        let permission = chain.authorize(3, logger).unwrap();
        let delegation = chain.draft(0).unwrap().to(dave).data(Bytes::from(B256::repeat_byte(1)));
        delegation.form(TransactionForm::SetCode(vec![permission])).submit().unwrap();
        let idle = chain.send(0, TxKind::Create, U256::ZERO, LOGGER).unwrap();
        chain.mine(None);
        let idle = chain.receipt(idle).unwrap().transaction().created.unwrap();
        for number in 1..=PAYMENTS {
            pay(4, frank, number);
            if number % 40 == 0 || number == PAYMENTS {
                chain.mine(None);
            }
        }

        let mut labels = NamedTempFile::new().unwrap();
        writeln!(labels, "# names\n{bob},Treasury of Bob").unwrap();
        let explorer = Launch::run(&node.url()).argument("--labels", labels.path().display()).start().await;
        node.wait_for(&explorer).await;
        Self {
            node,
            explorer,
            alice,
            bob,
            carol,
            dave,
            erin,
            frank,
            payment,
            creation,
            logger,
            call,
            failed_call,
            failed_creation,
            self_payment,
            idle,
            _labels: labels,
        }
    }
}

/// An address as the API writes it.
pub(crate) fn lower_hex(address: Address) -> String {
    format!("{address:#x}")
}
