//! `POST v2/verify/...`: a submission returns the id of a job.

use std::sync::Arc;

use api::{
    Caller,
    dialect::{ReadBody, read_body, verify_client},
};
use axum::{
    Json,
    body::Body,
    extract::{FromRequestParts, Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use client_address::Client;
use domain::{Address, MatchKind};
use serde_json::{Map, Value, json};
use verification::{OptimizerChoice, Sources, VerifyRequest};

use super::{contract::input, error::SourcifyError, paths::ContractPath};
use crate::app::App;

const MAX_BODY: usize = 8 << 20;

/// The sender of a submission, and its body.
struct Submission {
    client: Client,
    owner: Option<Address>,
    body: Map<String, Value>,
    /// Of what the body was parsed.
    _read: ReadBody,
}

impl Submission {
    async fn read(request: Request) -> Result<Self, SourcifyError> {
        let (mut head, body) = request.into_parts();
        let Ok(client) = Client::from_request_parts(&mut head, &()).await;
        let Ok(caller) = Caller::from_request_parts(&mut head, &()).await;
        let body: Body = body;
        let read = read_body(client, &head.headers, body, MAX_BODY).await;
        let read = read.map_err(|problem| SourcifyError::of_problem(&problem))?;
        let not_json =
            |_| SourcifyError::new(StatusCode::BAD_REQUEST, "invalid_json", "The body must be a JSON object");
        let body =
            if read.bytes.is_empty() { Map::new() } else { serde_json::from_slice(&read.bytes).map_err(not_json)? };
        Ok(Self { client, owner: caller.owner(), body, _read: read })
    }

    fn text(&self, name: &str) -> Result<&str, SourcifyError> {
        let text = self.body.get(name).and_then(Value::as_str);
        text.ok_or_else(|| SourcifyError::invalid(format!("{name} is missing, or is not a string")))
    }

    async fn submit(
        &self,
        app: &App,
        address: Address,
        sources: Sources,
        compiler: &str,
        name: Option<&str>,
    ) -> Result<Response, SourcifyError> {
        if let Some(contract) = app.find_contract(address).await?
            && contract.twin_of.is_none()
            && contract.code.runtime_match == MatchKind::Exact
            && contract.creation_match() == Some(MatchKind::Exact)
        {
            return Err(SourcifyError::new(
                StatusCode::CONFLICT,
                "already_verified",
                format!("The contract {} is already verified with an exact match", address.to_checksum(None)),
            ));
        }
        let compiler =
            sources.compiler(compiler).map_err(|error| SourcifyError::invalid(format!("compilerVersion {error}")))?;
        let request = VerifyRequest {
            address,
            sources,
            compiler,
            license: None,
            contract_name: name.map(str::to_owned),
            optimizer: OptimizerChoice::default(),
            evm_version: None,
            via_ir: None,
            libraries: Default::default(),
            constructor_arguments: None,
        };
        let client = verify_client(self.client, self.owner);
        let job = app.services.jobs.submit(client, request).await.map_err(SourcifyError::of_verify)?;
        Ok((StatusCode::ACCEPTED, Json(json!({ "verificationId": job.id().to_string() }))).into_response())
    }
}

fn read_sources(text: &str) -> Result<Sources, SourcifyError> {
    Sources::read(text).map_err(|error| SourcifyError::invalid(format!("The source {error}")))
}

/// `POST v2/verify/{chainId}/{address}`.
pub(super) async fn verify_standard_json(
    State(app): State<Arc<App>>,
    ContractPath { address, .. }: ContractPath,
    request: Request,
) -> Result<Response, SourcifyError> {
    let submission = Submission::read(request).await?;
    let input = match submission.body.get("stdJsonInput") {
        Some(input @ Value::Object(_)) => input.to_string(),
        _ => return Err(SourcifyError::invalid("stdJsonInput is missing, or is not an object")),
    };
    let name = submission.text("contractIdentifier")?;
    if !name.contains(':') {
        return Err(SourcifyError::invalid("contractIdentifier must be a file and a name, such as A.sol:A"));
    }
    let compiler = submission.text("compilerVersion")?;
    submission.submit(&app, address, read_sources(&input)?, compiler, Some(name)).await
}

/// `POST v2/verify/metadata/{chainId}/{address}`.
pub(super) async fn verify_metadata(
    State(app): State<Arc<App>>,
    ContractPath { address, .. }: ContractPath,
    request: Request,
) -> Result<Response, SourcifyError> {
    let submission = Submission::read(request).await?;
    let metadata: Value = match submission.body.get("metadata") {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        Some(object) => object.clone(),
        None => Value::Null,
    };
    let Some(compiler) = metadata.pointer("/compiler/version").and_then(Value::as_str).map(str::to_owned) else {
        return Err(SourcifyError::invalid("metadata is missing, or is not that of a compiler"));
    };
    let Some(Value::Object(sources)) = submission.body.get("sources") else {
        return Err(SourcifyError::invalid("sources is missing, or is not an object"));
    };
    let mut files = Map::new();
    for (path, content) in sources {
        let Some(content) = content.as_str() else {
            return Err(SourcifyError::invalid("every source must be a string"));
        };
        files.insert(path.clone(), json!({ "content": content }));
    }
    files.insert("metadata.json".to_owned(), metadata);
    submission.submit(&app, address, read_sources(&Value::from(files).to_string())?, &compiler, None).await
}

/// `POST v2/verify/similarity/{chainId}/{address}`: verifies with the sources of a contract with the same code.
pub(super) async fn verify_similarity(
    State(app): State<Arc<App>>,
    ContractPath { address, .. }: ContractPath,
    request: Request,
) -> Result<Response, SourcifyError> {
    let submission = Submission::read(request).await?;
    let Some(similar) = app.find_contract(address).await? else {
        return Err(SourcifyError::new(
            StatusCode::NOT_FOUND,
            "no_match",
            "No verified contract has the code of this one",
        ));
    };
    let input = serde_json::to_string(&input(&similar)).unwrap_or_default();
    let name = format!("{}:{}", similar.code.file, similar.code.name);
    submission.submit(&app, address, read_sources(&input)?, &similar.code.compiler, Some(&name)).await
}
