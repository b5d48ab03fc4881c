//! Options of one source: the command line and environment, or the configuration file.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};

/// Some options of `run`, declared with [`options!`].
pub(super) trait OptionGroup: Default {
    /// Options on the command line and in the file. A key of the file is the name of its field, with hyphens.
    const FIELDS: &'static [&'static str];
    /// Options only in the file.
    const FILE_ONLY: &'static [&'static str];

    /// Reads the value of a field from the file. False if this group does not have the field.
    fn read<'de, A: MapAccess<'de>>(&mut self, field: &str, file: &mut A) -> Result<bool, A::Error>;

    /// Fills missing options from `other`.
    fn or(self, other: Self) -> Self;
}

/// A value that may be missing.
pub(super) trait OptionValue {
    fn or_value(self, other: Self) -> Self;
}

impl<T> OptionValue for Option<T> {
    fn or_value(self, other: Self) -> Self {
        self.or(other)
    }
}

impl<T> OptionValue for Vec<T> {
    fn or_value(self, other: Self) -> Self {
        if self.is_empty() { other } else { self }
    }
}

/// Declares a group of options. Each is written once: its flag and its key in the file are the name of the field. The attributes are
/// those of clap; `#[file(parse)]` names the function that reads the value in the file, if it is not read as its type is.
macro_rules! options {
    (
        $(#[$about:meta])*
        pub(crate) struct $group:ident {
            $(
                $(#[doc = $doc:tt])+
                #[arg($($arg:tt)+)]
                $(#[file($parse:path)])?
                pub(crate) $field:ident: $type:ty,
            )*
        }
        $(only in the file {
            $(
                $(#[doc = $file_doc:tt])+
                pub(crate) $file_field:ident: $file_type:ty,
            )+
        })?
    ) => {
        $(#[$about])*
        #[derive(Debug, Default, clap::Args)]
        pub(crate) struct $group {
            $(
                $(#[doc = $doc])+
                #[arg($($arg)+)]
                pub(crate) $field: $type,
            )*
            $($(
                $(#[doc = $file_doc])+
                #[arg(skip)]
                pub(crate) $file_field: $file_type,
            )+)?
        }

        impl $crate::config::options::OptionGroup for $group {
            const FIELDS: &'static [&'static str] = &[$(stringify!($field)),*];
            const FILE_ONLY: &'static [&'static str] = &[$($(stringify!($file_field)),+)?];

            fn read<'de, A: serde::de::MapAccess<'de>>(&mut self, field: &str, file: &mut A) -> Result<bool, A::Error> {
                match field {
                    $(stringify!($field) => {
                        self.$field = $crate::config::options::read_value!(file, $type $(, $parse)?);
                    })*
                    $($(stringify!($file_field) => self.$file_field = file.next_value()?,)+)?
                    _ => return Ok(false),
                }
                Ok(true)
            }

            fn or(self, other: Self) -> Self {
                use $crate::config::options::OptionValue;

                Self {
                    $($field: self.$field.or_value(other.$field),)*
                    $($($file_field: self.$file_field.or_value(other.$file_field),)+)?
                }
            }
        }
    };
}

macro_rules! read_value {
    ($file:ident, $type:ty) => {
        $file.next_value::<$type>()?
    };
    ($file:ident, $type:ty, $parse:path) => {{
        struct Parsed($type);

        impl<'de> serde::Deserialize<'de> for Parsed {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $parse(deserializer).map(Self)
            }
        }

        let Parsed(value) = $file.next_value()?;
        value
    }};
}

pub(super) use options;
pub(super) use read_value;

/// A key of the file, of which only these fields are allowed.
pub(super) struct Key<'a>(pub(super) &'a [&'static str]);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = &'static str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("field identifier")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        let Self(fields) = self;
        let found = fields.iter().find(|field| *field.replace('_', "-") == *key);
        found.copied().ok_or_else(|| {
            let expected: Vec<_> = fields.iter().map(|field| format!("`{}`", field.replace('_', "-"))).collect();
            E::custom(format!("unknown field `{key}`, expected one of {}", expected.join(", ")))
        })
    }
}
