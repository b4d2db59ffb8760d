//! The tool through which a child answers in a shape.

use std::sync::atomic::{AtomicU32, Ordering};

use dsh_protocol::tool::{ToolDefinition, ToolKind};
use dsh_protocol::workspace::ToolErrorCode;
use dsh_session::store::BoxFuture;
use serde_json::Value;

use super::request::OutputContract;
use super::schema;
use crate::prompt::Section;
use crate::tool::{Tool, ToolContext, ToolFailure, ToolOutput};

/// The tool's name.
pub const STRUCTURED_OUTPUT: &str = "structured_output";

/// How many answers that do not fit are one too many: each costs a request, and a model that has not understood by
/// then does not.
const FAILURES: u32 = 5;

/// Takes a child's answer and ends its turn.
pub(super) struct StructuredOutput {
    definition: ToolDefinition,
    contract: OutputContract,
    failures: AtomicU32,
}

impl StructuredOutput {
    /// The tool for an answer of this shape, or what is wrong with the shape.
    pub(super) fn new(contract: OutputContract) -> Result<Self, String> {
        if contract.schema["type"] != "object" {
            return Err("an output schema must be of type `object`".to_owned());
        }
        let definition = ToolDefinition {
            name: STRUCTURED_OUTPUT.to_owned(),
            description:
                "Hands in your answer and ends your work. Call it exactly once, at the end."
                    .to_owned(),
            input_schema: contract.schema.clone(),
        };
        Ok(Self { definition, contract, failures: AtomicU32::new(0) })
    }

    /// What tells the child to use it.
    pub(super) fn section() -> Section {
        Section {
            name: format!("tool:{STRUCTURED_OUTPUT}"),
            order: 190,
            text: include_str!("structured.md").to_owned(),
        }
    }

    fn check(&self, answer: &Value) -> Result<(), String> {
        let problems = schema::problems(&self.contract.schema, answer);
        if !problems.is_empty() {
            return Err(problems.join("; "));
        }
        (self.contract.check)(answer)
    }
}

impl Tool for StructuredOutput {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Think
    }

    fn concurrency_safe(&self) -> bool {
        false
    }

    fn ends_turn(&self) -> bool {
        true
    }

    fn has_failed(&self) -> bool {
        self.failures.fetch_add(1, Ordering::Relaxed) + 1 >= FAILURES
    }

    fn run(
        &self,
        arguments: Value,
        _cx: ToolContext,
    ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        let checked = self.check(&arguments).map_err(|problem| {
            ToolFailure::new(
                ToolErrorCode::InvalidArgs,
                format!("invalid arguments: {problem}; correct them and call again"),
            )
        });
        Box::pin(async move {
            checked?;
            Ok(ToolOutput { text: "Taken.".to_owned(), value: arguments, notes: Vec::new() })
        })
    }
}
