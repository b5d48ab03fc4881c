use serde::Serialize;
use utoipa::ToSchema;
use verification::AvailableCompiler;

use super::Language;

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CompilerList {
    /// Those of Solidity, then those of Vyper, newest first.
    pub compilers: Vec<Compiler>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Compiler {
    /// For `compilerVersion` of a verification; without the commit if it is unknown before the download.
    #[schema(example = "v0.8.20+commit.a1b79de6")]
    pub version: String,
    pub language: Language,
    /// Whether it is installed. If not, it is downloaded when first needed, in a few seconds.
    pub fetched: bool,
}

impl From<Vec<AvailableCompiler>> for CompilerList {
    fn from(available: Vec<AvailableCompiler>) -> Self {
        let to_wire = |AvailableCompiler { version, fetched }: AvailableCompiler| Compiler {
            language: version.language().into(),
            version: match version.language() {
                domain::Language::Solidity => format!("v{version}"),
                domain::Language::Vyper => version.to_string(),
            },
            fetched,
        };
        Self { compilers: available.into_iter().map(to_wire).collect() }
    }
}
