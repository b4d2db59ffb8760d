//! The base address of a provider.

use std::net::IpAddr;

use url::{Host, Url};

/// A base address in its canonical form: `http` or `https`, no user, no query, no `/` at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(Url);

/// Why a text is no base address. The texts repeat nothing of it, as it may hold a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    /// There is no `http://` or `https://`.
    #[error("an address begins with http:// or https://")]
    Scheme,
    /// It holds a user's name or password.
    #[error("an address holds no user name and no password; keys belong into credentials")]
    User,
    /// It holds a query or a fragment.
    #[error("an address ends before `?` and `#`")]
    Query,
    /// It is no address in another way.
    #[error("not an address such as https://host/v1")]
    Shape,
}

impl Address {
    /// Reads what a person wrote. White space around it and `/` at its end do not count. An address without
    /// a path gets `default_path`.
    pub fn parse(text: &str, default_path: &str) -> Result<Self, BadAddress> {
        let text = text.trim();
        let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        if !matches!(scheme.as_deref(), Some("http" | "https")) {
            return Err(BadAddress::Scheme);
        }
        let mut url = Url::parse(text).map_err(|_shape| BadAddress::Shape)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BadAddress::User);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(BadAddress::Query);
        }
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(if path.is_empty() { default_path } else { &path });
        Ok(Self(url))
    }

    /// The address of something under it.
    pub fn join(&self, path: &str) -> String {
        format!("{}/{path}", self.0.as_str().trim_end_matches('/'))
    }

    /// Host and, where it is not the scheme's own, port.
    pub fn host(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        self.0.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Whether it is `https`.
    pub fn is_encrypted(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether it is this machine.
    pub fn is_loopback(&self) -> bool {
        let own = |address: IpAddr| address.is_loopback() || address.is_unspecified();
        match self.0.host() {
            Some(Host::Domain(name)) => {
                let name = name.trim_end_matches('.');
                name == "localhost" || name.ends_with(".localhost")
            }
            Some(Host::Ipv4(address)) => own(address.into()),
            Some(Host::Ipv6(address)) => own(address.to_canonical()),
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_becomes_one_form() {
        for (text, path, joined) in [
            ("https://a.example", "", "https://a.example/x"),
            (" https://a.example/ \n", "", "https://a.example/x"),
            ("https://a.example", "/v1", "https://a.example/v1/x"),
            ("https://a.example/v1/", "/v1", "https://a.example/v1/x"),
            ("https://a.example/api/v1//", "/v1", "https://a.example/api/v1/x"),
            ("HTTP://A.example:8080", "/v1", "http://a.example:8080/v1/x"),
        ] {
            assert_eq!(
                Address::parse(text, path).map(|address| address.join("x")).as_deref(),
                Ok(joined)
            );
        }
    }

    #[test]
    fn what_is_no_address_says_why_without_repeating_it() {
        for (text, why) in [
            ("a.example/v1", BadAddress::Scheme),
            ("localhost:8080", BadAddress::Scheme),
            ("ftp://a.example", BadAddress::Scheme),
            ("", BadAddress::Scheme),
            ("https://", BadAddress::Shape),
            ("https://sk-1@a.example", BadAddress::User),
            ("https://a.example?key=sk-1", BadAddress::Query),
        ] {
            let error = Address::parse(text, "").unwrap_err();
            assert_eq!(error, why, "{text}");
            assert!(!error.to_string().contains("sk-1"));
        }
    }

    #[test]
    fn this_machine_has_many_names() {
        let loopback = |text: &str| Address::parse(text, "").unwrap().is_loopback();
        for text in [
            "http://localhost:1",
            "http://LOCALHOST.",
            "http://a.localhost",
            "http://127.0.0.1",
            "http://127.9.9.9",
            "http://[::1]:80",
            "http://[::ffff:127.0.0.1]",
            "http://0.0.0.0:1",
        ] {
            assert!(loopback(text), "{text}");
        }
        for text in ["http://localhost.example", "http://10.0.0.1", "https://notlocalhost"] {
            assert!(!loopback(text), "{text}");
        }
    }
}
