//! Text and images of a snapshot, in one flat list.

use std::fmt::Write as _;

use dsh_agent::subagents::images;
use dsh_protocol::content::ContentBlock;

use super::escape::{NEXT_LINE, quoted};

/// A snapshot in the making. Texts that touch are one block.
#[derive(Default)]
pub(super) struct Content {
    blocks: Vec<ContentBlock>,
    pub(super) images: u64,
    pub(super) image_bytes: u64,
}

/// Where quoted content stands.
pub(super) struct Place<'a> {
    /// What an image's row says of its source.
    pub(super) source: &'a str,
    /// The call that an image belongs to, as it is shown.
    pub(super) call: Option<&'a str>,
}

impl Content {
    /// Adds text of the snapshot's own.
    pub(super) fn say(&mut self, text: &str) {
        if let Some(ContentBlock::Text { text: last }) = self.blocks.last_mut() {
            last.push_str(text);
        } else {
            self.blocks.push(ContentBlock::text(text));
        }
    }

    /// Adds a row: its label and what it quotes.
    pub(super) fn row(&mut self, label: &str, blocks: &[ContentBlock], place: &Place<'_>) {
        self.say(&format!("    {label}: "));
        self.quoted(blocks, place);
        self.say("\n");
    }

    /// Adds what some blocks show.
    pub(super) fn quoted(&mut self, blocks: &[ContentBlock], place: &Place<'_>) {
        if is_observable(blocks) {
            let mut goes_on = true;
            self.quote(blocks, place, &mut goes_on);
        } else {
            self.say("(empty)");
        }
    }

    /// Quotes blocks. `goes_on` says whether the next text goes on where the line stands.
    fn quote(&mut self, blocks: &[ContentBlock], place: &Place<'_>, goes_on: &mut bool) {
        for block in blocks {
            match block {
                ContentBlock::Text { text } => self.quote_text(text, goes_on),
                ContentBlock::Image { data, .. } => {
                    self.image(block, data.as_deref(), place);
                    *goes_on = false;
                }
                ContentBlock::Resource { uri, range, text } => {
                    let lines = range
                        .map(|range| format!(", lines {} to {}", range.start_line, range.end_line));
                    let lines = lines.unwrap_or_default();
                    self.quote_text(&format!("[resource {uri}{lines}]"), goes_on);
                    if let Some(text) = text {
                        self.quote_text(&format!("\n{text}"), goes_on);
                    }
                }
                ContentBlock::ToolResult { content, .. } => self.quote(content, place, goes_on),
                ContentBlock::Reasoning { .. } | ContentBlock::ToolCall { .. } => {}
            }
        }
    }

    fn quote_text(&mut self, text: &str, goes_on: &mut bool) {
        if text.is_empty() {
            return;
        }
        if !std::mem::replace(goes_on, true) {
            // Behind an image, whose row has its line break already.
            self.say(NEXT_LINE.trim_start_matches('\n'));
        }
        self.say(&quoted(text));
    }

    fn image(&mut self, block: &ContentBlock, data: Option<&str>, place: &Place<'_>) {
        self.images += 1;
        self.image_bytes += images::bytes(data);
        let call = place.call.map(|call| format!("      callId: {call}\n")).unwrap_or_default();
        let (number, source) = (self.images, place.source);
        self.say(&format!("\n      Image evidence #{number}\n      source: {source}\n{call}"));
        self.blocks.push(block.clone());
        self.say("\n");
    }

    /// The blocks.
    pub(super) fn blocks(self) -> Vec<ContentBlock> {
        self.blocks
    }

    /// The snapshot as one text, in which each image is a line of figures.
    pub(super) fn shown(&self) -> String {
        let mut shown = String::new();
        let mut images = 0;
        for block in &self.blocks {
            if let ContentBlock::Text { text } = block {
                shown.push_str(text);
            } else if let ContentBlock::Image { media_type, data, .. } = block {
                images += 1;
                let bytes = images::bytes(data.as_deref());
                let _ = write!(shown, "[image #{images} {media_type} {bytes}B]");
            }
        }
        shown
    }
}

/// Whether there is something in some blocks that a row can show.
pub(super) fn is_observable(blocks: &[ContentBlock]) -> bool {
    blocks.iter().any(|block| match block {
        ContentBlock::Text { text } => !text.is_empty(),
        ContentBlock::Image { .. } | ContentBlock::Resource { .. } => true,
        ContentBlock::ToolResult { content, .. } => is_observable(content),
        ContentBlock::Reasoning { .. } | ContentBlock::ToolCall { .. } => false,
    })
}

/// A snapshot inside the fence that nothing in it can close: nobody could know the nonce.
pub(super) fn fenced(blocks: Vec<ContentBlock>, nonce: &str) -> Vec<ContentBlock> {
    let mut fenced = Content::default();
    fenced.say(&format!("<snapshot nonce=\"{nonce}\">\n"));
    for block in blocks {
        if let ContentBlock::Text { text } = &block {
            fenced.say(text);
        } else {
            fenced.blocks.push(block);
        }
    }
    fenced.say(&format!("\n</snapshot nonce=\"{nonce}\">\n"));
    fenced.blocks
}
