//! A door of TLS in front of a server, with a certificate that an authority of these tests has
//! given for 127.0.0.1.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The authority, as PEM.
pub(crate) const AUTHORITY: &str = include_str!("../../data/tls/authority.pem");
const CERTIFICATE: &[u8] = include_bytes!("../../data/tls/server.pem");
const KEY: &[u8] = include_bytes!("../../data/tls/server.key");

/// Where the way in to a server is.
pub(crate) async fn door(server: SocketAddr) -> SocketAddr {
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).unwrap();
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth();
    let config = config.with_single_cert(vec![certificate], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let door = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = door.local_addr().unwrap();
    actix::spawn(async move {
        while let Ok((from, _)) = door.accept().await {
            let acceptor = acceptor.clone();
            actix::spawn(async move {
                let Ok(mut from) = acceptor.accept(from).await else { return };
                let Ok(mut to) = TcpStream::connect(server).await else { return };
                let _ = tokio::io::copy_bidirectional(&mut from, &mut to).await;
            });
        }
    });
    address
}
