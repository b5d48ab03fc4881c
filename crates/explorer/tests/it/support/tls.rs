//! Servers with a certificate of a new certificate authority.

use std::sync::Arc;

use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// A certificate for a host, its key, and the authority that signed it.
pub(crate) struct Identity {
    pub(crate) certificate: Certificate,
    pub(crate) key: KeyPair,
    /// As PEM.
    pub(crate) authority: String,
}

pub(crate) fn identity_of(host: &str) -> Identity {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().unwrap();
    let pem = authority.self_signed(&authority_key).unwrap().pem();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![host.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    Identity { certificate, key, authority: pem }
}

/// A certificate that is its own authority, as `openssl req -x509` makes them.
pub(crate) fn self_signed(host: &str, change: impl FnOnce(&mut CertificateParams)) -> Identity {
    let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    Identity { authority: certificate.pem(), certificate, key }
}

/// Accepts connections as `host`; also returns the certificate of the authority, as PEM.
pub(crate) fn acceptor_for(host: &str) -> (TlsAcceptor, String) {
    acceptor_of(identity_of(host))
}

pub(crate) fn acceptor_of(identity: Identity) -> (TlsAcceptor, String) {
    let Identity { certificate, key, authority } = identity;
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
        .unwrap();
    (TlsAcceptor::from(Arc::new(config)), authority)
}
