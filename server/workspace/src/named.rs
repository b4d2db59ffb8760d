//! Walking a folder that somebody named, with the folder's own options.

use std::path::Path;

use crate::Folder;
use crate::overlay::View;
use crate::stop::Stop;
use crate::tally::Tally;
use crate::walk::{self, Visit, Walk, display, is_internal};

impl Folder {
    /// Walks `base`, which is without links. If it shows nothing because its own rules or those above it say
    /// that all of it is to be ignored, it is walked without them, for it was named; the text says so.
    pub(crate) fn walk_named<V: Visit>(
        &self,
        view: &View,
        base: &Path,
        max_depth: Option<usize>,
        stop: &Stop,
        visitor: impl Fn() -> V + Sync,
    ) -> (Vec<V>, Tally, Option<String>) {
        if base.iter().any(is_internal) {
            let note =
                format!("{} belongs to version control, which is never searched", display(base));
            return (Vec::new(), Tally::default(), Some(note));
        }
        let options = self.options();
        let list = self.list.as_ref();
        let mut plan = Walk {
            root: &view.root,
            buffers: &view.buffers,
            base,
            is_lifted: false,
            list,
            secrets: &self.secrets,
            threads: options.threads,
            max_entries: options.max_entries,
            max_depth,
            stop,
        };
        let (visitors, tally) = walk::walk(&plan, &visitor);
        let is_hidden = tally.visible == 0 && tally.ignored() > 0;
        if !is_hidden || base.as_os_str().is_empty() {
            return (visitors, tally, None);
        }
        plan.is_lifted = true;
        // What is kept came about by the rules.
        plan.list = None;
        let (visitors, tally) = walk::walk(&plan, &visitor);
        let note = format!("{} is ignored by .gitignore or .ignore, and was named", display(base));
        (visitors, tally, Some(note))
    }
}

/// Says why nothing is found in a place that belongs to version control.
pub(crate) fn internal_note(path: &Path) -> String {
    format!("{} belongs to version control, which is never searched", display(path))
}
