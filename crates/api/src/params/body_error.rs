use std::{borrow::Cow, time::Duration};

use crate::wire::ProblemCode;

/// For a complete body. Even a slow connection takes a fraction of it.
pub(crate) const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a request body is invalid. Fields are named by their path, such as `filter.address`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the body is incomplete")]
    Incomplete,
    #[error("the body is not JSON: it is not UTF-8")]
    NotUtf8,
    #[error("the body is not JSON: {reason}")]
    NotJson { reason: String },
    #[error("the body must be a JSON object")]
    NotAnObject,
    #[error("the body is nested deeper than {max} levels")]
    TooDeep { max: usize },
    #[error("{field} is given more than once")]
    Repeated { field: String },
    #[error("{field} is not known; allowed are {allowed}")]
    Unknown { field: String, allowed: String },
    #[error("{field} is not offered for {entity}; offered are {offered}")]
    FilterNotOffered { field: String, entity: &'static str, offered: String },
    #[error("{field} {rule}")]
    Invalid { field: Cow<'static, str>, rule: Cow<'static, str> },
}

impl BodyError {
    pub(crate) fn invalid(field: impl Into<Cow<'static, str>>, rule: impl Into<Cow<'static, str>>) -> Self {
        Self::Invalid { field: field.into(), rule: rule.into() }
    }

    pub(crate) fn code(&self) -> ProblemCode {
        match self {
            Self::Incomplete | Self::NotUtf8 | Self::NotJson { .. } | Self::NotAnObject | Self::TooDeep { .. } => {
                ProblemCode::MalformedBody
            }
            Self::Repeated { .. } => ProblemCode::RepeatedParameter,
            Self::Unknown { .. } => ProblemCode::UnknownField,
            Self::FilterNotOffered { .. } => ProblemCode::FilterNotOffered,
            Self::Invalid { .. } => ProblemCode::InvalidParameter,
        }
    }

    pub(crate) fn field(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Repeated { field } | Self::Unknown { field, .. } | Self::FilterNotOffered { field, .. } => {
                Some(field.clone().into())
            }
            Self::Invalid { field, .. } => Some(field.clone()),
            _ => None,
        }
    }
}
