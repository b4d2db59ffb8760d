//! Which proxy an address is reached through. Known before the client is built, so that a failure can name it.

use std::sync::Arc;

use hyper_util::client::proxy::matcher::{Intercept, Matcher};

use super::address::Address;

/// The rules of proxies.
#[derive(Clone)]
pub struct Proxies(Arc<dyn Fn() -> Matcher + Send + Sync>);

impl Proxies {
    /// Those of the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`), else of the system.
    /// They are read when a client is built.
    pub fn of_system() -> Self {
        Self(Arc::new(Matcher::from_system))
    }

    /// One proxy for everything but the hosts of a list as in `NO_PROXY`.
    pub fn given(proxy: &str, except: &str) -> Self {
        let (proxy, except) = (proxy.to_owned(), except.to_owned());
        Self(Arc::new(move || Matcher::builder().all(proxy.clone()).no(except.clone()).build()))
    }

    /// The proxy on the way to an address. None is, whatever the rules say, on the way to this machine.
    pub(super) fn of(&self, address: &Address) -> Option<Proxy> {
        if address.is_loopback() {
            return None;
        }
        (self.0)().intercept(&address.join("").parse().ok()?).map(Proxy)
    }
}

/// A proxy.
pub(super) struct Proxy(Intercept);

impl Proxy {
    /// As a rule of the client.
    pub(super) fn rule(&self) -> Result<reqwest::Proxy, reqwest::Error> {
        let rule = reqwest::Proxy::all(self.0.uri().to_string())?;
        Ok(match (self.0.basic_auth(), self.0.raw_auth()) {
            (Some(value), _) => rule.custom_http_auth(value.clone()),
            (None, Some((user, password))) => rule.basic_auth(user, password),
            (None, None) => rule,
        })
    }

    /// Without the user's name and password.
    pub(super) fn shown(&self) -> String {
        self.0.uri().to_string().trim_end_matches('/').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(proxy: &str, except: &str, address: &str) -> Option<String> {
        let address = Address::parse(address, "").unwrap();
        Proxies::given(proxy, except).of(&address).map(|proxy| {
            proxy.rule().unwrap();
            proxy.shown()
        })
    }

    #[test]
    fn a_proxy_is_named_without_its_password() {
        let named = of("http://user:secret@proxy.corp:3128", "", "https://api.example");
        assert_eq!(named.as_deref(), Some("http://proxy.corp:3128"));
        let named = of("socks5h://user:secret@proxy.corp:1080", "", "https://api.example");
        assert_eq!(named.as_deref(), Some("socks5h://proxy.corp:1080"));
    }

    #[test]
    fn this_machine_and_the_exceptions_are_reached_without_one() {
        let proxy = "http://127.0.0.1:9";
        for address in ["http://127.0.0.1:8080", "http://localhost:1/v1", "http://[::1]:1"] {
            assert_eq!(of(proxy, "", address), None, "{address}");
        }
        assert_eq!(of(proxy, "127.0.0.1,.corp", "https://model.corp"), None);
        assert_eq!(of(proxy, "127.0.0.1,.corp", "https://api.example").as_deref(), Some(proxy));
        assert_eq!(of("", "", "https://api.example"), None);
    }
}
