//! The product's tree, composed as the program composes it and mounted without one: for tests that bring plugins of
//! their own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use dsh_agent::host::{HOST, Host, time_ordered_ids};
use dsh_kernel::Kernel;
use dsh_kernel::plugin::{Plugin, Row};
use dsh_runtime::buffers::OpenBuffers;
use dsh_runtime::config::compose::{Composed, compose};
use dsh_runtime::config::evaluate::Environment;
use dsh_runtime::config::profile::Sources;
use dsh_runtime::notices::Notices;
use dsh_runtime::runtime::EDITOR_PROFILE;
use dsh_session::clock::system;
use dsh_tests::world::{NOBODY, World};

/// The files of a world's home, and further patch files.
pub(crate) fn sources(world: &World, patches: Vec<PathBuf>) -> Sources {
    Sources { home: world.home(), profile: EDITOR_PROFILE.to_owned(), patches }
}

/// All that the tree sees of the process: no credential, and nobody's model server.
pub(crate) fn variables() -> BTreeMap<String, String> {
    BTreeMap::from([("DSH_LS_LOCAL_URL".to_owned(), NOBODY.to_owned())])
}

/// What expressions see in a world's workspace folder.
pub(crate) fn environment(world: &World) -> Environment {
    Environment {
        variables: variables(),
        home: world.home(),
        cwd: world.work(),
        platform: std::env::consts::OS.to_owned(),
    }
}

/// The rows of the editors' profile with a text as the home's patch file.
pub(crate) fn rows(world: &World, home_patch: &str) -> Vec<Row> {
    let sources = sources(world, Vec::new());
    std::fs::create_dir_all(&sources.home).unwrap();
    std::fs::write(sources.home_patch(), home_patch).unwrap();
    evaluated(world, &compose(&sources))
}

/// The rows that layers come to.
pub(crate) fn evaluated(world: &World, composed: &Composed) -> Vec<Row> {
    composed.rows(&environment(world)).unwrap_or_else(|problems| panic!("{problems:#?}"))
}

/// A tree for a world's workspace folder.
pub(crate) async fn mount(world: &World, rows: Vec<Row>, plugins: &[Plugin]) -> Kernel {
    let workspace = world.work();
    let host = Host {
        home: world.home(),
        workspace_names: Arc::default(),
        open_folders: Arc::default(),
        workspace_uri: format!("file://{}", workspace.display()),
        workspace,
        forced_model: None,
        environment_model: None,
        environment: Arc::new(variables()),
        clock: system(),
        new_id: time_ordered_ids(),
        observer: Arc::new(Notices::default()),
        buffers: Arc::new(OpenBuffers::default()),
    };
    Kernel::mount(rows, plugins, &HOST, Arc::new(host)).await
}
