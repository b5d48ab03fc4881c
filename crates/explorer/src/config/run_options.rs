//! Options of `explorer run`.

use std::{fmt, path::PathBuf};

use clap::Args;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use super::{
    admin::AdminInterfaceOptions,
    indexing::{ChainOptions, TraceOptions},
    limits::LimitOptions,
    location::LocationOptions,
    log::LogOptions,
    memory::MemoryOptions,
    names::NameOptions,
    node::{CallOptions, NodeOptions},
    options::{Key, OptionGroup},
    pages::PageOptions,
    roles::RoleOptions,
    services::ServiceOptions,
    webhooks::WebhookOptions,
};

/// Names the groups once: the help lists their options in this order.
macro_rules! run_options {
    ($($group:ident: $type:ty,)*) => {
        /// Options of `run` from one source: the command line and environment, or the file. `-h` shows those that most operators
        /// need.
        #[derive(Debug, Default, Args)]
        pub(crate) struct RunOptions {
            $(
                #[command(flatten)]
                pub(crate) $group: $type,
            )*

            /// A TOML file with any of these options and the look of the pages [default: explorer/config.toml in your configuration
            /// folder, if it exists]
            ///
            /// Options have no leading dashes there. The name of the chain, its coin, a logo, colours and links of the pages are in
            /// [looks], names of exchanges in [[dex]].
            #[arg(long, env = "EXPLORER_CONFIG", value_name = "FILE")]
            pub(crate) config: Option<PathBuf>,
        }

        impl RunOptions {
            /// The options that the file may have.
            const FILE: &[&[&str]] = &[$(<$type>::FIELDS,)* $(<$type>::FILE_ONLY,)*];

            /// Fills missing options from `other`.
            pub(crate) fn or(self, other: Self) -> Self {
                Self { $($group: self.$group.or(other.$group),)* config: self.config.or(other.config) }
            }

            fn read<'de, A: MapAccess<'de>>(&mut self, field: &str, file: &mut A) -> Result<(), A::Error> {
                $(
                    if self.$group.read(field, file)? {
                        return Ok(());
                    }
                )*
                Ok(())
            }
        }
    };
}

run_options! {
    node: NodeOptions,
    location: LocationOptions,
    roles: RoleOptions,
    chain: ChainOptions,
    names: NameOptions,
    traces: TraceOptions,
    pages: PageOptions,
    limits: LimitOptions,
    services: ServiceOptions,
    webhooks: WebhookOptions,
    calls: CallOptions,
    memory: MemoryOptions,
    admin: AdminInterfaceOptions,
    log: LogOptions,
}

impl<'de> Deserialize<'de> for RunOptions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FileVisitor)
    }
}

/// Not derived: a derived reader of nested groups would not say where in the file an error is.
struct FileVisitor;

impl<'de> Visitor<'de> for FileVisitor {
    type Value = RunOptions;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("struct RunOptions")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut file: A) -> Result<RunOptions, A::Error> {
        let fields = RunOptions::FILE.concat();
        let mut options = RunOptions::default();
        while let Some(field) = file.next_key_seed(Key(&fields))? {
            options.read(field, &mut file)?;
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use domain::TokenPrefix;
    use ipnet::IpNet;

    use super::*;
    use crate::config::services::NftChoice;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        run: RunOptions,
    }

    fn line<const N: usize>(arguments: [&str; N]) -> Result<RunOptions, clap::Error> {
        Ok(Line::try_parse_from(["explorer"].into_iter().chain(arguments))?.run)
    }

    #[test]
    fn the_command_line_overrides_the_file() {
        let file: RunOptions = toml::from_str("rpc = 'http://file:1'\nlisten = '127.0.0.1:1'\nmemory = 500").unwrap();
        let line = line(["--rpc", "http://line:2,ws://line:3", "--memory", "900"]).unwrap();
        let both = line.or(file);
        assert_eq!(both.node.rpc, ["http://line:2".parse().unwrap(), "ws://line:3".parse().unwrap()]);
        assert_eq!(both.memory.memory, Some(900));
        assert_eq!(both.roles.listen, Some("127.0.0.1:1".parse().unwrap()));
    }

    #[test]
    fn every_run_option_can_be_set_in_the_environment_and_in_the_file() {
        let run = Line::command();
        let options: Vec<_> = run.get_arguments().filter(|argument| argument.get_id() != "config").collect();
        assert!((10..=40).contains(&options.len()), "{} options", options.len());
        for option in options {
            assert!(option.get_env().is_some(), "{} has no environment variable", option.get_id());
            let name = option.get_long().unwrap();
            let unknown = toml::from_str::<RunOptions>(&format!("{name} = {{}}")).unwrap_err().to_string();
            assert!(!unknown.contains("unknown field"), "{name} cannot be set in the file");
        }
    }

    #[test]
    fn the_short_help_has_the_options_that_most_operators_need() {
        let run = Line::command();
        let shown: Vec<_> = run.get_arguments().filter(|argument| !argument.is_hide_short_help_set()).collect();
        assert!((10..=15).contains(&shown.len()), "{} options", shown.len());
    }

    #[test]
    fn metadata_of_nfts_is_off_on_or_read_through_a_gateway() {
        let value = |text: &str| {
            let line = line(["--nft-metadata", text])?.services;
            let file: RunOptions = toml::from_str(&format!("nft-metadata = '{text}'")).unwrap();
            assert_eq!(file.services.nft_metadata, line.nft_metadata);
            Ok::<_, clap::Error>(line.nft_metadata.unwrap())
        };
        assert_eq!((value("off").unwrap(), value("on").unwrap()), (NftChoice::Off, NftChoice::Hosts));
        let gateway = "https://ipfs.example".parse().unwrap();
        assert_eq!(value("https://ipfs.example").unwrap(), NftChoice::Gateway(gateway));
        let error = value("yes").unwrap_err().to_string();
        assert!(error.contains("`on`, `off` or the URL of an IPFS gateway"), "{error}");
    }

    #[test]
    fn token_prefix_and_exchange_names_are_configurable() {
        let text =
            "token-prefix = 'ERC'\n[[dex]]\nname = 'House'\nfactory = '0x12'\n[[dex]]\nname = 'B'\nfactory = '0x'";
        let file: RunOptions = toml::from_str(text).unwrap();
        assert_eq!(file.pages.token_prefix, Some(TokenPrefix::Erc));
        assert_eq!(file.names.dex.iter().map(|dex| dex.name.as_str()).collect::<Vec<_>>(), ["House", "B"]);

        let both = line(["--token-prefix", "BEP"]).unwrap().or(file);
        assert_eq!((both.pages.token_prefix, both.names.dex.len()), (Some(TokenPrefix::Bep), 2));

        let error = line(["--token-prefix", "TRC"]).unwrap_err().to_string();
        assert!(error.contains("expected BEP or ERC"), "{error}");
        let error = toml::from_str::<RunOptions>("[[dex]]\nname = 'House'\nfactry = '0x12'").unwrap_err().to_string();
        assert!(error.contains("factry") && error.contains("factory"), "{error}");
    }

    #[test]
    fn trusted_proxies_are_networks_or_single_addresses() {
        let file: RunOptions = toml::from_str("trusted-proxy = ['10.0.0.0/8', '::1']").unwrap();
        assert_eq!(file.limits.trusted_proxy, ["10.0.0.0/8".parse().unwrap(), "::1/128".parse::<IpNet>().unwrap()]);
        let given = line(["--trusted-proxy", "192.0.2.1", "--trusted-proxy", "10.0.0.0/8,fd00::/8"]).unwrap();
        assert_eq!(given.limits.trusted_proxy.len(), 3);
        assert!(line(["--trusted-proxy", "10.0.0.0/99"]).is_err());
    }

    #[test]
    fn origins_may_be_a_text_or_a_list_in_the_file() {
        let text: RunOptions = toml::from_str("cors = 'https://a.example,https://b.example'").unwrap();
        let list: RunOptions = toml::from_str("cors = ['https://a.example', 'https://b.example']").unwrap();
        let given = line(["--cors", "https://a.example,https://b.example"]).unwrap();
        assert!(given.limits.cors.is_some());
        assert_eq!(text.limits.cors, given.limits.cors);
        assert_eq!(list.limits.cors, given.limits.cors);
        let off: RunOptions = toml::from_str("cors = 'off'").unwrap();
        assert_eq!(off.limits.cors, Some(api::AllowedOrigins::None));
        let error = toml::from_str::<RunOptions>("cors = ['https://a.example', '*']").unwrap_err().to_string();
        assert!(error.contains("`*` is not an origin"), "{error}");
    }

    #[test]
    fn a_misspelt_option_in_the_file_is_refused() {
        let error = toml::from_str::<RunOptions>("lisen = '127.0.0.1:1'").unwrap_err().to_string();
        assert!(error.contains("lisen") && error.contains("listen"), "{error}");
    }
}
