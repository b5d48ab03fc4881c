use super::refusal::Refusal;
use crate::{
    CompileError, CompiledContract, CompilersError,
    code::{CompilerOutput, OutputError},
    compilers::Session,
    error::VerifyError,
    request::VerifyRequest,
};

/// The contracts, or an error that is caused by the source.
pub(super) type Compiled = Result<Vec<CompiledContract>, Refusal>;

/// Compiles, unless a limit of time or memory is reached.
pub(super) async fn compile(
    session: &Session,
    request: &VerifyRequest,
    input: String,
) -> Result<Compiled, VerifyError> {
    let output = match session.compile(input).await {
        Ok(output) => output,
        Err(
            error @ (CompileError::TimedOut { .. }
            | CompileError::OutOfMemory { .. }
            | CompileError::BudgetExhausted { .. }
            | CompileError::Crashed(_)),
        ) => {
            tracing::info!(%error, address = %request.address, "compilation stopped");
            return Ok(Err(Refusal::Compiler(error.to_string())));
        }
        Err(error) => return Err(CompilersError::Run(error).into()),
    };
    let language = session.version().language();
    let read = tokio::task::spawn_blocking(move || CompilerOutput::read(&output, language)).await;
    Ok(match read {
        Ok(Ok(output)) => Ok(output.contracts),
        Ok(Err(OutputError::Source(message))) => Err(Refusal::Source(message)),
        Ok(Err(OutputError::Internal(message))) => Err(Refusal::Internal(message)),
        Ok(Err(error)) => Err(Refusal::Compiler(error.to_string())),
        Err(error) => Err(Refusal::Compiler(error.to_string())),
    })
}
