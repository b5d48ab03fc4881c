use std::ops::Range;

use alloy_primitives::hex;
use domain::Language;

use super::OutputArtifacts;

/// Characters of a library placeholder: as many as of an address.
const PLACEHOLDER: usize = 40;
const ADDRESS_BYTES: usize = 20;

/// A range of code bytes.
pub type Span = Range<usize>;

/// One contract of a compiler's output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompiledContract {
    pub language: Language,
    /// The source that defines it.
    pub file: String,
    pub name: String,
    /// The ABI, as JSON.
    pub abi: String,
    /// The metadata, byte for byte as the compiler wrote it.
    pub metadata: String,
    pub creation: CompiledCode,
    pub runtime: CompiledCode,
    /// For each immutable variable, where the constructor writes its value into the code. Vyper appends all of them to the
    /// code, so that their places are behind its end.
    pub immutables: Vec<(String, Vec<Span>)>,
    /// Set if they were requested together with the code.
    pub artifacts: Option<OutputArtifacts>,
}

/// Code that may not be linked yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompiledCode {
    /// With zeros in place of library addresses.
    pub bytes: Vec<u8>,
    pub links: Vec<LibraryLink>,
}

/// A placeholder for the address of a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibraryLink {
    /// `file:Name` if the compiler gives it, else the placeholder.
    pub library: String,
    pub span: Span,
}

impl CompiledCode {
    /// Parses the compiler's hexadecimal output with placeholders; None if it is invalid.
    #[must_use]
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let mut plain = String::with_capacity(text.len());
        let mut links = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find('_') {
            let (before, from) = rest.split_at(at);
            let (placeholder, after) = from.split_at_checked(PLACEHOLDER)?;
            plain.push_str(before);
            let start = plain.len() / 2;
            links.push(LibraryLink { library: placeholder.to_owned(), span: start..start + ADDRESS_BYTES });
            plain.push_str(&"0".repeat(PLACEHOLDER));
            rest = after;
        }
        plain.push_str(rest);
        Some(Self { bytes: hex::decode(plain).ok()?, links })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_placeholders_of_both_formats_are_found() {
        let (new, old) = ("__$aaf4f569e6914efaed2a07e0ebcf2e$__", "__Library_____________________________");
        let (new, old) = (format!("{new:_<40}"), format!("{old:_<40}"));
        let code = CompiledCode::from_text(&format!("6073{new}63{old}00")).unwrap();
        assert_eq!(code.bytes.len(), 2 + 20 + 1 + 20 + 1);
        assert_eq!(code.links[0], LibraryLink { library: new, span: 2..22 });
        assert_eq!(code.links[1], LibraryLink { library: old, span: 23..43 });
    }

    #[test]
    fn linked_code_has_no_placeholders() {
        assert_eq!(CompiledCode::from_text("6001").unwrap(), CompiledCode { bytes: vec![0x60, 1], links: vec![] });
        assert_eq!(CompiledCode::from_text("").unwrap(), CompiledCode::default());
        assert_eq!(CompiledCode::from_text("600"), None);
        assert_eq!(CompiledCode::from_text("60__short"), None);
    }
}
