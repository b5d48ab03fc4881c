//! Which certificates of hosts are accepted.

use std::{path::Path, sync::Arc};

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        verify_server_name,
    },
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
    server::ParsedCertificate,
};
use tokio_rustls::TlsConnector;

use crate::EgressError;

/// Trusts the built-in authorities, those of the system, and the certificates of a file.
pub(crate) fn connector(ca_file: Option<&Path>) -> Result<TlsConnector, EgressError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    // Also reads SSL_CERT_FILE and SSL_CERT_DIR.
    let system = rustls_native_certs::load_native_certs();
    for error in &system.errors {
        tracing::warn!(%error, "cannot read certificates of the system");
    }
    roots.add_parsable_certificates(system.certs);
    let own = match ca_file {
        Some(path) => read(path, &mut roots)?,
        None => Vec::new(),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let authorities = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
    let authorities = authorities.map_err(|error| EgressError::Tls(Error::General(error.to_string())))?;
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(EgressError::Tls)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier { authorities, own }))
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(tls)))
}

/// The certificates of a file, which are added to the authorities.
fn read(path: &Path, roots: &mut RootCertStore) -> Result<Vec<CertificateDer<'static>>, EgressError> {
    let unreadable = |source| EgressError::CaFile { path: path.to_owned(), source };
    let certificates = CertificateDer::pem_file_iter(path).map_err(unreadable)?;
    let certificates: Vec<_> = certificates.collect::<Result<_, _>>().map_err(unreadable)?;
    if certificates.is_empty() {
        return Err(EgressError::NoCertificate { path: path.to_owned() });
    }
    for certificate in &certificates {
        let bad = |source| EgressError::BadCertificate { path: path.to_owned(), source };
        roots.add(certificate.clone()).map_err(bad)?;
    }
    Ok(certificates)
}

/// Accepts what the authorities signed, and the operator's own certificates themselves: `openssl req -x509` makes a
/// certificate that is its own authority, which is otherwise refused as that of a host.
#[derive(Debug)]
struct Verifier {
    authorities: Arc<WebPkiServerVerifier>,
    own: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.authorities.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            // Its time was checked before: an expired certificate is another error.
            Err(Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::Other(_)))
                if self.own.contains(certificate) =>
            {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.supported_verify_schemes()
    }
}
