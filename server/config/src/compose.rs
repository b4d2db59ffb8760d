//! Layers upon layers: bundles, the profile's patch, the home's, the command line's. The later one wins.

use std::collections::BTreeMap;
use std::sync::Arc;

use dsh_kernel::plugin::Isolation;
use serde_json::Value;

use crate::apply::Tree;
use crate::problem::{self, Problem, ProblemKind};
use crate::profile::{self, Sources};
use crate::setting::Setting;
use crate::source::{self, Place, Source};
use crate::{bundle, patch};

/// A row, and which layers made it what it is.
#[derive(Clone, Debug)]
pub struct ComposedRow {
    /// Names the row among its siblings.
    pub id: String,
    /// Its plugin.
    pub name: String,
    /// Its configuration, expressions unevaluated.
    pub config: Option<Setting>,
    /// Whether it stays down, perhaps by an expression.
    pub disabled: Option<Setting>,
    /// More services to wait for.
    pub inject: Vec<String>,
    /// More configuration for services.
    pub intercept: BTreeMap<String, Value>,
    /// Realms of services.
    pub isolate: BTreeMap<String, Isolation>,
    /// The rows of a group.
    pub children: Option<Vec<ComposedRow>>,
    /// Where its id stands, in the layer that it comes from.
    pub place: Place,
    /// Where its name stands.
    pub name_place: Place,
    /// The layers that changed it afterwards, in their order.
    pub patched_by: Vec<Arc<Source>>,
}

impl ComposedRow {
    /// The layer that it comes from.
    pub fn origin(&self) -> &str {
        &self.place.source.name
    }

    /// Where the row was last changed: in its configuration if the last layer that changed it set something
    /// there, else where it comes from.
    pub fn newest_place(&self) -> &Place {
        let set = self.patched_by.last().and_then(|layer| self.config.as_ref()?.set_by(layer));
        set.unwrap_or(&self.place)
    }

    /// Where the value at some keys of the configuration was set, or the nearest one above it.
    pub fn place_of(&self, path: &dsh_kernel::config::KeyPath) -> &Place {
        self.config.as_ref().map_or(&self.place, |config| &config.nearest(&path.steps).place)
    }
}

/// What the layers come to.
#[derive(Clone, Debug, Default)]
pub struct Composed {
    /// The rows.
    pub rows: Vec<ComposedRow>,
    /// The rows of the bundles alone.
    pub defaults: Vec<ComposedRow>,
    /// Everything that is wrong with the layers. With an error among them the rows are not to be used.
    pub problems: Vec<Problem>,
}

impl Composed {
    /// The row of an id, with the ids of its groups before it, joined with `:`.
    pub fn row(&self, id: &str) -> Option<&ComposedRow> {
        fn find<'a>(rows: &'a [ComposedRow], id: &str) -> Option<&'a ComposedRow> {
            rows.iter().find_map(|row| match id.strip_prefix(row.id.as_str())? {
                "" => Some(row),
                below => find(row.children.as_deref()?, below.strip_prefix(':')?),
            })
        }
        find(&self.rows, id)
    }
}

/// Reads and composes the layers. Writes nothing.
pub fn compose(sources: &Sources) -> Composed {
    compose_files(sources, source::read(&sources.home_patch()))
}

/// The same with another text in the place of the home's patch file: to see what comes of it before it is written.
pub fn compose_with_home_patch(sources: &Sources, text: &str) -> Composed {
    compose_files(sources, Ok(Some(Source::file(sources.home_patch(), text))))
}

type Read = Result<Option<Arc<Source>>, Problem>;

fn compose_files(sources: &Sources, home_patch: Read) -> Composed {
    let mut problems = Vec::new();
    let bundles = sources.bundles().unwrap_or_else(|problem| {
        problems.push(problem);
        Vec::new()
    });
    let bundles: Vec<Arc<Source>> =
        bundles.iter().filter_map(|name| bundle::source(name)).collect();
    let is_name = profile::check_name(&sources.profile).is_ok();
    let profile_patch = if is_name { source::read(&sources.profile_patch()) } else { Ok(None) };
    let mut read = vec![profile_patch, home_patch];
    for path in &sources.patches {
        let absent = || {
            let message = "there is no such file";
            Problem::of(ProblemKind::Unreadable, path.display().to_string(), message)
        };
        read.push(source::read(path).and_then(|source| source.map(Some).ok_or_else(absent)));
    }
    let mut layers = Vec::new();
    for read in read {
        match read {
            Ok(source) => layers.extend(source),
            Err(problem) => problems.push(problem),
        }
    }
    let mut composed = compose_layers(&bundles, &layers);
    composed.problems.append(&mut problems);
    problem::sort(&mut composed.problems);
    composed
}

/// Composes layers that are read already: those of bundles, and those above them.
pub fn compose_layers(bundles: &[Arc<Source>], layers: &[Arc<Source>]) -> Composed {
    let mut tree = Tree::default();
    for source in bundles {
        let patches = patch::parse(source, &mut tree.problems);
        tree.apply(source, patches);
    }
    let defaults = tree.rows.clone();
    for source in layers {
        let patches = patch::parse(source, &mut tree.problems);
        tree.apply(source, patches);
    }
    problem::sort(&mut tree.problems);
    Composed { rows: tree.rows, defaults, problems: tree.problems }
}
