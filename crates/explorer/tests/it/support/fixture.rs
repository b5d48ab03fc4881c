//! A small chain with one of each case that the API distinguishes, and an explorer for it. Read-only tests share it.

use std::{
    io::Write,
    sync::{Arc, LazyLock, Weak},
};

use alloy_primitives::{Address, B256, Bytes, TxKind, U256, hex};
use devchain::TransactionType;
use tempfile::NamedTempFile;
use tokio::{runtime::Runtime, sync::Mutex};

use super::{DevNode, Launch, TestExplorer, eventually, permits};

/// Stores and logs the word in its call data; reverts without input.
const LOGGER: [u8; 40] = hex!("601c600c600039601c6000f33660095760006000fd5b60003580600055600052602a60206000a100");
const FAILING_CREATION: [u8; 5] = hex!("60006000fd");

/// Payments from Erin to Frank: more than one page.
pub(crate) const PAYMENTS: u64 = 130;

#[derive(Debug)]
pub(crate) struct Fixture {
    pub(crate) node: DevNode,
    pub(crate) explorer: TestExplorer,
    /// Sends the payment and creates the contracts.
    pub(crate) alice: Address,
    /// Receives the payment, and has a label.
    pub(crate) bob: Address,
    /// Sends one payment to herself and nothing else.
    pub(crate) carol: Address,
    /// Delegates to the logger (EIP-7702).
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
    /// A contract without calls.
    pub(crate) idle: Address,
    _labels: NamedTempFile,
}

/// The node has its own runtime: the runtime of the test that starts it ends with that test.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
static SHARED: Mutex<Weak<Fixture>> = Mutex::const_new(Weak::new());

impl Fixture {
    /// The running fixture, or a new one. It is dropped with the last test that uses it.
    pub(crate) async fn shared() -> Arc<Self> {
        permits::enter();
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
        delegation.tx_type(TransactionType::SetCode(vec![permission])).submit().unwrap();
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
        let head = node.chain.head().number;
        eventually("traces of all blocks", async || {
            let stats = explorer.json("/api/v1/stats").await;
            (stats["internalTransactionsFrom"] == 0 && stats["internalTransactionsTo"] == head).then_some(())
        })
        .await;
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

/// An address in the format of the API.
pub(crate) fn lower_hex(address: Address) -> String {
    format!("{address:#x}")
}
