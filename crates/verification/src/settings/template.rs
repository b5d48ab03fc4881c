use std::ops::Range;

use super::SettingsChoice;

/// The metadata of a contract in which settings and file names can be replaced.
///
/// The text is edited in place, not serialized again: the compiler has its own way to escape non-ASCII characters, and every
/// byte affects the hash.
#[derive(Debug)]
pub struct MetadataTemplate {
    text: String,
    evm_version: Option<Range<usize>>,
    libraries: Option<Range<usize>>,
    optimizer: Range<usize>,
    via_ir: Option<Range<usize>>,
    end_of_settings: usize,
    /// The positions of the file name, as target and among the sources, if there is only one file.
    paths: Option<[Range<usize>; 2]>,
}

/// The values to fill into a template.
#[derive(Debug, Clone, Copy)]
pub struct Filling<'a> {
    /// The name of the only file.
    pub path: Option<&'a str>,
    pub choice: SettingsChoice,
    /// As JSON.
    pub libraries: Option<&'a str>,
}

impl MetadataTemplate {
    /// None if the text is not metadata as compilers write it.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let whole = Object::at(text, 0)?;
        let settings = Object::at(text, whole.find("settings")?.value.start)?;
        let target = Object::at(text, settings.find("compilationTarget")?.value.start)?;
        let sources = Object::at(text, whole.find("sources")?.value.start)?;
        let paths = match (&target.members[..], &sources.members[..]) {
            ([target], [source]) => Some([target.key.clone(), source.key.clone()]),
            _ => None,
        };
        let range = |name: &str| settings.find(name).map(|member| member.value.clone());
        Some(Self {
            evm_version: range("evmVersion"),
            libraries: range("libraries"),
            optimizer: range("optimizer")?,
            via_ir: range("viaIR"),
            end_of_settings: settings.end - 1,
            paths,
            text: text.to_owned(),
        })
    }

    /// The text before the first replaceable value.
    pub(super) fn prefix(&self) -> &[u8] {
        let ranges = [self.evm_version.as_ref(), self.libraries.as_ref(), Some(&self.optimizer)];
        let paths = self.paths.iter().map(|[target, _]| target);
        let first = ranges.into_iter().flatten().chain(paths).map(|range| range.start).min().unwrap_or(0);
        self.text.as_bytes().get(..first).unwrap_or_default()
    }

    #[must_use]
    pub(crate) fn has_one_file(&self) -> bool {
        self.paths.is_some()
    }

    #[must_use]
    pub(crate) fn names_evm_version(&self) -> bool {
        self.evm_version.is_some()
    }

    /// Writes the metadata with these settings.
    pub fn fill(&self, filling: &Filling<'_>, out: &mut Vec<u8>) {
        out.clear();
        let mut done = 0;
        let mut put = |range: &Range<usize>, text: &[u8]| {
            out.extend_from_slice(self.text.get(done..range.start).unwrap_or_default().as_bytes());
            out.extend_from_slice(text);
            done = range.end;
        };
        let choice = filling.choice;
        // In the order in which the compiler sorts the keys.
        if let (Some([target, _]), Some(path)) = (&self.paths, filling.path) {
            put(target, path.as_bytes());
        }
        if let (Some(range), Some(version)) = (&self.evm_version, choice.evm_version) {
            put(&(range.start + 1..range.end - 1), version.name().as_bytes());
        }
        if let (Some(range), Some(libraries)) = (&self.libraries, filling.libraries) {
            put(range, libraries.as_bytes());
        }
        put(&self.optimizer, choice.optimizer.in_metadata().as_bytes());
        match (&self.via_ir, choice.via_ir) {
            (Some(range), via_ir) => put(range, if via_ir { b"true" } else { b"false" }),
            (None, true) => put(&(self.end_of_settings..self.end_of_settings), br#","viaIR":true"#),
            (None, false) => {}
        }
        if let (Some([_, source]), Some(path)) = (&self.paths, filling.path) {
            put(source, path.as_bytes());
        }
        out.extend_from_slice(self.text.get(done..).unwrap_or_default().as_bytes());
    }
}

/// The members of a JSON object, by their ranges in the text.
pub(super) struct Object<'a> {
    text: &'a str,
    pub(super) members: Vec<Member>,
    /// After the closing brace.
    end: usize,
}

#[derive(Debug, Clone)]
pub(super) struct Member {
    /// Without the quotes.
    pub(super) key: Range<usize>,
    pub(super) value: Range<usize>,
}

impl<'a> Object<'a> {
    /// Parses an object that starts here. Compilers write no whitespace.
    pub(super) fn at(text: &'a str, start: usize) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut members = Vec::new();
        let mut at = start;
        if bytes.get(at) != Some(&b'{') {
            return None;
        }
        at += 1;
        if bytes.get(at) == Some(&b'}') {
            return Some(Self { text, members, end: at + 1 });
        }
        loop {
            let key_end = end_of_string(bytes, at)?;
            if bytes.get(key_end) != Some(&b':') {
                return None;
            }
            let value_end = end_of_value(bytes, key_end + 1)?;
            members.push(Member { key: at + 1..key_end - 1, value: key_end + 1..value_end });
            match bytes.get(value_end)? {
                b',' => at = value_end + 1,
                b'}' => return Some(Self { text, members, end: value_end + 1 }),
                _ => return None,
            }
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| self.text.get(member.key.clone()) == Some(name))
    }
}

/// The position after the closing quote of a string that starts here.
fn end_of_string(bytes: &[u8], start: usize) -> Option<usize> {
    if bytes.get(start) != Some(&b'"') {
        return None;
    }
    let mut at = start + 1;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 2,
            b'"' => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// The position after a value that starts here.
fn end_of_value(bytes: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut depth) = (start, 0_usize);
    loop {
        match bytes.get(at)? {
            b'"' => at = end_of_string(bytes, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' if depth > 0 => {
                depth -= 1;
                at += 1;
            }
            b',' | b'}' | b']' if depth == 0 => return Some(at),
            _ => at += 1,
        }
        if depth == 0 && matches!(bytes.get(at), Some(b',' | b'}' | b']')) {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{EvmVersion, Optimizer};

    const METADATA: &str = r#"{"compiler":{"version":"0.8.20+commit.a1b79de6"},"language":"Solidity","output":{"abi":[],"devdoc":{"details":"{\"settings\":1} \u00e9, [}"}},"settings":{"compilationTarget":{"a.sol":"A"},"evmVersion":"shanghai","libraries":{},"metadata":{"bytecodeHash":"ipfs"},"optimizer":{"enabled":false,"runs":200},"remappings":[]},"sources":{"a.sol":{"keccak256":"0x12","urls":[]}},"version":1}"#;

    fn fill(template: &MetadataTemplate, filling: Filling<'_>) -> String {
        let mut out = Vec::new();
        template.fill(&filling, &mut out);
        String::from_utf8(out).unwrap()
    }

    const AS_IT_IS: SettingsChoice = SettingsChoice { optimizer: Optimizer::OFF, evm_version: None, via_ir: false };

    #[test]
    fn an_empty_filling_leaves_the_text_unchanged() {
        let template = MetadataTemplate::new(METADATA).unwrap();
        assert_eq!(fill(&template, Filling { path: None, choice: AS_IT_IS, libraries: None }), METADATA);
    }

    #[test]
    fn settings_and_names_are_filled_in_like_the_compiler_does() {
        let template = MetadataTemplate::new(METADATA).unwrap();
        let choice =
            SettingsChoice { optimizer: Optimizer::on(999), evm_version: Some(EvmVersion::Paris), via_ir: true };
        let libraries = Some(r#"{"a.sol:L":"0x11"}"#);
        let filled = fill(&template, Filling { path: Some("src/B.sol"), choice, libraries });
        let expected = METADATA
            .replace(r#""a.sol""#, r#""src/B.sol""#)
            .replace("shanghai", "paris")
            .replace(r#""libraries":{}"#, r#""libraries":{"a.sol:L":"0x11"}"#)
            .replace(r#""enabled":false,"runs":200"#, r#""enabled":true,"runs":999"#)
            .replace(r#""remappings":[]"#, r#""remappings":[],"viaIR":true"#);
        assert_eq!(filled, expected);
    }

    #[test]
    fn several_files_keep_their_names() {
        let several = METADATA.replace(r#""sources":{"#, r#""sources":{"0.sol":{"keccak256":"0x"},"#);
        let template = MetadataTemplate::new(&several).unwrap();
        assert!(!template.has_one_file());
        let filled = fill(&template, Filling { path: Some("x.sol"), choice: AS_IT_IS, libraries: None });
        assert_eq!(filled, several);
    }

    #[test]
    fn other_json_is_not_metadata() {
        for text in ["", "{", "[]", "{}", r#"{"settings":{}}"#, r#"{"settings":5,"sources":{}}"#, "{\"a\"", "{\"a\\"] {
            assert!(MetadataTemplate::new(text).is_none(), "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn broken_metadata_never_panics(cut in 0..METADATA.len(), other: u8) {
            if METADATA.is_char_boundary(cut) {
                let _ = MetadataTemplate::new(&METADATA[..cut]);
                let mut bytes = METADATA.as_bytes().to_vec();
                bytes[cut] = other & 0x7f;
                let _ = MetadataTemplate::new(std::str::from_utf8(&bytes).unwrap());
            }
        }
    }
}
