//! The verification form. It works without a script; with one, the page shows the progress.

use admission::PageBudget;
use askama::Template;
use axum::{
    extract::{Query, State},
    http::StatusCode,
    response::{Html, IntoResponse, Redirect, Response},
};
use serde::Deserialize;
use verification::{OptimizerChoice, Sources, VerifyClient, VerifyError, VerifyRequest, is_license};

use super::redirects::alphanumeric;
use crate::{
    error::PageError,
    form::{Audience, FormAnswer, FormFields},
    frame::{Frame, Section, page},
    state::App,
};

/// The API accepts sources of 2 MiB; the encoding of forms may triple a text.
pub(super) const MAX_BYTES: usize = 6 * 1024 * 1024 + 64 * 1024;
const MAX_SOURCE_BYTES: usize = 2 * 1024 * 1024;

#[derive(Template)]
#[template(path = "verify.html")]
struct Verify {
    frame: Frame,
    address: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct VerifyParams {
    #[serde(default)]
    address: String,
}

pub(super) async fn show_form(
    State(app): State<App>,
    Query(params): Query<VerifyParams>,
) -> Result<Response, PageError> {
    page(&Verify {
        frame: app
            .frame("Verify a contract", Section::Contracts)
            .await
            .described(format!(
                "Verify a contract on {}: its Solidity or Vyper source is compiled and compared with its code.",
                app.names.chain
            ))
            .at("/verify"),
        address: alphanumeric(&params.address),
    })
}

/// Starts a verification and redirects to its page.
pub(super) async fn submit(
    State(app): State<App>,
    audience: Audience,
    fields: FormFields,
) -> Result<Response, PageError> {
    let back = format!("/verify?address={}", alphanumeric(fields.text("address")));
    let submitted = match read(&fields) {
        Ok(request) => {
            let client = VerifyClient { network: PageBudget::current_client().address(), owner: None };
            app.jobs.submit(client, request).await.map_err(|error| refusal(&error))
        }
        Err(text) => Err(FormAnswer::bad_input(text)),
    };
    match submitted {
        Ok(job) => Ok(Redirect::to(&format!("/verify-ui/jobs/{}", job.id())).into_response()),
        Err(answer) => answer.respond(&app, audience, "The contract is not verified", back).await,
    }
}

pub(super) fn read(fields: &FormFields) -> Result<VerifyRequest, String> {
    // Browsers send the line breaks of a text field as CR LF, whatever the source had.
    let source = fields.raw("sourceCode").replace("\r\n", "\n");
    if source.len() > MAX_SOURCE_BYTES {
        return Err("The source is longer than 2 MiB.".to_owned());
    }
    let license = fields.find("license");
    if license.is_some_and(|license| !is_license(license)) {
        return Err("The license must be an SPDX identifier of at most 64 characters.".to_owned());
    }
    Ok(VerifyRequest {
        address: fields.text("address").parse().map_err(|_| "The contract must be 0x and 40 hexadecimal digits.")?,
        sources: Sources::read(&source).map_err(|error| format!("The source {error}."))?,
        compiler: fields.text("compilerVersion").parse().map_err(|error| format!("The compiler version {error}."))?,
        license: license.map(str::to_owned),
        contract_name: fields.find("contractName").map(str::to_owned),
        optimizer: OptimizerChoice::default(),
        evm_version: None,
        via_ir: None,
        libraries: Default::default(),
        constructor_arguments: None,
    })
}

fn refusal(error: &VerifyError) -> FormAnswer {
    let key = "or enter an API key, which allows more verifications at once";
    match error {
        VerifyError::ClientLimitReached => FormAnswer::new(
            StatusCode::TOO_MANY_REQUESTS,
            format!("Your earlier verifications have not finished yet. Wait for one of them, {key}."),
        ),
        VerifyError::Busy => FormAnswer::new(
            StatusCode::TOO_MANY_REQUESTS,
            "Too many verifications are waiting. Try again in a minute.".to_owned(),
        ),
        VerifyError::AlreadyRunning => FormAnswer::new(
            StatusCode::CONFLICT,
            "A verification of this contract is already running. Wait for its result.".to_owned(),
        ),
        error => {
            let error: &dyn std::error::Error = error;
            tracing::error!(error, "cannot start a verification");
            FormAnswer::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "The verification cannot be started now. Try again shortly.",
            )
        }
    }
}

#[derive(Template)]
#[template(
    source = r#"{% for (version, fetched) in compilers %}<option value="v{{ version }}"{% if !fetched %} label="will be downloaded"{% endif %}></option>{% endfor %}"#,
    ext = "html"
)]
struct CompilerOptions {
    compilers: Vec<(String, bool)>,
}

/// The options of the field for the compiler version. Fetched on demand, since the list may have to be downloaded.
pub(super) async fn list_compilers(State(app): State<App>) -> Result<Response, PageError> {
    let Ok(available) = app.jobs.verifier().compilers().available().await else {
        return Ok(StatusCode::SERVICE_UNAVAILABLE.into_response());
    };
    let compilers = available.into_iter().map(|compiler| (compiler.version.to_string(), compiler.fetched)).collect();
    Ok(Html(CompilerOptions { compilers }.render()?).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "0x95222290dd7278aa3ddd389cc1e1d165cc4bafe5";

    fn read_form(source: &str, license: &str) -> Result<VerifyRequest, String> {
        let form = format!("address={ADDRESS}&compilerVersion=0.8.20&sourceCode={source}&license={license}");
        read(&FormFields::parse(form.as_bytes()))
    }

    #[test]
    fn line_breaks_of_a_form_are_those_of_the_source() {
        let [sent, typed] =
            ["contract+A+%7B%0D%0A%7D", "contract+A+%7B%0A%7D"].map(|source| read_form(source, "").unwrap());
        assert_eq!(format!("{sent:?}"), format!("{typed:?}"));
    }

    #[test]
    fn errors_name_the_field() {
        let error = |source, license| read_form(source, license).unwrap_err();
        assert!(error("", "").starts_with("The source "));
        assert!(error("a", "%3Cb%3E").starts_with("The license "));
        assert!(read(&FormFields::parse(b"address=0x12&sourceCode=a")).unwrap_err().starts_with("The contract "));
    }
}
