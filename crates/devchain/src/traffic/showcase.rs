//! One example each of what an explorer explains, for the demo: a swap, failures with their reasons, payments inside a call
//! behind a proxy, a picture, a message and a token that imitates another one.

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::SolCall;

use super::{
    Contract, TrafficError,
    amount::{COIN, units},
    deployed::DeployedContracts,
    intent::{Actor, Intent},
    interfaces::{Bep20, Collectible, Counter, Failing, Nursery, Payroll, V2Router},
    people::People,
    reader::Reader,
    submit,
};
use crate::DevChain;

/// The number of blocks that [`super::Traffic::showcase`] mines.
pub const SHOWCASE_BLOCKS: u64 = 3;

/// One example is repeated every so many blocks.
const REPETITION_BLOCKS: u64 = 5;

/// The symbol of the dollar with a Cyrillic letter, which looks the same.
const IMITATED_SYMBOL: &str = "\u{41d}USD";
const CREW: [&str; 3] = ["Ada, navigator", "Grace, engineer", "Zoë, cook"];
const MESSAGE: &str = "Thank you for the boats! \u{26f5} See you at the harbour on Friday. – Mira";

/// Enough to create a proxy, to pay the crew or to swap.
const GAS: u64 = 400_000;
const ENDLESS_GAS: u64 = 120_000;

/// Where the examples are.
#[derive(Debug, Clone, Copy)]
pub struct Showcase {
    pub contracts: ShowcaseContracts,
    pub swap: B256,
    /// Pays the crew inside the call.
    pub payday: B256,
    /// Its input is text.
    pub message: B256,
    /// Fails with a custom error of the router.
    pub failed_swap: B256,
    pub failed_with_text: B256,
    pub failed_with_panic: B256,
    pub out_of_gas: B256,
}

/// The contracts that the examples need.
#[derive(Debug, Clone, Copy)]
pub struct ShowcaseContracts {
    /// A proxy (EIP-1967) of `payroll_implementation`.
    pub payroll: Address,
    pub payroll_implementation: Address,
    /// A minimal proxy (EIP-1167) of the counter.
    pub counter_clone: Address,
    /// A token that imitates the dollar.
    pub impostor: Address,
    /// A collectible that nobody moves.
    pub boat: U256,
}

impl ShowcaseContracts {
    /// The contracts that honest owners would publish the source of.
    pub fn published(&self) -> [(Address, Contract); 2] {
        [(self.payroll, Contract::Proxy), (self.payroll_implementation, Contract::Payroll)]
    }
}

pub(super) fn mine(chain: &DevChain, people: &People, contracts: &DeployedContracts) -> Result<Showcase, TrafficError> {
    let stage = Stage { chain, people, contracts };
    let placed = stage.create()?;
    stage.prepare(&placed)?;
    stage.perform(placed)
}

impl Showcase {
    /// An example that is repeated in the block after this one, if any.
    pub(super) fn repetition(&self, people: &People, number: u64) -> Option<Intent> {
        if !number.is_multiple_of(REPETITION_BLOCKS) {
            return None;
        }
        let contracts = &self.contracts;
        Some(match number / REPETITION_BLOCKS % 4 {
            0 => payday(contracts.payroll),
            1 => Intent::call(friend(people), contracts.counter_clone, &Counter::incrementCall {}),
            2 => message(people),
            _ => {
                let account = people.address(friend(people));
                let enlist = Payroll::enlistCall { account, name: "A stowaway".to_owned() };
                Intent::call(friend(people), contracts.payroll, &enlist).expected_to_fail()
            }
        })
    }
}

struct Stage<'a> {
    chain: &'a DevChain,
    people: &'a People,
    contracts: &'a DeployedContracts,
}

impl Stage<'_> {
    fn create(&self) -> Result<ShowcaseContracts, TrafficError> {
        let treasury = self.people.address(Actor::TREASURY);
        let (nonce, impostor) = (self.chain.next_nonce(treasury), self.people.quietest());
        let payroll_implementation = treasury.create(nonce);
        let initialize: Bytes = Payroll::initializeCall { captain: treasury }.abi_encode().into();
        let proxy = Contract::Proxy.creation_with(&(payroll_implementation, initialize));
        let decimals = self.contracts.dollar.decimals;
        let imitation = ("Harbor Dollar".to_owned(), IMITATED_SYMBOL.to_owned(), U256::from(decimals));
        let impostor_token = {
            let address = self.people.address(impostor);
            address.create(self.chain.next_nonce(address))
        };
        let clone = Nursery::cloneCall { original: self.contracts.counter };
        let hashes = submit::mine(
            self.chain,
            &[
                Intent::creation(Actor::TREASURY, Contract::Payroll.creation_code()),
                Intent::creation(Actor::TREASURY, proxy),
                Intent::creation(impostor, Contract::PlainToken.creation_with(&imitation)),
                Intent::call(Actor::TREASURY, self.contracts.collectible, &Collectible::mintCall { to: treasury }),
                Intent::call(friend(self.people), self.contracts.nursery, &clone).with_gas(GAS),
            ],
        )?;
        Ok(ShowcaseContracts {
            payroll: treasury.create(nonce + 1),
            payroll_implementation,
            counter_clone: self.announced(hashes.last().copied().unwrap_or_default())?,
            impostor: impostor_token,
            boat: Reader::new(self.chain).read(self.contracts.collectible, &Collectible::lastIdCall {})?,
        })
    }

    /// The contract that the nursery created in a transaction, as its event says.
    fn announced(&self, transaction: B256) -> Result<Address, TrafficError> {
        let included = self.chain.receipt(transaction);
        let announced = included.and_then(|included| {
            let log = included.transaction().receipt.logs().first()?.clone();
            log.topics().get(1).copied().map(Address::from_word)
        });
        announced.ok_or(TrafficError::NothingCreated { transaction })
    }

    fn prepare(&self, placed: &ShowcaseContracts) -> Result<(), TrafficError> {
        let impostor = self.people.quietest();
        let supply = Bep20::mintCall {
            to: self.people.address(impostor),
            value: units(1_000_000, self.contracts.dollar.decimals),
        };
        let mut intents = vec![
            Intent::call(impostor, placed.impostor, &supply),
            Intent::call(friend(self.people), placed.counter_clone, &Counter::incrementCall {}),
        ];
        intents.extend(CREW.iter().enumerate().map(|(index, name)| {
            let account = self.people.address(self.people.nth(index));
            let enlist = Payroll::enlistCall { account, name: (*name).to_owned() };
            Intent::call(Actor::TREASURY, placed.payroll, &enlist)
        }));
        submit::mine(self.chain, &intents)?;
        Ok(())
    }

    fn perform(&self, contracts: ShowcaseContracts) -> Result<Showcase, TrafficError> {
        let mut intents = vec![
            self.swap(U256::from(1))?,
            payday(contracts.payroll),
            message(self.people),
            // Wants twice of what it gets.
            self.swap(U256::from(2))?.expected_to_fail(),
            self.fail(&Failing::withMessageCall { amount: U256::from(12) }),
            self.fail(&Failing::withDivisionCall { number: U256::from(7) }),
            self.fail(&Failing::withoutEndCall {}).with_gas(ENDLESS_GAS),
        ];
        intents.extend((0..CREW.len()).map(|index| {
            let to = self.people.address(self.people.nth(index));
            let gift = Bep20::transferCall { to, value: units(5_000, self.contracts.dollar.decimals) };
            Intent::call(self.people.quietest(), contracts.impostor, &gift)
        }));
        let hashes = submit::mine(self.chain, &intents)?;
        let hash = |index: usize| hashes.get(index).copied().unwrap_or_default();
        Ok(Showcase {
            contracts,
            swap: hash(0),
            payday: hash(1),
            message: hash(2),
            failed_swap: hash(3),
            failed_with_text: hash(4),
            failed_with_panic: hash(5),
            out_of_gas: hash(6),
        })
    }

    /// Buys dollars for coins, and wants this multiple of what the pair would pay now.
    fn swap(&self, multiple: U256) -> Result<Intent, TrafficError> {
        let (value, router) = (COIN * U256::from(3) / U256::from(2), self.contracts.v2_router);
        let path = vec![self.contracts.wrapped.address, self.contracts.dollar.address];
        let quote = V2Router::getAmountsOutCall { amountIn: value, path: path.clone() };
        let amounts = Reader::new(self.chain).read(router, &quote)?;
        let trader = self.people.nth(3);
        let swap = V2Router::swapExactETHForTokensCall {
            amountOutMin: amounts.last().copied().unwrap_or_default() * multiple,
            path,
            to: self.people.address(trader),
            deadline: U256::from(Reader::new(self.chain).timestamp() + 1_200),
        };
        Ok(Intent::call(trader, router, &swap).with_value(value).with_gas(GAS))
    }

    fn fail(&self, call: &impl SolCall) -> Intent {
        Intent::call(friend(self.people), self.contracts.failing, call).expected_to_fail()
    }
}

fn friend(people: &People) -> Actor {
    people.nth(4)
}

fn payday(payroll: Address) -> Intent {
    let value = COIN * U256::from(CREW.len()) / U256::from(4);
    let payday = Payroll::paydayCall { memo: "Wages of the week".to_owned() };
    Intent::call(Actor::TREASURY, payroll, &payday).with_value(value).with_gas(GAS)
}

fn message(people: &People) -> Intent {
    Intent::message(friend(people), people.address(people.nth(5)), COIN / U256::from(20), MESSAGE)
}
