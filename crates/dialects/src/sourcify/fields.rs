use serde_json::{Map, Value};
use url::form_urlencoded;

use super::error::SourcifyError;

/// The fields that a client asks for beside those that are always there.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fields {
    all: bool,
    wanted: Vec<String>,
    omitted: Vec<String>,
}

impl Fields {
    pub(super) fn read(query: Option<&str>) -> Result<Self, SourcifyError> {
        let mut fields = Self::default();
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            let names = value.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
            match name.as_ref() {
                "fields" if value == "all" => fields.all = true,
                "fields" => fields.wanted.extend(names),
                "omit" => fields.omitted.extend(names),
                _ => {}
            }
        }
        if (fields.all || !fields.wanted.is_empty()) && !fields.omitted.is_empty() {
            return Err(SourcifyError::invalid("fields and omit cannot be combined"));
        }
        // Whoever omits some wants all others.
        fields.all |= !fields.omitted.is_empty();
        Ok(fields)
    }

    /// Whether anything but the fields that are always there is wanted.
    pub(super) fn wants_more(&self) -> bool {
        self.all || !self.wanted.is_empty()
    }

    pub(super) fn wants(&self, field: &str) -> bool {
        let is_part = |name: &String| name == field || name.split('.').next() == Some(field);
        self.wanted.iter().any(is_part) || self.all && !self.omitted.iter().any(|name| name == field)
    }

    /// The part of a value that is wanted.
    pub(super) fn narrow(&self, field: &str, value: Value) -> Value {
        let parts = |names: &[String]| -> Vec<String> {
            let prefix = format!("{field}.");
            names.iter().filter_map(|name| name.strip_prefix(&prefix).map(str::to_owned)).collect()
        };
        let (wanted, omitted) = (parts(&self.wanted), parts(&self.omitted));
        let is_whole = wanted.is_empty() || self.wanted.iter().any(|name| name == field);
        match value {
            Value::Object(object) => {
                let keep = |name: &String| (is_whole || wanted.contains(name)) && !omitted.contains(name);
                object.into_iter().filter(|(name, _)| keep(name)).collect::<Map<_, _>>().into()
            }
            other => other,
        }
    }

    /// Rejects names that are none.
    pub(super) fn check(&self, known: &[&str]) -> Result<(), SourcifyError> {
        let is_known = |name: &&String| known.contains(&name.split('.').next().unwrap_or_default());
        match self.wanted.iter().chain(&self.omitted).find(|name| !is_known(name)) {
            Some(name) => {
                let shown: String = name.chars().take(64).collect();
                Err(SourcifyError::invalid(format!("The field {shown} is not known; known are {}", known.join(", "))))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_chosen_by_name_and_by_part() {
        let fields = Fields::read(Some("fields=abi,compilation.name")).unwrap();
        assert!(fields.wants("abi") && fields.wants("compilation") && !fields.wants("sources"));
        assert_eq!(fields.narrow("compilation", json!({ "name": "A", "compiler": "solc" })), json!({ "name": "A" }));
        assert_eq!(fields.narrow("abi", json!([1])), json!([1]));
        let all_but = Fields::read(Some("omit=abi,compilation.name")).unwrap();
        assert!(!all_but.wants("abi") && all_but.wants("sources") && all_but.wants("compilation"));
        assert_eq!(all_but.narrow("compilation", json!({ "name": "A", "x": 1 })), json!({ "x": 1 }));
        assert!(Fields::read(Some("fields=all")).unwrap().wants("sources"));
        assert!(!Fields::read(None).unwrap().wants_more());
        assert!(Fields::read(Some("fields=abi&omit=sources")).is_err());
        assert!(Fields::read(Some("fields=abi,nonsense")).unwrap().check(&["abi"]).is_err());
    }
}
