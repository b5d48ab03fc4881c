//! The errors of calls in the words of geth, which name an undefined opcode and no kinds of missing gas.

use alloy_rpc_types_trace::geth::CallFrame;
use revm::{
    Inspector,
    interpreter::{
        CallInputs, CallOutcome, CreateInputs, CreateOutcome, InstructionResult, Interpreter, InterpreterTypes,
        interpreter_types::Jumps,
    },
};

const UNDEFINED: &str = "invalid opcode";
const OUT_OF_GAS: &str = "out of gas";

/// Records the undefined opcodes that ended calls, in the order in which the calls ended.
#[derive(Debug, Default)]
pub(super) struct UndefinedOpcodes {
    current: u8,
    found: Vec<u8>,
}

impl UndefinedOpcodes {
    /// Completes the errors of a call and of those inside it, unless the trace has only the outermost.
    pub(super) fn write_errors(mut self, outermost: &mut CallFrame, only_outermost: bool) {
        if only_outermost {
            // It ended last.
            self.found.drain(..self.found.len().saturating_sub(1));
        }
        write_errors(outermost, &mut self.found.into_iter());
    }

    fn ended(&mut self, result: InstructionResult) {
        if matches!(result, InstructionResult::OpcodeNotFound | InstructionResult::NotActivated) {
            self.found.push(self.current);
        }
    }
}

/// Calls end after those inside them, and the depth is limited by the EVM.
fn write_errors(call: &mut CallFrame, undefined: &mut impl Iterator<Item = u8>) {
    for inner in &mut call.calls {
        write_errors(inner, undefined);
    }
    let Some(error) = &mut call.error else { return };
    if error == UNDEFINED {
        if let Some(opcode) = undefined.next() {
            *error = format!("{UNDEFINED}: opcode {opcode:#x} not defined");
        }
    } else if error.starts_with(OUT_OF_GAS) {
        error.truncate(OUT_OF_GAS.len());
    }
}

impl<Context, Types: InterpreterTypes> Inspector<Context, Types> for UndefinedOpcodes {
    fn step(&mut self, interpreter: &mut Interpreter<Types>, _: &mut Context) {
        self.current = interpreter.bytecode.opcode();
    }

    fn call_end(&mut self, _: &mut Context, _: &CallInputs, outcome: &mut CallOutcome) {
        self.ended(outcome.result.result);
    }

    fn create_end(&mut self, _: &mut Context, _: &CreateInputs, outcome: &mut CreateOutcome) {
        self.ended(outcome.result.result);
    }
}
