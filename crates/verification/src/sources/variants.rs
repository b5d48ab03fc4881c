//! Texts as editors and web forms change them.

use std::collections::BTreeMap;

/// A text unchanged, then as editors and web forms change it: other line endings, another end of file.
pub(super) fn text_variants(text: &str) -> Vec<String> {
    let mut variants: Vec<String> = Vec::new();
    for change in CHANGES {
        let variant = change(text);
        if !variants.contains(&variant) {
            variants.push(variant);
        }
    }
    variants
}

/// The files unchanged, then all of them with each of these changes.
pub(crate) fn variants(files: &BTreeMap<String, String>) -> Vec<BTreeMap<String, String>> {
    let mut variants: Vec<BTreeMap<String, String>> = Vec::new();
    for change in CHANGES {
        let variant = files.iter().map(|(name, content)| (name.clone(), change(content))).collect();
        if !variants.contains(&variant) {
            variants.push(variant);
        }
    }
    variants
}

const CHANGES: [fn(&str) -> String; 6] = [
    str::to_owned,
    with_line_feeds,
    |text| with_line_feeds(text).replace('\n', "\r\n"),
    |text| format!("{}\n", with_line_feeds(text).trim_end()),
    |text| with_line_feeds(text).trim_end().to_owned(),
    |text| text.trim().to_owned(),
];

fn with_line_feeds(text: &str) -> String {
    text.replace("\r\n", "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ending_variants_are_tried_without_duplicates() {
        let files = |text: &str| BTreeMap::from([("a".to_owned(), text.to_owned())]);
        let texts = |text: &str| {
            variants(&files(text)).into_iter().map(|mut files| files.remove("a").unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(texts("a\nb\n"), ["a\nb\n", "a\r\nb\r\n", "a\nb"]);
        assert_eq!(texts("a\r\nb"), ["a\r\nb", "a\nb", "a\nb\n"]);
    }
}
