//! Reading one moment of a kind.

use std::{ops::Range, sync::Arc};

use listwatch_store::{KeyRange, Revision};

use super::{
    cached_object::CachedObject,
    counted_tree::Iter,
    interest::{Area, Interest, Judge, LabelTerms},
    kind_layout::KindLayout,
    term_index::{Keys, Merged},
    view::View,
};

/// Values of one label that are looked up one by one, at the most. With more the whole area is
/// looked through.
const LISTS_MAX: usize = 64;
/// Looking an object up through an index costs about as much as looking at this many in order.
const LOOKUP_COST: usize = 8;

/// All objects of a kind at one revision: immutable, and free to take, to clone and to keep.
#[derive(Clone)]
pub struct Snapshot {
    view: Arc<View>,
    layout: Arc<KindLayout>,
    revision: Revision,
}

impl Snapshot {
    pub(super) fn new(view: Arc<View>, layout: Arc<KindLayout>, revision: Revision) -> Self {
        Self {
            view,
            layout,
            revision,
        }
    }

    /// The revision whose state this is. None of the objects may be as new.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The object with this name; of a kind without namespaces, with `None` for the namespace.
    pub fn get(&self, namespace: Option<&str>, name: &str) -> Option<&Arc<CachedObject>> {
        let prefix = self.layout.storage_prefix();
        let key = match namespace {
            Some(namespace) => [prefix, namespace, "/", name].concat(),
            None => [prefix, name].concat(),
        };
        self.view.objects.get(key.as_bytes())
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.view.objects.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many objects of the area have a key that is not less than `start`. Costs little.
    ///
    /// For [`Area::Name`] of a kind with namespaces, all objects are counted.
    pub fn count(&self, area: &Area, start: &[u8]) -> usize {
        self.count_range(&area.range(&self.layout).starting_at(start))
    }

    /// The objects of interest whose key is not less than `start`, in the order of their keys.
    ///
    /// To go on later, start at the key of the last object with a zero byte behind it.
    pub fn select(&self, interest: &Interest, start: &[u8]) -> Selection<'_> {
        let judge = Judge::new(interest, &self.layout);
        let range = judge.area().range(&self.layout).starting_at(start);
        Selection {
            source: self.plan(&judge, &range),
            snapshot: self,
            end: range.end,
            judge,
        }
    }

    fn plan<'a>(&'a self, judge: &Judge, range: &KeyRange) -> Source<'a> {
        if let Area::Name(_) = judge.area()
            && self.layout.is_namespaced()
        {
            return Source::Names(range.start.clone());
        }
        let all = self.count_range(range);
        let best = self
            .indexed(judge)
            .min_by_key(|lists| count_lists(lists, range));
        match best {
            Some(lists) if count_lists(&lists, range).saturating_mul(LOOKUP_COST) <= all => {
                Source::Index(Merged::new(&lists, &range.start))
            }
            _ => Source::Scan(self.view.objects.iter_from(&range.start)),
        }
    }

    /// For each requirement that an index answers, lists that together hold all wanted keys.
    fn indexed(&self, judge: &Judge) -> impl Iterator<Item = Vec<&Keys>> {
        let terms = &self.view.terms;
        let fields = judge.field_terms();
        let by_field = fields.map(|term| terms.keys(&term).into_iter().collect::<Vec<_>>());
        let by_label = judge.label_terms().map(|label| match label {
            LabelTerms::AnyOf(any) => any.iter().filter_map(|term| terms.keys(term)).collect(),
            LabelTerms::Beginning(term) => {
                terms.keys_beginning(&term).take(LISTS_MAX + 1).collect()
            }
        });
        by_field
            .chain(by_label)
            .filter(|lists: &Vec<_>| lists.len() <= LISTS_MAX)
            .collect::<Vec<_>>()
            .into_iter()
    }

    fn count_range(&self, range: &KeyRange) -> usize {
        let objects = &self.view.objects;
        let end = range.end.as_deref();
        end.map_or(objects.len(), |end| objects.rank(end))
            .saturating_sub(objects.rank(&range.start))
    }
}

fn count_lists(lists: &[&Keys], range: &KeyRange) -> usize {
    lists.iter().map(|keys| keys.count(range)).sum()
}

/// The objects of a snapshot that someone is interested in.
pub struct Selection<'a> {
    snapshot: &'a Snapshot,
    judge: Judge,
    source: Source<'a>,
    /// The first key behind the area.
    end: Option<Vec<u8>>,
}

enum Source<'a> {
    /// Looks at each object in order.
    Scan(Iter<'a, Arc<CachedObject>>),
    /// Looks at the objects that an index names.
    Index(Merged<'a>),
    /// Looks up one name in each namespace, beginning at the namespace of this key.
    Names(Vec<u8>),
}

impl<'a> Iterator for Selection<'a> {
    type Item = &'a Arc<CachedObject>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let object = self.candidate()?;
            if self
                .end
                .as_deref()
                .is_some_and(|end| object.key().as_bytes() >= end)
            {
                return None;
            }
            if self.judge.selects(object) {
                return Some(object);
            }
        }
    }
}

impl<'a> Selection<'a> {
    fn candidate(&mut self) -> Option<&'a Arc<CachedObject>> {
        let objects = &self.snapshot.view.objects;
        match &mut self.source {
            Source::Scan(walk) => walk.next(),
            Source::Index(walk) => walk.next().and_then(|key| objects.get(key.as_bytes())),
            Source::Names(start) => {
                let Area::Name(name) = self.judge.area() else {
                    return None;
                };
                let (object, next) = next_of_name(self.snapshot, start, name)?;
                *start = next;
                Some(object)
            }
        }
    }
}

/// The first object of this name at or after `start`, and where to go on.
fn next_of_name<'a>(
    snapshot: &'a Snapshot,
    start: &[u8],
    name: &str,
) -> Option<(&'a Arc<CachedObject>, Vec<u8>)> {
    let objects = &snapshot.view.objects;
    let prefix = snapshot.layout.storage_prefix().len();
    let mut start = start.to_vec();
    loop {
        let found = objects.iter_from(&start).next()?;
        let key = found.key().as_bytes();
        let namespace = namespace_part(key, prefix)?;
        let wanted = [&key[..namespace.end], b"/", name.as_bytes()].concat();
        // The key of the next namespace is the first that does not begin with this one's slash.
        let next = KeyRange::prefix(&key[..namespace.end + 1]).end?;
        match objects.get(&wanted) {
            Some(object) if wanted >= start => return Some((object, next)),
            _ => start = next,
        }
    }
}

fn namespace_part(key: &[u8], prefix: usize) -> Option<Range<usize>> {
    let tail = key.get(prefix..)?;
    let length = tail.iter().position(|byte| *byte == b'/')?;
    Some(prefix..prefix + length)
}
