use std::borrow::Cow;

use crate::wire::ProblemCode;

/// Characters of a name that is the client's own invention, at most, in an answer.
const SHOWN_CHARACTERS: usize = 64;

/// What is wrong with a body. Fields are named by their path, such as `filter.address`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BodyFault {
    #[error("the body is not JSON: it is not UTF-8")]
    NotUtf8,
    #[error("the body is not JSON: {reason}")]
    NotJson { reason: String },
    #[error("the body must be a JSON object")]
    NotAnObject,
    #[error("{field} is given more than once")]
    Repeated { field: String },
    #[error("{field} is not known; allowed are {allowed}")]
    Unknown { field: String, allowed: String },
    #[error("{field} is not offered for {entity}; offered are {offered}")]
    NotOffered { field: String, entity: &'static str, offered: String },
    #[error("{field} {rule}")]
    Invalid { field: Cow<'static, str>, rule: Cow<'static, str> },
}

impl BodyFault {
    pub(crate) fn invalid(field: impl Into<Cow<'static, str>>, rule: impl Into<Cow<'static, str>>) -> Self {
        Self::Invalid { field: field.into(), rule: rule.into() }
    }

    pub(crate) fn code(&self) -> ProblemCode {
        match self {
            Self::NotUtf8 | Self::NotJson { .. } | Self::NotAnObject => ProblemCode::MalformedBody,
            Self::Repeated { .. } => ProblemCode::RepeatedParameter,
            Self::Unknown { .. } => ProblemCode::UnknownField,
            Self::NotOffered { .. } => ProblemCode::FilterNotOffered,
            Self::Invalid { .. } => ProblemCode::InvalidParameter,
        }
    }

    pub(crate) fn field(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Repeated { field } | Self::Unknown { field, .. } | Self::NotOffered { field, .. } => {
                Some(field.clone().into())
            }
            Self::Invalid { field, .. } => Some(field.clone()),
            _ => None,
        }
    }
}

/// A client's own name, short enough to give back.
pub(super) fn shown(name: &str) -> String {
    match name.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}
