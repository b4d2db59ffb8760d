//! The configuration of all folders of a process: which files it is composed from, and the last good composition.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use dsh_config::compose::{Composed, compose};
use dsh_config::evaluate::Environment;
use dsh_config::problem::Problem;
use dsh_config::profile::Sources;
use dsh_config::{check, environment_file};
use dsh_kernel::plugin::Row;
use dsh_llm::credentials;

/// The layers as they were read at one moment, and the variables that their expressions see.
pub struct Composition {
    composed: Composed,
    variables: BTreeMap<String, String>,
    home: PathBuf,
}

/// Which files there are, and what was last made of them.
pub(crate) struct Configuration {
    sources: Sources,
    inherited: BTreeMap<String, String>,
    current: Mutex<Option<Arc<Composition>>>,
    variables: Arc<Variables>,
}

/// The variables of the composition that applies now.
#[derive(Default)]
pub(crate) struct Variables(Mutex<BTreeMap<String, String>>);

impl credentials::Environment for Variables {
    fn variable(&self, name: &str) -> Option<OsString> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).map(OsString::from)
    }
}

impl Configuration {
    pub(crate) fn new(sources: Sources, inherited: BTreeMap<String, String>) -> Self {
        let variables = Variables(Mutex::new(inherited.clone()));
        Self { sources, inherited, current: Mutex::default(), variables: Arc::new(variables) }
    }

    /// The files that make it.
    pub(crate) fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The variables, which follow the composition that applies.
    pub(crate) fn variables(&self) -> Arc<Variables> {
        Arc::clone(&self.variables)
    }

    /// The composition that applies; composed now if there is none yet.
    pub(crate) fn current(&self) -> Result<Arc<Composition>, Vec<Problem>> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(current) = current {
            return Ok(current);
        }
        let composition = Arc::new(self.compose()?);
        self.take(&composition);
        Ok(composition)
    }

    /// Reads the files. With an error in the layers nothing comes of them.
    pub(crate) fn compose(&self) -> Result<Composition, Vec<Problem>> {
        self.with_variables(compose(&self.sources))
    }

    /// What files come to that were composed already, with the variables that apply to them.
    pub(crate) fn with_variables(&self, composed: Composed) -> Result<Composition, Vec<Problem>> {
        let mut problems: Vec<Problem> =
            composed.problems.iter().filter(|problem| problem.is_error()).cloned().collect();
        let loaded = environment_file::load(&self.sources, self.inherited.clone());
        let variables = loaded.unwrap_or_else(|mut more| {
            problems.append(&mut more);
            BTreeMap::new()
        });
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Composition { composed, variables, home: self.sources.home.clone() })
    }

    /// Makes a composition the one that applies.
    pub(crate) fn take(&self, composition: &Arc<Composition>) {
        let variables = composition.variables.clone();
        *self.variables.0.lock().unwrap_or_else(PoisonError::into_inner) = variables;
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        *current = Some(Arc::clone(composition));
    }
}

impl Composition {
    /// The layers.
    pub fn composed(&self) -> &Composed {
        &self.composed
    }

    /// What expressions see that are mounted for a folder.
    pub fn environment(&self, folder: &Path) -> Environment {
        Environment {
            variables: self.variables.clone(),
            home: self.home.clone(),
            cwd: folder.to_owned(),
            platform: std::env::consts::OS.to_owned(),
        }
    }

    /// The rows to mount for a folder.
    pub fn rows(&self, folder: &Path) -> Result<Vec<Row>, Vec<Problem>> {
        self.composed.rows(&self.environment(folder))
    }

    /// Everything that is wrong with it, what the plugins say of their configuration included, and what is
    /// merely worth knowing.
    pub fn problems(&self, folder: &Path) -> Vec<Problem> {
        check::check(&self.composed, &self.environment(folder), dsh_plugins::PLUGINS)
    }
}
