//! Gathers the hits of all threads: the first ones by path, whoever found them when, and the exact total.

use std::collections::BTreeMap;

use dsh_protocol::workspace::{GrepCount, GrepMode, GrepValue};

use super::sink::Hits;

pub(super) struct Collection {
    mode: GrepMode,
    limit: usize,
    by_path: BTreeMap<String, Hits>,
    /// The weight of everything in `by_path`; at most one file's more than `limit`.
    held: usize,
    total: u64,
}

impl Collection {
    pub(super) fn new(mode: GrepMode, limit: usize) -> Collection {
        Collection { mode, limit, by_path: BTreeMap::new(), held: 0, total: 0 }
    }

    /// Whether hits of this file would come after everything that is wanted.
    pub(super) fn is_full_before(&self, path: &str) -> bool {
        self.held >= self.limit
            && self.by_path.last_key_value().is_some_and(|(last, _)| last.as_str() < path)
    }

    pub(super) fn add(&mut self, path: &str, hits: Hits) {
        if hits.count == 0 {
            return;
        }
        self.total += match self.mode {
            GrepMode::Matches => hits.count,
            GrepMode::Files | GrepMode::Count => 1,
        };
        if self.is_full_before(path) {
            return;
        }
        self.held += self.weight(&hits);
        self.by_path.insert(path.to_owned(), hits);
        while let Some(last) = self.by_path.last_entry() {
            let weight = match self.mode {
                GrepMode::Matches => last.get().matches.len(),
                GrepMode::Files | GrepMode::Count => 1,
            };
            if self.held - weight < self.limit {
                break;
            }
            self.held -= weight;
            last.remove();
        }
    }

    fn weight(&self, hits: &Hits) -> usize {
        match self.mode {
            GrepMode::Matches => hits.matches.len(),
            GrepMode::Files | GrepMode::Count => 1,
        }
    }

    /// The value, and how many items it shows. `truncated` is left to the caller when the search was not
    /// complete.
    pub(super) fn into_value(self) -> (GrepValue, u64) {
        let limit = self.limit;
        let mut value = GrepValue { total: self.total, ..GrepValue::default() };
        let files = self.by_path.into_iter();
        let shown = match self.mode {
            GrepMode::Matches => {
                let matches: Vec<_> =
                    files.flat_map(|(_, hits)| hits.matches).take(limit).collect();
                value.matches.insert(matches).len()
            }
            GrepMode::Files => {
                value.files.insert(files.map(|(path, _)| path).take(limit).collect()).len()
            }
            GrepMode::Count => {
                let counts = files.map(|(path, hits)| GrepCount { path, count: hits.count });
                value.counts.insert(counts.take(limit).collect()).len()
            }
        };
        value.truncated = (shown as u64) < value.total;
        (value, shown as u64)
    }
}

#[cfg(test)]
mod tests {
    use dsh_protocol::workspace::GrepMatch;

    use super::*;

    fn hits(path: &str, count: usize) -> Hits {
        let one = |line| GrepMatch {
            path: path.to_owned(),
            line,
            column: 1,
            text: String::new(),
            before: Vec::new(),
            after: Vec::new(),
        };
        Hits { matches: (1..=count as u64).map(one).collect(), count: count as u64 }
    }

    #[test]
    fn no_more_is_held_than_can_be_shown_whatever_the_order_of_arrival() {
        let mut collection = Collection::new(GrepMode::Matches, 10);
        for number in (0..1000).rev() {
            let path = format!("{number:04}");
            collection.add(&path, hits(&path, 3));
            assert!(collection.held <= 12);
            assert_eq!(
                collection.by_path.values().map(|it| it.matches.len()).sum::<usize>(),
                collection.held
            );
        }
        assert!(collection.is_full_before("0004") && !collection.is_full_before("0003"));
        let (value, shown) = collection.into_value();
        assert_eq!((value.total, shown, value.truncated), (3000, 10, true));
        assert_eq!(value.matches.unwrap().last().unwrap().path, "0003");
    }

    #[test]
    fn a_file_beyond_what_is_shown_still_counts() {
        let mut collection = Collection::new(GrepMode::Files, 1);
        for path in ["b", "c", "a"] {
            collection.add(path, hits(path, 1));
        }
        let (value, _) = collection.into_value();
        assert_eq!((value.files, value.total), (Some(vec!["a".to_owned()]), 3));
    }
}
