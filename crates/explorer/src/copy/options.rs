use clap::Args;

use crate::config::Location;

#[derive(Debug, Args)]
pub(crate) struct CopyOptions {
    /// The store to copy: a data folder, or postgres://user:password@host/name
    #[arg(long, env = "EXPLORER_COPY_FROM", value_name = "DIR|URL", hide_env_values = true, value_parser = location)]
    pub(crate) from: Location,

    /// Where to copy it: a data folder, which is created if it does not exist, or the URL of a database
    #[arg(long, env = "EXPLORER_COPY_TO", value_name = "DIR|URL", hide_env_values = true, value_parser = location)]
    pub(crate) to: Location,
}

fn location(text: &str) -> Result<Location, String> {
    if text.is_empty() {
        return Err("must be a data folder or the URL of a database".to_owned());
    }
    let is_url = ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
    Ok(if is_url { Location::Database { url: text.into(), read_url: None } } else { Location::Folder(text.into()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_a_folder_or_a_url_and_is_shown_without_its_password() {
        let shown = |text: &str| location(text).map(|location| location.to_string());
        assert_eq!(shown("/srv/explorer"), Ok("/srv/explorer".to_owned()));
        assert_eq!(
            shown("postgres://me:secret@db.example/chain?sslmode=require"),
            Ok("postgres://db.example/chain".to_owned())
        );
        assert_eq!(shown("postgresql://db.example:5433/chain"), Ok("postgres://db.example:5433/chain".to_owned()));
        assert_eq!(
            shown("postgres://me:p@ss@db.example/chain?password=secret"),
            Ok("postgres://db.example/chain".to_owned())
        );
        assert!(shown("").is_err());
    }
}
