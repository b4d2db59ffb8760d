//! Whether a child's model takes the images that the child would be sent.

use std::sync::Arc;

use dsh_llm::models::Models;
use dsh_protocol::content::ContentBlock;
use dsh_protocol::event::Event;
use dsh_protocol::ids::ModelId;
use dsh_protocol::message::Role;
use dsh_protocol::params::model::Modality;
use dsh_session::fold::Fold;

use super::error::{ImageCode, ImageRefusal, StartError};
use super::request::StartRequest;

/// The bytes of an image, as far as the block says: those of a stored one are not known here.
pub fn bytes(data: Option<&str>) -> u64 {
    let text = data.unwrap_or_default().trim_end_matches('=');
    text.len() as u64 * 3 / 4
}

/// Refuses a child whose input has images that its model does not take. Input is everything that it would see
/// first: what it inherits and what it is asked.
pub(super) fn admit(
    models: &Models,
    model: &ModelId,
    request: &StartRequest,
    seed: &[Arc<Event>],
) -> Result<(), StartError> {
    let mut counted = Counted::default();
    counted.blocks(&request.prompt, false);
    let inherited = Fold::of(seed.iter().map(AsRef::as_ref)).map_err(|violation| {
        StartError::Invalid(format!("the inherited history breaks a rule of logs: {violation}"))
    })?;
    for message in inherited.surface.messages() {
        counted.blocks(&message.content, message.role == Role::Assistant);
    }
    if counted.images == 0 {
        return Ok(());
    }
    let half = request.route.provider.is_some() && request.route.model.is_none();
    let code = if counted.by_models > 0 {
        ImageCode::AssistantImageInSeed
    } else if half {
        // The parent's model is one of another provider.
        ImageCode::RouteUnresolved
    } else {
        match models.adapter(&model.provider) {
            None => ImageCode::RouteUnverified,
            Some(adapter) => {
                let input = adapter.offer(&model.model).input;
                if input.contains(&Modality::Image) {
                    return Ok(());
                }
                if input.is_empty() {
                    ImageCode::CapabilityUnknown
                } else {
                    ImageCode::InputUnsupported
                }
            }
        }
    };
    Err(StartError::Images(ImageRefusal {
        code,
        images: counted.images,
        image_bytes: counted.bytes,
        assistant_seed_images: counted.by_models,
    }))
}

#[derive(Default)]
struct Counted {
    images: u64,
    bytes: u64,
    by_models: u64,
}

impl Counted {
    fn blocks(&mut self, blocks: &[ContentBlock], by_model: bool) {
        for block in blocks {
            if let ContentBlock::Image { data, .. } = block {
                self.images += 1;
                self.bytes += bytes(data.as_deref());
                self.by_models += u64::from(by_model);
            } else if let ContentBlock::ToolResult { content, .. } = block {
                self.blocks(content, by_model);
            }
        }
    }
}

#[cfg(test)]
mod tests;
