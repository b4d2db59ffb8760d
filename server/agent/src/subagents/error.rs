//! Why children cannot be started or ended.

use dsh_protocol::ids::SessionId;

use super::request::Window;
use crate::agent::CommandError;
use crate::agents::OpenError;

/// Why there is no child.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Nobody registered the provider.
    #[error("there is no subagent provider `{0}`; enable its row")]
    NoProvider(String),
    /// The provider cannot do what was asked.
    #[error("the subagent provider `{provider}` does not support {what}")]
    Unsupported {
        /// The provider.
        provider: String,
        /// What was asked.
        what: &'static str,
    },
    /// The child would stand too deep.
    #[error("a subagent at depth {depth} is over the limit of {max_depth}; do the work yourself")]
    Depth {
        /// Where it would stand.
        depth: u32,
        /// The limit.
        max_depth: u32,
    },
    /// It was cancelled before the child was there.
    #[error("the subagent was cancelled before it started")]
    Cancelled,
    /// The parent is not loaded, so that there is nothing to inherit.
    #[error("the session `{0}` is not loaded; open it first")]
    ParentUnavailable(SessionId),
    /// The request contradicts itself.
    #[error("{0}")]
    Invalid(String),
    /// The window of the parent's session cannot be shown.
    #[error(transparent)]
    Projection(#[from] ProjectionError),
    /// The child's model does not take the images that it would be sent.
    #[error(transparent)]
    Images(#[from] ImageRefusal),
    /// The child's session could not be created.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The child's session does not take its prompt.
    #[error(transparent)]
    Command(#[from] CommandError),
}

impl StartError {
    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoProvider(_) => "NO_PROVIDER",
            Self::Unsupported { .. } => "UNSUPPORTED_CAPABILITY",
            Self::Depth { .. } => "DEPTH_LIMIT",
            Self::Cancelled => "CANCELLED",
            Self::ParentUnavailable(_) => "PARENT_UNAVAILABLE",
            Self::Invalid(_) => "INVALID_REQUEST",
            Self::Projection(error) => error.code.as_str(),
            Self::Images(refusal) => refusal.code.as_str(),
            Self::Open(_) | Self::Command(_) => "SESSION",
        }
    }
}

/// Why a window of a session cannot be shown. Holds figures only, never content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .code.sentence())]
pub struct ProjectionError {
    /// Which reason.
    pub code: ProjectionCode,
    /// Which window.
    pub window: Window,
    /// The turn that was looked at, for windows of one turn.
    pub turn: Option<u64>,
    /// How many steps were asked for, for windows of recent steps.
    pub requested_steps: Option<u32>,
    /// How many there were.
    pub projected_steps: u32,
    /// The length of the text in UTF-16 units and the limit, where the text was made.
    pub chars: Option<Measured>,
    /// The number of images and the limit, where they were counted.
    pub images: Option<Measured>,
    /// The bytes of the images.
    pub image_bytes: u64,
}

/// A figure beside its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// What there is.
    pub actual: u64,
    /// What there may be; `None`: any.
    pub most: Option<u64>,
}

/// Why a window cannot be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectionCode {
    /// There is not exactly one open turn, or not the turn that was asked for.
    NoOpenTurn,
    /// No step is complete.
    NoCompletedStep,
    /// The text is too long.
    OverBudget,
    /// There are too many images.
    ImageLimit,
}

impl ProjectionCode {
    /// A stable code.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoOpenTurn => "NO_OPEN_TURN",
            Self::NoCompletedStep => "NO_COMPLETED_STEP",
            Self::OverBudget => "PROJECTION_OVER_BUDGET",
            Self::ImageLimit => "PROJECTION_IMAGE_LIMIT",
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::NoOpenTurn => "the session has no such turn to look at",
            Self::NoCompletedStep => "the session has no complete step to look at",
            Self::OverBudget => {
                "the selected steps are longer than the configured character budget"
            }
            Self::ImageLimit => "the selected steps hold more images than the configured limit",
        }
    }
}

/// Why a child cannot be sent its images. Holds figures only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .code.sentence())]
pub struct ImageRefusal {
    /// Which reason.
    pub code: ImageCode,
    /// The images of the whole input.
    pub images: u64,
    /// Their bytes.
    pub image_bytes: u64,
    /// Those of them that a model made, in the inherited part.
    pub assistant_seed_images: u64,
}

/// Why images are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageCode {
    /// The inherited part holds an image that a model made.
    AssistantImageInSeed,
    /// It is not known which model would be asked.
    RouteUnresolved,
    /// The model's facts cannot be looked up.
    RouteUnverified,
    /// The model does not say what it takes.
    CapabilityUnknown,
    /// The model takes no images.
    InputUnsupported,
}

impl ImageCode {
    /// A stable code.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AssistantImageInSeed => "ASSISTANT_IMAGE_IN_SEED",
            Self::RouteUnresolved => "IMAGE_ROUTE_UNRESOLVED",
            Self::RouteUnverified => "IMAGE_ROUTE_UNVERIFIED",
            Self::CapabilityUnknown => "IMAGE_CAPABILITY_UNKNOWN",
            Self::InputUnsupported => "IMAGE_INPUT_UNSUPPORTED",
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::AssistantImageInSeed => {
                "image input unsupported: the inherited history holds an image made by a model"
            }
            Self::RouteUnresolved => {
                "image input unsupported: it is not known which model would be asked"
            }
            Self::RouteUnverified => {
                "image input unsupported: the model's facts could not be looked up"
            }
            Self::CapabilityUnknown => {
                "image input unsupported: the model does not say what it accepts"
            }
            Self::InputUnsupported => "image input unsupported: the model accepts no images",
        }
    }
}

/// Why a child has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The child was disposed of.
    #[error("the subagent is gone")]
    Gone,
    /// Its provider failed.
    #[error("the subagent's provider failed")]
    Provider,
}

/// A child that could not be ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the subagent could not be ended: {0}")]
pub struct DisposeError(pub String);
