//! Records the calls of a transaction while it is executed.

use alloy_primitives::{Address, Bytes, Log, U256};
use revm::{
    Inspector,
    context::{JournalTr, LocalContextTr},
    context_interface::ContextTr,
    inspector::JournalExt,
    interpreter::{
        CallInput, CallInputs, CallOutcome, CallScheme, CreateInputs, CreateOutcome, CreateScheme, InstructionResult,
        Interpreter, InterpreterResult, interpreter_types::Jumps,
    },
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallKind {
    Call,
    CallCode,
    DelegateCall,
    StaticCall,
    Create,
    Create2,
}

impl CallKind {
    pub(super) fn is_creation(self) -> bool {
        matches!(self, Self::Create | Self::Create2)
    }
}

/// A call or a creation.
#[derive(Debug)]
pub(super) struct RecordedCall {
    pub(super) kind: CallKind,
    pub(super) from: Address,
    /// None for a creation that has not succeeded.
    pub(super) to: Option<Address>,
    pub(super) value: U256,
    pub(super) input: Bytes,
    pub(super) gas_limit: u64,
    /// A call of a precompile without a value, inside another call.
    pub(super) is_precompile: bool,
    pub(super) output: Bytes,
    pub(super) gas_used: u64,
    pub(super) result: InstructionResult,
    /// The opcode that ended it, if that is undefined.
    pub(super) undefined_opcode: Option<u8>,
    pub(super) selfdestruct: Option<Selfdestruct>,
    pub(super) logs: Vec<RecordedLog>,
    pub(super) calls: Vec<RecordedCall>,
}

#[derive(Debug, Default)]
pub(super) struct Selfdestruct {
    pub(super) contract: Address,
    pub(super) beneficiary: Address,
    pub(super) balance: U256,
}

#[derive(Debug)]
pub(super) struct RecordedLog {
    pub(super) log: Log,
    /// In the transaction.
    pub(super) index: u64,
    /// How many calls the same call had made before.
    pub(super) calls_before: u64,
}

/// An inspector that records calls.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    /// The calls that have not ended, each inside the one before.
    open: Vec<RecordedCall>,
    outermost: Option<RecordedCall>,
    logs: u64,
    opcode: u8,
}

impl Recorder {
    /// The outermost call; None before it has ended.
    pub(super) fn into_outermost(self) -> Option<RecordedCall> {
        self.outermost
    }

    fn start(&mut self, kind: CallKind, from: Address, to: Option<Address>, value: U256, input: Bytes, gas_limit: u64) {
        self.open.push(RecordedCall {
            kind,
            from,
            to,
            value,
            input,
            gas_limit,
            is_precompile: false,
            output: Bytes::new(),
            gas_used: 0,
            result: InstructionResult::default(),
            undefined_opcode: None,
            selfdestruct: None,
            logs: Vec::new(),
            calls: Vec::new(),
        });
    }

    fn end(&mut self, ended: &InterpreterResult, created: Option<Address>) {
        let Some(mut call) = self.open.pop() else { return };
        call.result = ended.result;
        call.output = ended.output.clone();
        call.gas_used = ended.gas.total_gas_spent();
        if call.kind.is_creation() {
            call.to = created.filter(|_| ended.result.is_ok());
            if created.is_none() && ended.result.is_ok() {
                // revm returns this without an error.
                call.result = InstructionResult::NonceOverflow;
            }
        }
        if matches!(call.result, InstructionResult::OpcodeNotFound | InstructionResult::NotActivated) {
            call.undefined_opcode = Some(self.opcode);
        }
        if call.result == InstructionResult::SelfDestruct {
            // Without it if no balance was moved.
            call.selfdestruct.get_or_insert_default();
        }
        match self.open.last_mut() {
            Some(outer) => outer.calls.push(call),
            None => self.outermost = Some(call),
        }
    }
}

impl<Context: ContextTr<Journal: JournalExt>> Inspector<Context> for Recorder {
    fn step(&mut self, interpreter: &mut Interpreter, _: &mut Context) {
        self.opcode = interpreter.bytecode.opcode();
    }

    fn log(&mut self, _: &mut Context, log: Log) {
        let index = self.logs;
        self.logs += 1;
        if let Some(call) = self.open.last_mut() {
            call.logs.push(RecordedLog { log, index, calls_before: call.calls.len() as u64 });
        }
    }

    fn call(&mut self, context: &mut Context, inputs: &mut CallInputs) -> Option<CallOutcome> {
        let (kind, from, to) = match inputs.scheme {
            CallScheme::Call => (CallKind::Call, inputs.caller, inputs.target_address),
            CallScheme::StaticCall => (CallKind::StaticCall, inputs.caller, inputs.target_address),
            CallScheme::CallCode => (CallKind::CallCode, inputs.target_address, inputs.bytecode_address),
            CallScheme::DelegateCall => (CallKind::DelegateCall, inputs.target_address, inputs.bytecode_address),
        };
        let value = match (kind, self.open.last()) {
            (CallKind::DelegateCall, Some(outer)) => outer.value,
            _ => inputs.call_value(),
        };
        let input = match &inputs.input {
            CallInput::Bytes(bytes) => bytes.clone(),
            CallInput::SharedBuffer(range) => {
                let shared = context.local().shared_memory_buffer_slice(range.clone());
                shared.map(|shared| Bytes::copy_from_slice(&shared)).unwrap_or_default()
            }
        };
        let is_precompile =
            !self.open.is_empty() && value.is_zero() && context.journal_ref().precompile_addresses().contains(&to);
        self.start(kind, from, Some(to), value, input, inputs.gas_limit);
        if let Some(call) = self.open.last_mut() {
            call.is_precompile = is_precompile;
        }
        None
    }

    fn call_end(&mut self, _: &mut Context, _: &CallInputs, outcome: &mut CallOutcome) {
        self.end(&outcome.result, None);
    }

    fn create(&mut self, _: &mut Context, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        let kind = match inputs.scheme() {
            CreateScheme::Create2 { .. } => CallKind::Create2,
            _ => CallKind::Create,
        };
        self.start(kind, inputs.caller(), None, inputs.value(), inputs.init_code().clone(), inputs.gas_limit());
        None
    }

    fn create_end(&mut self, _: &mut Context, _: &CreateInputs, outcome: &mut CreateOutcome) {
        self.end(&outcome.result, outcome.address);
    }

    fn selfdestruct(&mut self, contract: Address, beneficiary: Address, balance: U256) {
        if let Some(call) = self.open.last_mut() {
            call.selfdestruct = Some(Selfdestruct { contract, beneficiary, balance });
        }
    }
}
