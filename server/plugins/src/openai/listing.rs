//! Asks a server on one's own machine which models it has.

use dsh_llm::adapter::{Offer, failure};
use dsh_llm::http::{self, KeyHeader};
use dsh_protocol::content::ModelFailure;
use dsh_protocol::params::model::Modality;
use serde::Deserialize;

use super::exchange::Provider;

/// The most of a list that is read.
const MAX_LIST: usize = 1024 * 1024;

/// The list as the API has it; further members are of no use here.
#[derive(Deserialize)]
struct List {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
}

/// The ids of the models that the provider has now, in its order.
pub(super) async fn ask(provider: &Provider) -> Result<Vec<String>, ModelFailure> {
    let invalid = |why: String| failure("INVALID_BASE_URL", why);
    let transport = provider.transport.as_ref().map_err(|why| invalid(why.clone()))?;
    let secret = provider.secret().map_err(|error| failure("AUTH", error.to_string()))?;
    let key = secret.as_ref();
    let key = key.map(|secret| KeyHeader { name: "authorization", prefix: "Bearer ", secret });
    let answer = transport.get("models", key).await?;
    let status = answer.status();
    if status != 200 {
        return Err(failure("SERVER", format!("answers {status} when asked for its models")));
    }
    let body = http::beginning(answer.bytes(), MAX_LIST, transport.patience().idle).await;
    let list: List = serde_json::from_slice(&body)
        .map_err(|_other| failure("MALFORMED_RESPONSE", "what it says is no list of models"))?;
    Ok(list.data.into_iter().map(|entry| entry.id).collect())
}

/// Adds what a server has to what its row says; the row knows better what a model accepts.
pub(super) fn add(offers: &mut Vec<Offer>, found: Vec<String>) {
    for model in found {
        if !model.trim().is_empty() && offers.iter().all(|offer| offer.model != model) {
            offers.push(Offer { model, context_window: None, input: vec![Modality::Text] });
        }
    }
}
