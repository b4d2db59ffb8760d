//! Defaults, variables and mistakes.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;

const ANY: Preset = Preset { provider: None, dialect: "openai" };

fn config(value: Value) -> Config {
    read_config(value).unwrap()
}

fn place(value: Value, variables: &[(&str, &str)]) -> Result<String, String> {
    let variables: BTreeMap<_, _> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let config = config(value);
    let dialect = config.dialect(ANY).unwrap();
    let place = config.place(dialect, &variables).map_err(|error| error.to_string())?;
    place.map(|address| address.join("x"))
}

#[test]
fn the_address_is_the_rows_then_the_variables_then_the_dialects() {
    let deepseek = || json!({ "dialect": "deepseek" });
    let variable = ("DEEPSEEK_BASE_URL", "http://127.0.0.1:9/");
    assert_eq!(place(deepseek(), &[]), Ok("https://api.deepseek.com/x".to_owned()));
    assert_eq!(place(deepseek(), &[variable]), Ok("http://127.0.0.1:9/x".to_owned()));
    assert_eq!(
        place(deepseek(), &[(variable.0, " ")]),
        Ok("https://api.deepseek.com/x".to_owned())
    );
    let own = json!({ "dialect": "deepseek", "baseUrl": "https://own.example/v1/" });
    assert_eq!(place(own, &[variable]), Ok("https://own.example/v1/x".to_owned()));
    let local = json!({ "dialect": "ollama" });
    assert_eq!(
        place(local, &[("DSH_LS_LOCAL_URL", "http://localhost:1")]),
        Ok("http://localhost:1/v1/x".to_owned())
    );
}

#[test]
fn an_address_that_is_none_says_so() {
    let wrong = place(json!({ "baseUrl": "own.example" }), &[]).unwrap_err();
    assert_eq!(wrong, "`baseUrl`: an address begins with http:// or https://");
    let wrong = place(json!({}), &[("OPENAI_BASE_URL", "own.example")]).unwrap_err();
    assert_eq!(wrong, "OPENAI_BASE_URL: an address begins with http:// or https://");
}

#[test]
fn what_does_not_fit_is_refused() {
    for bad in [
        json!({ "baseURL": "https://a.example" }),
        json!({ "models": [{ "name": "a" }] }),
        json!({ "models": [{ "id": "a", "input": ["sound"] }] }),
        json!({ "retry": { "max": 1 } }),
        json!({ "idleTimeoutMs": -1 }),
    ] {
        assert!(read_config::<Config>(bad.clone()).is_err(), "{bad}");
    }
    assert!(config(json!({ "dialect": "klingon" })).dialect(ANY).is_err());
    assert!(config(json!({})).provider(ANY).is_err());
    assert!(config(json!({ "provider": "a/b" })).provider(ANY).is_err());
    assert!(config(json!({ "idleTimeoutMs": 0 })).patience().is_err());
    assert!(config(json!({ "connectTimeoutMs": u64::MAX })).patience().is_err());
    assert!(config(json!({ "models": [{ "id": "a" }, { "id": "a" }] })).offers().is_err());
    assert!(config(json!({ "retry": { "minDelayMs": 9, "maxDelayMs": 8 } })).retry().is_err());
}

#[test]
fn everything_that_does_not_fit_is_reported_at_once() {
    let bad = json!({ "dialect": "klingon", "idleTimeoutMs": 0, "models": [{ "id": " " }] });
    let places: Vec<String> =
        problems(&bad, ANY).iter().map(|problem| problem.path.to_string()).collect();
    assert_eq!(places, ["provider", "dialect", "idleTimeoutMs", "models"]);
}

#[test]
fn a_part_of_the_retries_leaves_the_rest_as_usual() {
    let retry = |value: Value| {
        let retry = config(json!({ "retry": value })).retry().unwrap();
        (retry.max_retries, retry.min_delay.as_millis(), retry.max_delay.as_millis())
    };
    assert_eq!(retry(json!({})), (5, 500, 10_000));
    assert_eq!(retry(json!({ "maxRetries": 0 })), (0, 500, 10_000));
    assert_eq!(retry(json!({ "maxDelayMs": 100 })), (5, 100, 100));
    assert_eq!(retry(json!({ "minDelayMs": 20_000 })), (5, 20_000, 20_000));
}
