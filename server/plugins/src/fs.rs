//! Row `fs`: the `fs` and `search` services, confined to the workspace folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dsh_agent::files::{Answer, Buffers, FS, FileSystem, FileText, SEARCH, Search, Visit};
use dsh_agent::host::HOST;
use dsh_agent::tool::ToolFailure;
use dsh_kernel::Context;
use dsh_kernel::config::ConfigSpec;
use dsh_kernel::plugin::{Plugin, StartError, read_config};
use dsh_protocol::workspace::{
    GlobArguments, GlobValue, GrepArguments, GrepValue, ReadArguments, ReadValue, ToolErrorCode,
};
use dsh_session::store::BoxFuture;
use dsh_workspace::overlay::Overlay;
use dsh_workspace::read::Text;
use dsh_workspace::stop::Stop;
use dsh_workspace::{Failure, Folder, Options};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

mod others;

use others::{Others, Placed};

pub(crate) const PLUGIN: Plugin = Plugin {
    inject: &["host"],
    provides: &["fs", "search"],
    config: ConfigSpec::of::<Config>(),
    ..Plugin::new("fs", start)
};

/// How long a call may work before it answers with what it has: well under a tool's own deadline.
const PATIENCE: Duration = Duration::from_secs(25);

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Config {
    /// Refuses files with more than one hard link.
    deny_hardlinks: bool,
    /// Names that no tool shows, as globs without regard to case. Absent: the built-in list.
    secrets: Option<Vec<String>>,
    /// Opens files as on systems without openat2. For tests.
    without_openat2: bool,
}

fn start(
    context: Context,
    config: Value,
) -> futures_util::future::BoxFuture<'static, Result<(), StartError>> {
    Box::pin(async move {
        let config: Config = read_config(config)?;
        let mut options = Options {
            deny_hardlinks: config.deny_hardlinks,
            force_portable_open: config.without_openat2,
            ..Options::default()
        };
        if let Some(secrets) = config.secrets {
            options.secrets = secrets;
        }
        let host = context.get(&HOST)?;
        options.names = Arc::clone(&host.workspace_names);
        options.overlay = Some(Arc::new(Unsaved(Arc::clone(&host.buffers))));
        let folder = Folder::open(&host.workspace, options.clone())
            .map_err(|failure| StartError::Failed(failure.to_string()))?;
        let open = Arc::clone(&host.open_folders);
        let options = Options { names: Arc::default(), ..options };
        let confined = Arc::new(Confined {
            folder: Arc::new(folder),
            others: Others { options, open, folders: Arc::default(), seen: Arc::default() },
            has_told: Arc::default(),
        });
        context.provide(&FS, Arc::clone(&confined) as Arc<dyn FileSystem>)?;
        context.provide(&SEARCH, confined as Arc<dyn Search>)
    })
}

/// What editors have open, as the folder sees it.
#[derive(Debug)]
struct Unsaved(Arc<dyn Buffers>);

impl Overlay for Unsaved {
    fn text(&self, path: &Path) -> Option<Arc<str>> {
        self.0.text(path)
    }

    fn paths(&self) -> Vec<PathBuf> {
        self.0.paths()
    }
}

/// The folder, those that are named beside it, and nothing else.
#[derive(Clone)]
struct Confined {
    folder: Arc<Folder>,
    others: Others,
    /// It was said why searches are slower than they could be.
    has_told: Arc<AtomicBool>,
}

impl Confined {
    fn with(mut self, folders: &Arc<[PathBuf]>) -> Option<Self> {
        self.others.folders = Arc::clone(folders);
        (!folders.is_empty()).then_some(self)
    }

    /// Runs file work on a thread that may block. It stops soon after `cancel`, or when the future is
    /// dropped.
    fn run<T: Placed + Send + 'static>(
        &self,
        path: Option<String>,
        cancel: CancellationToken,
        work: impl FnOnce(&Folder, &Stop) -> Result<T, Failure> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, ToolFailure>> {
        let (own, others) = (Arc::clone(&self.folder), self.others.clone());
        let has_told = Arc::clone(&self.has_told);
        Box::pin(async move {
            let stop = Stop::new(Some(PATIENCE));
            let _stopped_when_dropped = StopOnDrop(stop.clone());
            let stopping = stop.clone();
            let mut working = tokio::task::spawn_blocking(move || {
                let other = path.and_then(|path| others.holding(&own, &path));
                let folder = other.as_ref().unwrap_or(&own);
                let mut done = work(folder, &stop);
                if let (Some(other), Ok(value)) = (&other, &mut done) {
                    value.put_below(&other.root().to_string_lossy());
                }
                if let Some(trouble) = folder.list_trouble()
                    && !has_told.swap(true, Ordering::Relaxed)
                {
                    let folder = folder.root().display();
                    tracing::warn!(%folder, trouble, "each search lists folders anew");
                }
                done
            });
            let finished = tokio::select! {
                finished = &mut working => finished,
                () = cancel.cancelled() => {
                    stopping.cancel();
                    working.await
                }
            };
            match finished {
                Ok(outcome) => {
                    outcome.map_err(|failure| ToolFailure::new(failure.code, failure.message))
                }
                Err(error) => {
                    tracing::error!(%error, "file work broke");
                    Err(ToolFailure::new(
                        ToolErrorCode::FsIoError,
                        "the file work failed unexpectedly; try a smaller call",
                    ))
                }
            }
        })
    }
}

struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

fn answer<T>(answer: dsh_workspace::Answer<T>) -> Answer<T> {
    Answer { value: answer.value, notes: answer.notes }
}

impl FileSystem for Confined {
    fn beside(&self, folders: &Arc<[PathBuf]>) -> Option<Arc<dyn FileSystem>> {
        Some(Arc::new(self.clone().with(folders)?))
    }

    fn read(
        &self,
        arguments: ReadArguments,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Answer<ReadValue>, ToolFailure>> {
        self.run(Some(arguments.file_path.clone()), cancel, move |folder, stop| {
            folder.read(&arguments, stop).map(answer)
        })
    }

    fn text(
        &self,
        path: String,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<FileText, ToolFailure>> {
        self.run(Some(path.clone()), cancel, move |folder, stop| {
            let Text { path, text, complete, .. } = folder.text(&path, stop)?;
            Ok(FileText { path, text, is_complete: complete })
        })
    }
}

impl Search for Confined {
    fn beside(&self, folders: &Arc<[PathBuf]>) -> Option<Arc<dyn Search>> {
        Some(Arc::new(self.clone().with(folders)?))
    }

    fn grep(
        &self,
        arguments: GrepArguments,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Answer<GrepValue>, ToolFailure>> {
        self.run(arguments.path.clone(), cancel, move |folder, stop| {
            folder.grep(&arguments, stop).map(answer)
        })
    }

    fn glob(
        &self,
        arguments: GlobArguments,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Answer<GlobValue>, ToolFailure>> {
        let path = arguments.path.clone().or_else(|| Some(arguments.pattern.clone()));
        self.run(path, cancel, move |folder, stop| folder.glob(&arguments, stop).map(answer))
    }

    fn scan(
        &self,
        visit: Visit,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<(), ToolFailure>> {
        self.run(None, cancel, move |folder, stop| {
            folder.scan(stop, |path, text| visit(path, text)).map(|_summary| ())
        })
    }
}
