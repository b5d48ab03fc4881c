use contracts::AvailableCompiler;
use serde::Serialize;
use utoipa::ToSchema;

/// Compilers available for verification.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CompilerList {
    /// Newest first.
    pub compilers: Vec<Compiler>,
}

/// A build of the Solidity compiler.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Compiler {
    /// The value for `compilerVersion` of a verification; without the commit if it is unknown before the download.
    #[schema(example = "v0.8.20+commit.a1b79de6")]
    pub version: String,
    /// Whether it is installed. If not, it is downloaded when first needed, which takes a few seconds.
    #[schema(example = true)]
    pub fetched: bool,
}

impl From<Vec<AvailableCompiler>> for CompilerList {
    fn from(available: Vec<AvailableCompiler>) -> Self {
        let to_wire = |compiler: AvailableCompiler| Compiler {
            version: format!("v{}", compiler.version),
            fetched: compiler.fetched,
        };
        Self { compilers: available.into_iter().map(to_wire).collect() }
    }
}
