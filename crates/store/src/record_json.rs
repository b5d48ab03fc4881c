//! The names of records in JSON, for files that outlive a version and fit every store. A change of a name needs a new version of
//! the format.

use std::{fmt::Display, str::FromStr};

use crate::MatchedBlock;
use domain::{
    Address, ApiKey, ApiKeyId, Artifacts, Attempt, AttemptOutcome, B256, BlockNumber, BlockRef, Bytes, CreationCheck,
    CreationId, CreationProof, CreationTemplate, Delivery, DeliveryId, DeliveryNumber, DeliveryStatus, Deployment,
    DropCount, EventKind, EventKinds, EventLocation, FailureSource, JobFailure, JobId, JobRefusal, JobResult,
    JobVerdict, KeyDigest, LibraryOffset, MatchKind, RetiredSecret, SealedSecret, SourceFile, TransactionFailure,
    UnixMillis, VerificationJob, VerifiedCode, Webhook, WebhookId,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// An optional value of a type that is defined elsewhere.
macro_rules! optional {
    ($module:ident, $of:ty, $definition:literal) => {
        pub(crate) mod $module {
            use super::*;

            #[derive(Serialize, Deserialize)]
            #[serde(transparent)]
            struct Item(#[serde(with = $definition)] $of);

            pub(crate) fn serialize<S: Serializer>(value: &Option<$of>, to: S) -> Result<S::Ok, S::Error> {
                value.clone().map(Item).serialize(to)
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<$of>, D::Error> {
                Ok(Option::<Item>::deserialize(from)?.map(|Item(value)| value))
            }
        }
    };
}

/// A list of values of a type that is defined elsewhere.
macro_rules! list {
    ($module:ident, $of:ty, $definition:literal) => {
        mod $module {
            use super::*;

            #[derive(Serialize, Deserialize)]
            #[serde(transparent)]
            struct Item(#[serde(with = $definition)] $of);

            pub(crate) fn serialize<S: Serializer>(values: &[$of], to: S) -> Result<S::Ok, S::Error> {
                to.collect_seq(values.iter().cloned().map(Item))
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<$of>, D::Error> {
                Ok(Vec::<Item>::deserialize(from)?.into_iter().map(|Item(value)| value).collect())
            }
        }
    };
}

optional!(optional_block, BlockRef, "BlockRefJson");
optional!(optional_location, EventLocation, "EventLocationJson");
optional!(optional_match, MatchKind, "MatchKindJson");
optional!(optional_proof, CreationProof, "CreationProofJson");
optional!(optional_result, JobResult, "JobResultJson");
list!(kinds, EventKind, "EventKindJson");
list!(attempts, Attempt, "AttemptJson");
list!(retired_secrets, RetiredSecret, "RetiredSecretJson");
list!(sources, SourceFile, "SourceFileJson");
list!(links, LibraryOffset, "LibraryOffsetJson");

/// As the text that the type is shown as.
mod as_text {
    use super::*;

    pub(crate) fn serialize<T: Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub(crate) fn deserialize<'de, T: FromStr<Err: Display>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

mod digest {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(digest: &KeyDigest, to: S) -> Result<S::Ok, S::Error> {
        B256::from(*digest.as_bytes()).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<KeyDigest, D::Error> {
        B256::deserialize(from).map(|digest| KeyDigest::new(digest.0))
    }
}

mod secret {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(secret: &SealedSecret, to: S) -> Result<S::Ok, S::Error> {
        Bytes::copy_from_slice(secret.as_bytes()).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SealedSecret, D::Error> {
        Bytes::deserialize(from).map(|secret| SealedSecret::new(secret.to_vec()))
    }
}

mod event_kinds {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(kinds: &EventKinds, to: S) -> Result<S::Ok, S::Error> {
        kinds::serialize(&kinds.iter().collect::<Vec<_>>(), to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<EventKinds, D::Error> {
        Ok(kinds::deserialize(from)?.into_iter().collect())
    }
}

macro_rules! json {
    (struct $name:ident of $of:literal { $($(#[$attribute:meta])* $field:ident: $type:ty,)+ }) => {
        #[derive(Serialize, Deserialize)]
        #[serde(remote = $of, rename_all = "camelCase", deny_unknown_fields)]
        pub(crate) struct $name {
            $($(#[$attribute])* $field: $type,)+
        }
    };
    (enum $name:ident of $of:literal { $($(#[$attribute:meta])* $variant:ident $(($(#[$inner:meta])* $type:ty))?
        $({ $($(#[$part:meta])* $field:ident: $field_type:ty,)+ })?,)+ }) => {
        #[derive(Serialize, Deserialize)]
        #[serde(remote = $of, rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
        pub(crate) enum $name {
            $($(#[$attribute])* $variant $(($(#[$inner])* $type))? $({ $($(#[$part])* $field: $field_type,)+ })?,)+
        }
    };
}

json! { struct BlockRefJson of "BlockRef" { number: BlockNumber, hash: B256, } }
json! { struct MatchedBlockJson of "MatchedBlock" {
    #[serde(with = "BlockRefJson")]
    block: BlockRef,
    known_to: WebhookId,
} }
json! { struct ApiKeyJson of "ApiKey" {
    id: ApiKeyId,
    #[serde(with = "digest")]
    digest: KeyDigest,
    owner: Address,
    prefix: String,
    label: String,
    requests_per_minute: u32,
    total_requests: u64,
    created_at: UnixMillis,
    last_used_at: UnixMillis,
    active: bool,
} }
json! { struct RetiredSecretJson of "RetiredSecret" {
    #[serde(with = "secret")]
    secret: SealedSecret,
    until: UnixMillis,
} }
json! { struct WebhookJson of "Webhook" {
    id: WebhookId,
    owner: Address,
    url: String,
    watched: Address,
    #[serde(with = "event_kinds")]
    events: EventKinds,
    active: bool,
    created_at: UnixMillis,
    #[serde(with = "optional_block")]
    after: Option<BlockRef>,
    #[serde(with = "secret")]
    secret: SealedSecret,
    #[serde(with = "retired_secrets")]
    retired_secrets: Vec<RetiredSecret>,
    last_triggered_at: Option<UnixMillis>,
    fail_count: u32,
    failing_since: Option<UnixMillis>,
    proven: bool,
} }
json! { enum EventKindJson of "EventKind" { Tx, TokenTransfer, Removed, Ping, Internal, } }
json! { struct EventLocationJson of "EventLocation" {
    #[serde(with = "BlockRefJson")]
    block: BlockRef,
    tx_hash: B256,
} }
json! { struct DeliveryJson of "Delivery" {
    webhook: WebhookId,
    number: DeliveryNumber,
    #[serde(with = "as_text")]
    id: DeliveryId,
    #[serde(with = "EventKindJson")]
    kind: EventKind,
    #[serde(with = "optional_location")]
    location: Option<EventLocation>,
    created_at: UnixMillis,
    #[serde(with = "DeliveryStatusJson")]
    status: DeliveryStatus,
    retracted: bool,
    attempt_count: u32,
    #[serde(with = "attempts")]
    attempts: Vec<Attempt>,
} }
json! { enum DeliveryStatusJson of "DeliveryStatus" { Pending { due: Option<UnixMillis>, }, Delivered, Failed, Cancelled, } }
json! { struct AttemptJson of "Attempt" {
    at: UnixMillis,
    millis: u32,
    #[serde(with = "AttemptOutcomeJson")]
    outcome: AttemptOutcome,
} }
json! { enum AttemptOutcomeJson of "AttemptOutcome" {
    Answered { status: u16, body: String, },
    Unanswered { reason: String, sent: bool, },
} }
json! { struct DropCountJson of "DropCount" { total: u64, reported: u64, } }
json! { enum MatchKindJson of "MatchKind" { Partial, Exact, } }
json! { struct VerifiedCodeJson of "VerifiedCode" {
    code_hash: B256,
    name: String,
    compiler: String,
    #[serde(with = "MatchKindJson")]
    runtime_match: MatchKind,
    license: Option<String>,
    verified_at: UnixMillis,
    names_own_address: bool,
    file: String,
    abi: String,
    settings: String,
    #[serde(with = "sources")]
    sources: Vec<SourceFile>,
    libraries: Vec<(String, Address)>,
    #[serde(with = "ArtifactsJson")]
    artifacts: Artifacts,
    #[serde(with = "CreationTemplateJson")]
    creation: CreationTemplate,
} }
json! { struct SourceFileJson of "SourceFile" { path: String, content: String, } }
json! { struct ArtifactsJson of "Artifacts" {
    metadata: String,
    storage_layout: Option<String>,
    userdoc: Option<String>,
    devdoc: Option<String>,
    input_settings: String,
} }
json! { struct CreationTemplateJson of "CreationTemplate" {
    code: Bytes,
    #[serde(with = "links")]
    links: Vec<LibraryOffset>,
    metadata: Vec<std::ops::Range<usize>>,
    proves_sources: bool,
} }
json! { struct LibraryOffsetJson of "LibraryOffset" { library: String, start: usize, } }
json! { struct DeploymentJson of "Deployment" {
    #[serde(with = "CreationIdJson")]
    creation: CreationId,
    build: B256,
    #[serde(with = "optional_proof")]
    proof: Option<CreationProof>,
} }
json! { struct CreationIdJson of "CreationId" { tx_hash: B256, block_hash: B256, } }
json! { struct CreationProofJson of "CreationProof" {
    #[serde(with = "MatchKindJson")]
    kind: MatchKind,
    arguments: Bytes,
    libraries: Vec<(String, Address)>,
} }
json! { struct VerificationJobJson of "VerificationJob" {
    #[serde(with = "as_text")]
    id: JobId,
    address: Address,
    submitted_at: UnixMillis,
    #[serde(with = "optional_result")]
    result: Option<JobResult>,
} }
json! { struct JobResultJson of "JobResult" {
    finished_at: UnixMillis,
    compilation_millis: Option<u64>,
    #[serde(with = "JobVerdictJson")]
    verdict: JobVerdict,
    message: String,
} }
json! { enum JobVerdictJson of "JobVerdict" {
    Verified {
        name: String,
        #[serde(with = "MatchKindJson")]
        runtime_match: MatchKind,
        #[serde(with = "CreationCheckJson")]
        creation: CreationCheck,
    },
    Refused {
        #[serde(with = "JobRefusalJson")]
        reason: JobRefusal,
        #[serde(with = "optional_match")]
        creation_match: Option<MatchKind>,
    },
    Failed(#[serde(with = "JobFailureJson")] JobFailure),
} }
json! { enum CreationCheckJson of "CreationCheck" { Matches(#[serde(with = "MatchKindJson")] MatchKind), Unknown, Differs, } }
json! { enum JobRefusalJson of "JobRefusal" { Compilation, NoMatch, } }
json! { enum JobFailureJson of "JobFailure" {
    NoCode, CompilerVersion, CompilerUnavailable, NodeUnavailable, StoreUnavailable, Internal,
} }
json! { struct TransactionFailureJson of "TransactionFailure" {
    error: String,
    data: Option<Bytes>,
    #[serde(with = "FailureSourceJson")]
    source: FailureSource,
} }
json! { enum FailureSourceJson of "FailureSource" { Trace, ParentBlock, } }
