/// Maximum length of an SPDX expression.
const MAX: usize = 64;

/// The SPDX identifier in a comment of a source. Compilers before 0.6.8 do not extract it.
pub(crate) fn spdx_identifier(source: &str) -> Option<String> {
    const TAG: &str = "SPDX-License-Identifier:";
    let line = source.lines().find(|line| is_comment(line) && line.contains(TAG))?;
    let (_, rest) = line.split_once(TAG)?;
    let end = rest.find(|character| !is_allowed(character)).unwrap_or(rest.len());
    let identifier = rest.get(..end)?.trim();
    (!identifier.is_empty() && is_license(identifier)).then(|| identifier.to_owned())
}

/// Whether a text may be an SPDX expression.
#[must_use]
pub fn is_license(text: &str) -> bool {
    text.len() <= MAX && text.chars().all(is_allowed)
}

fn is_allowed(character: char) -> bool {
    character.is_ascii_alphanumeric() || ".+-() ".contains(character)
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    ["//", "/*", "*", "#"].iter().any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_identifier_is_read_from_a_comment_of_any_kind() {
        let read = |source: &str| spdx_identifier(source);
        assert_eq!(read("// SPDX-License-Identifier: MIT\ncontract A {}").as_deref(), Some("MIT"));
        assert_eq!(read("\n  /* SPDX-License-Identifier: (MIT OR GPL-2.0+) */").as_deref(), Some("(MIT OR GPL-2.0+)"));
        assert_eq!(read("/**\n * SPDX-License-Identifier:GPL-3.0\r\n */").as_deref(), Some("GPL-3.0"));
        assert_eq!(read("# pragma version 0.4.3\n# SPDX-License-Identifier: MIT\n").as_deref(), Some("MIT"));
        assert_eq!(read("string a = \"SPDX-License-Identifier: MIT\";"), None);
        assert_eq!(read("// SPDX-License-Identifier: <b>"), None);
        assert_eq!(read(&format!("// SPDX-License-Identifier: {}", "x".repeat(65))), None);
        assert_eq!(read("contract A {}"), None);
    }
}
