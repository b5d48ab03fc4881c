use domain::Address;
use serde_json::{Map, Value};

/// Adds linked libraries to the settings of compiler input, by file and name. Those that are there already are kept.
pub(crate) fn add_libraries(settings: &mut Map<String, Value>, linked: &[(String, Address)]) {
    if linked.is_empty() {
        return;
    }
    let files = settings.entry("libraries").or_insert_with(|| Map::new().into());
    let Some(files) = files.as_object_mut() else { return };
    for (library, address) in linked {
        let (file, name) = library.rsplit_once(':').unwrap_or(("", library));
        let names = files.entry(file).or_insert_with(|| Map::new().into());
        if let Some(names) = names.as_object_mut() {
            names.entry(name).or_insert_with(|| format!("{address:#x}").into());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn libraries_are_nested_by_file() {
        let mut settings = Map::new();
        add_libraries(&mut settings, &[]);
        assert!(settings.is_empty());
        let address = Address::repeat_byte(7);
        add_libraries(&mut settings, &[("a/L.sol:L".to_owned(), address), ("M".to_owned(), address)]);
        let text = format!("0x{}", "07".repeat(20));
        assert_eq!(Value::from(settings), json!({ "libraries": { "a/L.sol": { "L": text }, "": { "M": text } } }));
    }
}
