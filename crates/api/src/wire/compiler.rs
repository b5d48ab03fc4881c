use contracts::AvailableCompiler;
use serde::Serialize;
use utoipa::ToSchema;

/// Compilers that sources can be verified with.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CompilerList {
    /// Newest first.
    pub compilers: Vec<Compiler>,
}

/// A build of the Solidity compiler.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Compiler {
    /// As `compilerVersion` of a verification takes it; without the commit where that is not known before it is fetched.
    #[schema(example = "v0.8.20+commit.a1b79de6")]
    pub version: String,
    /// Whether it is at hand. If not, it is fetched when it is first needed, which takes some seconds.
    #[schema(example = true)]
    pub fetched: bool,
}

impl From<Vec<AvailableCompiler>> for CompilerList {
    fn from(available: Vec<AvailableCompiler>) -> Self {
        let compiler = |one: AvailableCompiler| Compiler { version: format!("v{}", one.version), fetched: one.fetched };
        Self { compilers: available.into_iter().map(compiler).collect() }
    }
}
