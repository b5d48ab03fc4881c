use std::ops::Range;

use alloy_primitives::hex;

/// Characters of a placeholder: as many as an address has.
const PLACEHOLDER: usize = 40;
const ADDRESS_BYTES: usize = 20;

/// Bytes of code.
pub type Span = Range<usize>;

/// One contract as a compiler gave it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompiledContract {
    /// The source that defines it.
    pub file: String,
    pub name: String,
    /// The interface, as JSON.
    pub abi: String,
    /// The metadata, in the compiler's own bytes.
    pub metadata: String,
    pub creation: CompiledCode,
    pub runtime: CompiledCode,
    /// Where values stand that the constructor writes into the code, for each variable.
    pub immutables: Vec<(String, Vec<Span>)>,
}

/// Code in which addresses of libraries may still be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompiledCode {
    /// With zeros where an address is missing.
    pub bytes: Vec<u8>,
    pub links: Vec<LibraryLink>,
}

/// A place for the address of a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibraryLink {
    /// `file:Name` where the compiler tells it, else the placeholder.
    pub library: String,
    pub span: Span,
}

impl CompiledCode {
    /// Reads the compiler's hexadecimal text, placeholders among it; None where it is something else.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let mut plain = String::with_capacity(text.len());
        let mut links = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find('_') {
            let (before, from) = rest.split_at(at);
            let placeholder = from.get(..PLACEHOLDER)?;
            plain.push_str(before);
            let start = plain.len() / 2;
            links.push(LibraryLink { library: placeholder.to_owned(), span: start..start + ADDRESS_BYTES });
            plain.push_str(&"0".repeat(PLACEHOLDER));
            rest = &from[PLACEHOLDER..];
        }
        plain.push_str(rest);
        Some(Self { bytes: hex::decode(plain).ok()?, links })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_libraries_of_both_kinds_are_found() {
        let (new, old) = ("__$aaf4f569e6914efaed2a07e0ebcf2e$__", "__Library_____________________________");
        let (new, old) = (format!("{new:_<40}"), format!("{old:_<40}"));
        let code = CompiledCode::from_text(&format!("6073{new}63{old}00")).unwrap();
        assert_eq!(code.bytes.len(), 2 + 20 + 1 + 20 + 1);
        assert_eq!(code.links[0], LibraryLink { library: new, span: 2..22 });
        assert_eq!(code.links[1], LibraryLink { library: old, span: 23..43 });
    }

    #[test]
    fn plain_code_has_no_places() {
        assert_eq!(CompiledCode::from_text("6001").unwrap(), CompiledCode { bytes: vec![0x60, 1], links: vec![] });
        assert_eq!(CompiledCode::from_text("").unwrap(), CompiledCode::default());
        assert_eq!(CompiledCode::from_text("600"), None);
        assert_eq!(CompiledCode::from_text("60__short"), None);
    }
}
