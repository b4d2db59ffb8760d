//! HTTP to one provider: one base address, one client that is built at the first request.
//!
//! There is never a limit on a whole answer, only on silence. Redirects are not followed, so that a key goes
//! to the configured host and to no other. Dropping an answer closes its connection.

pub mod address;
pub mod events;
pub mod proxy;

mod retry_after;

use std::error::Error as _;
use std::io;
use std::sync::{Arc, Once};
use std::time::{Duration, SystemTime};

use dsh_protocol::content::ModelFailure;
use futures_util::stream::{self, BoxStream, StreamExt};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::sync::OnceCell;

use crate::adapter::failure;
use crate::credentials::Secret;
use address::Address;
use proxy::Proxies;

/// How long connections without a request are kept.
const IDLE_CONNECTION: Duration = Duration::from_secs(30);

/// A body, piece by piece.
pub type Bytes = BoxStream<'static, Result<Arc<[u8]>, ModelFailure>>;

/// How long to wait for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// For the next byte, also the first one.
    pub idle: Duration,
}

/// One provider's place on the network.
pub struct Transport {
    address: Address,
    patience: Patience,
    proxies: Proxies,
    client: OnceCell<Connected>,
}

/// A client and the proxy that it goes through.
struct Connected {
    client: reqwest::Client,
    /// Without the user's name and password.
    proxy: Option<String>,
}

/// What to send.
pub struct Post<'a> {
    /// The path under the base address, without a leading `/`.
    pub path: &'a str,
    /// The key, if there is one.
    pub key: Option<KeyHeader<'a>>,
    /// Further headers.
    pub headers: &'a [(&'static str, &'a str)],
    /// JSON.
    pub body: &'a [u8],
}

/// How a key is sent.
#[derive(Clone, Copy)]
pub struct KeyHeader<'a> {
    /// The header's name.
    pub name: &'static str,
    /// What stands before the key, such as `Bearer `.
    pub prefix: &'static str,
    /// The key.
    pub secret: &'a Secret,
}

impl Transport {
    /// A place to be asked later; nothing happens yet.
    pub fn new(address: Address, patience: Patience, proxies: Proxies) -> Self {
        Self { address, patience, proxies, client: OnceCell::new() }
    }

    /// How long it waits.
    pub fn patience(&self) -> Patience {
        self.patience
    }

    /// Sends a request and waits for the status and the headers.
    pub async fn post(&self, post: Post<'_>) -> Result<Answer, ModelFailure> {
        let connected = self.client.get_or_try_init(|| self.connect()).await?;
        let mut request = connected
            .client
            .post(self.address.join(post.path))
            .header("content-type", "application/json")
            .body(post.body.to_vec());
        for (name, value) in post.headers {
            request = request.header(*name, *value);
        }
        if let Some(key) = post.key {
            request = request.headers(key_header(key)?);
        }
        self.send(connected, request).await
    }

    /// Asks for what is at a path and waits for the status and the headers.
    pub async fn get(
        &self,
        path: &str,
        key: Option<KeyHeader<'_>>,
    ) -> Result<Answer, ModelFailure> {
        let connected = self.client.get_or_try_init(|| self.connect()).await?;
        let mut request = connected.client.get(self.address.join(path));
        if let Some(key) = key {
            request = request.headers(key_header(key)?);
        }
        self.send(connected, request).await
    }

    async fn send(
        &self,
        connected: &Connected,
        request: reqwest::RequestBuilder,
    ) -> Result<Answer, ModelFailure> {
        let idle = self.patience.idle;
        let sent = tokio::time::timeout(idle, request.send()).await;
        let response = sent.map_err(|_elapsed| silent(idle))?;
        let response = response.map_err(|error| self.unreached(connected, &error))?;
        Ok(Answer { response, lost_by: self.peer(connected) })
    }

    /// Builds the client. It reads the system's certificates, so not on a thread that others wait for.
    async fn connect(&self) -> Result<Connected, ModelFailure> {
        let (address, patience) = (self.address.clone(), self.patience);
        let proxies = self.proxies.clone();
        let building = tokio::task::spawn_blocking(move || build(&address, patience, &proxies));
        let built = building.await.map_err(|error| failure("TRANSPORT", error.to_string()))?;
        built.map_err(|error| {
            let why = root_cause(&error);
            failure("TRANSPORT", format!("cannot prepare to ask {}: {why}", self.address.host()))
        })
    }

    /// Who is at the other end, as a person would say it.
    fn peer(&self, connected: &Connected) -> String {
        match &connected.proxy {
            Some(proxy) => format!("{} through the proxy {proxy}", self.address.host()),
            None => self.address.host(),
        }
    }

    fn unreached(&self, connected: &Connected, error: &reqwest::Error) -> ModelFailure {
        let code = if error.is_timeout() { "TIMEOUT" } else { "TRANSPORT" };
        let peer = self.peer(connected);
        failure(code, format!("cannot reach {peer}: {}", root_cause(error)))
    }
}

fn build(
    address: &Address,
    patience: Patience,
    proxies: &Proxies,
) -> Result<Connected, reqwest::Error> {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // An error says that the embedding program has chosen one, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let mut builder = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(patience.connect)
        .pool_idle_timeout(IDLE_CONNECTION)
        .user_agent(concat!("dsh-ls/", env!("CARGO_PKG_VERSION")));
    if !address.is_encrypted() {
        // A machine without certificates can still ask a model of its own.
        builder = builder.tls_certs_only([]);
    }
    let proxy = proxies.of(address);
    if let Some(proxy) = &proxy {
        builder = builder.proxy(proxy.rule()?);
    }
    let client = builder.build()?;
    Ok(Connected { client, proxy: proxy.map(|proxy| proxy.shown()) })
}

fn key_header(key: KeyHeader<'_>) -> Result<HeaderMap, ModelFailure> {
    let refused = || failure("INVALID_CREDENTIAL", "the key cannot stand in a header");
    let text = format!("{}{}", key.prefix, key.secret.expose());
    let mut value = HeaderValue::from_str(&text).map_err(|_unclean| refused())?;
    value.set_sensitive(true);
    Ok(HeaderMap::from_iter([(HeaderName::from_static(key.name), value)]))
}

/// A provider's answer, of which the status and the headers have come.
pub struct Answer {
    response: reqwest::Response,
    lost_by: String,
}

impl Answer {
    /// The status.
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// A header, if it is there and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// How long the provider asks to wait, in milliseconds.
    pub fn retry_after_ms(&self) -> Option<u64> {
        retry_after::parse(
            self.header("retry-after-ms"),
            self.header("retry-after"),
            SystemTime::now(),
        )
    }

    /// The body, piece by piece.
    pub fn bytes(self) -> Bytes {
        let Self { response, lost_by } = self;
        let pieces = stream::unfold(Some(response), move |response| {
            let lost_by = lost_by.clone();
            async move {
                let mut response = response?;
                match response.chunk().await {
                    Ok(Some(bytes)) => Some((Ok(Arc::from(bytes.as_ref())), Some(response))),
                    Ok(None) => None,
                    Err(error) if ended_early(&error) => None,
                    Err(error) => Some((Err(torn(&lost_by, &error)), None)),
                }
            }
        });
        pieces.fuse().boxed()
    }
}

/// The beginning of a body, as far as it comes: for what is short or shown in part.
pub async fn beginning(mut bytes: Bytes, limit: usize, idle: Duration) -> Vec<u8> {
    let mut body = Vec::new();
    while body.len() < limit
        && let Ok(Some(Ok(piece))) = tokio::time::timeout(idle, bytes.next()).await
    {
        body.extend_from_slice(&piece);
    }
    body.truncate(limit);
    body
}

fn torn(lost_by: &str, error: &reqwest::Error) -> ModelFailure {
    failure("TRANSPORT", format!("the connection to {lost_by} broke: {}", root_cause(error)))
}

/// Whether the peer closed in good order before its own framing said so. What has come decides then whether
/// the answer is complete.
fn ended_early(error: &reqwest::Error) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>()
            && error.kind() == io::ErrorKind::UnexpectedEof
        {
            return true;
        }
        cause = error.source();
    }
    false
}

/// The last error of the chain: the ones before it repeat it or say the address, which may hold a password.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    if error.source().is_none() { "the request failed".to_owned() } else { cause.to_string() }
}

fn silent(idle: Duration) -> ModelFailure {
    failure("TIMEOUT", format!("the model sent nothing for {} s", idle.as_secs_f64()))
}
