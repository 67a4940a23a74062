//! Who may care about an event: groups of watchers with equal interests, found through indexes.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use listwatch_api::EventType;
use listwatch_store::Revision;

use super::{
    bell::{BELL_WATCHERS_MAX, Bell, Wake},
    cached_object::CachedObject,
    event::Event,
    interest::{Area, Interest, Judge, LabelTerms},
    kind_layout::KindLayout,
    term_index::visit_terms,
};

/// The place of a group among all of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupId(usize);

/// Watchers with the same interest, and the events that it selects.
pub(super) struct Group {
    interest: Arc<Interest>,
    judge: Arc<Judge>,
    anchor: Anchor,
    log: VecDeque<Logged>,
    /// How many entries the log ever had.
    end: u64,
    /// Each with the number of watchers that hear it.
    bells: Vec<(Arc<Bell>, usize)>,
    news: News,
}

/// Whether the log has entries for which nobody has been woken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum News {
    Told,
    Waiting,
}

/// One selected event. Only its place, so that a log keeps nothing alive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Logged {
    pub(super) place: u64,
    pub(super) revision: Revision,
    pub(super) event_type: EventType,
}

/// What a watcher gets when it joins a group.
pub(super) struct Membership {
    pub(super) group: GroupId,
    pub(super) judge: Arc<Judge>,
    pub(super) bell: Arc<Bell>,
}

/// Something that every object of a group's interest has: the bytes under which the group is found.
type Anchor = Box<[u8]>;

/// All groups of a kind.
///
/// Each stands at one anchor, the rarest that its interest offers, and is judged only on events
/// whose object has that anchor before or after:
///
/// ```text
/// one object of a namespace    n team-a / web     spec.nodeName=n1           t 1n1
/// one name anywhere            n web              app=web in one namespace   t team-a / 0app":"web
/// one namespace                s team-a /         everything else            a
/// ```
pub(super) struct Fanout {
    layout: Arc<KindLayout>,
    groups: Vec<Option<Group>>,
    vacant: Vec<GroupId>,
    by_interest: HashMap<Arc<Interest>, GroupId>,
    by_anchor: HashMap<Anchor, Vec<GroupId>>,
    /// Groups whose anchor is a term; while there are none, terms need no looking up.
    term_anchors: usize,
    watchers: usize,
    /// Groups with news.
    waiting: Vec<GroupId>,
    /// Room for the groups that may care about one event.
    candidates: Vec<GroupId>,
    log_events_max: usize,
}

impl Fanout {
    pub(super) fn new(layout: Arc<KindLayout>, log_events_max: usize) -> Self {
        Self {
            layout,
            groups: Vec::new(),
            vacant: Vec::new(),
            by_interest: HashMap::new(),
            by_anchor: HashMap::new(),
            term_anchors: 0,
            watchers: 0,
            waiting: Vec::new(),
            candidates: Vec::new(),
            log_events_max,
        }
    }

    /// Adds a watcher to the group of its interest.
    pub(super) fn join(&mut self, interest: &Interest) -> Membership {
        let id = match self.by_interest.get(interest) {
            Some(id) => *id,
            None => self.found(interest),
        };
        self.watchers += 1;
        let group = self.groups[id.0].as_mut().expect("an interest has a group");
        Membership {
            group: id,
            judge: Arc::clone(&group.judge),
            bell: group.join_bell(),
        }
    }

    /// Takes a watcher out of its group; the last one closes it.
    pub(super) fn leave(&mut self, id: GroupId, bell: &Arc<Bell>) {
        let slot = &mut self.groups[id.0];
        let group = slot.as_mut().expect("a watcher has a group");
        self.watchers -= 1;
        group.leave_bell(bell);
        if !group.bells.is_empty() {
            return;
        }
        if let Some(group) = slot.take() {
            self.by_interest.remove(&group.interest);
            self.term_anchors -= usize::from(is_term(&group.anchor));
            let neighbours = self.by_anchor.get_mut(&group.anchor);
            let neighbours = neighbours.expect("a group stands at its anchor");
            neighbours.retain(|other| *other != id);
            if neighbours.is_empty() {
                self.by_anchor.remove(&group.anchor);
            }
            self.waiting.retain(|other| *other != id);
            self.vacant.push(id);
        }
    }

    /// Notes the event, which is at this place of the history, for every group that selects it.
    pub(super) fn dispatch(&mut self, place: u64, event: &Event) {
        if self.watchers == 0 {
            return;
        }
        let mut candidates = std::mem::take(&mut self.candidates);
        self.collect_candidates(event, &mut candidates);
        for id in candidates.drain(..) {
            let Some(group) = &mut self.groups[id.0] else {
                continue;
            };
            let Some(event_type) = group.judge.event_type(event) else {
                continue;
            };
            let revision = event.revision();
            let logged = Logged {
                place,
                revision,
                event_type,
            };
            group.log(logged, self.log_events_max);
            if group.news == News::Told {
                group.news = News::Waiting;
                self.waiting.push(id);
            }
        }
        self.candidates = candidates;
    }

    /// The bells of the groups that have got entries since the last call, to be rung when these can
    /// be read.
    pub(super) fn take_wakes(&mut self) -> Vec<Wake> {
        let mut wakes = Vec::new();
        for id in self.waiting.drain(..) {
            if let Some(group) = &mut self.groups[id.0] {
                group.news = News::Told;
                wakes.extend(group.wakes());
            }
        }
        wakes
    }

    /// All bells, for news that concern everyone.
    pub(super) fn all_wakes(&self) -> Vec<Wake> {
        let groups = self.groups.iter().flatten();
        groups.flat_map(Group::wakes).collect()
    }

    pub(super) fn group(&self, id: GroupId) -> &Group {
        self.groups[id.0].as_ref().expect("a watcher has a group")
    }

    pub(super) fn watchers(&self) -> usize {
        self.watchers
    }

    pub(super) fn groups(&self) -> usize {
        self.by_interest.len()
    }

    fn found(&mut self, interest: &Interest) -> GroupId {
        let interest = Arc::new(interest.clone());
        let judge = Judge::new(&interest, &self.layout);
        let anchor = choose_anchor(&judge);
        self.term_anchors += usize::from(is_term(&anchor));
        let id = self.vacant.pop().unwrap_or_else(|| {
            self.groups.push(None);
            GroupId(self.groups.len() - 1)
        });
        self.by_anchor.entry(anchor.clone()).or_default().push(id);
        self.by_interest.insert(Arc::clone(&interest), id);
        self.groups[id.0] = Some(Group {
            interest,
            judge: Arc::new(judge),
            anchor,
            log: VecDeque::new(),
            end: 0,
            bells: Vec::new(),
            news: News::Told,
        });
        id
    }

    /// The groups at any anchor of the object, before or after.
    fn collect_candidates(&self, event: &Event, found: &mut Vec<GroupId>) {
        let states = [event.object(), event.previous()];
        for object in states.into_iter().flatten() {
            self.collect(object, found);
        }
        found.sort_unstable();
        found.dedup();
    }

    fn collect(&self, object: &CachedObject, found: &mut Vec<GroupId>) {
        let namespace = object.namespace();
        let mut visit = |anchor: &[u8]| {
            found.extend(self.by_anchor.get(anchor).into_iter().flatten());
        };
        let mut buffer = Vec::with_capacity(96);
        visit(anchor(&mut buffer, b'a', None, b""));
        visit(anchor(&mut buffer, b's', namespace, b""));
        visit(anchor(&mut buffer, b'n', None, object.name().as_bytes()));
        visit(anchor(
            &mut buffer,
            b'n',
            namespace,
            object.name().as_bytes(),
        ));
        if self.term_anchors > 0 {
            visit_terms(object, &self.layout, |term| {
                visit(anchor(&mut buffer, b't', None, term));
                visit(anchor(&mut buffer, b't', namespace, term));
            });
        }
    }
}

impl Group {
    /// The first entry that the log still has.
    pub(super) fn first(&self) -> u64 {
        self.end - self.log.len() as u64
    }

    /// The number of the entry that comes next.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// The entries from this one on, which the log still has.
    pub(super) fn from(&self, cursor: u64) -> impl Iterator<Item = &Logged> {
        let skipped = cursor.saturating_sub(self.first());
        self.log.iter().skip(skipped as usize)
    }

    fn log(&mut self, logged: Logged, log_events_max: usize) {
        // The oldest leaves first, so that a watcher behind it notices and never skips.
        if self.log.len() >= log_events_max {
            self.log.pop_front();
        }
        self.log.push_back(logged);
        self.end += 1;
    }

    /// The bell of one more watcher: one that has room, or a new one.
    fn join_bell(&mut self) -> Arc<Bell> {
        let has_room = |(_, watchers): &&mut (Arc<Bell>, usize)| *watchers < BELL_WATCHERS_MAX;
        if let Some((bell, watchers)) = self.bells.iter_mut().rev().find(has_room) {
            *watchers += 1;
            return Arc::clone(bell);
        }
        let bell = Arc::<Bell>::default();
        self.bells.push((Arc::clone(&bell), 1));
        bell
    }

    fn leave_bell(&mut self, bell: &Arc<Bell>) {
        let heard = |(other, _): &(Arc<Bell>, usize)| Arc::ptr_eq(other, bell);
        let at = self.bells.iter().position(heard);
        let at = at.expect("a watcher hears a bell of its group");
        self.bells[at].1 -= 1;
        if self.bells[at].1 == 0 {
            self.bells.remove(at);
        }
    }

    fn wakes(&self) -> impl Iterator<Item = Wake> {
        let bells = self.bells.iter();
        bells.map(|(bell, watchers)| Wake {
            bell: Arc::clone(bell),
            watchers: *watchers,
        })
    }
}

/// The rarest thing that all wanted objects have.
fn choose_anchor(judge: &Judge) -> Anchor {
    let mut buffer = Vec::new();
    let (namespace, name) = match judge.area() {
        Area::Everywhere => (None, None),
        Area::Namespace(namespace) => (Some(&**namespace), None),
        Area::Name(name) => (None, Some(name)),
        Area::NamespaceAndName(namespace, name) => (Some(&**namespace), Some(name)),
    };
    let label = judge.label_terms().find_map(|terms| match terms {
        LabelTerms::AnyOf(mut any) if any.len() == 1 => any.pop(),
        LabelTerms::AnyOf(_) | LabelTerms::Beginning(_) => None,
    });
    let term = judge.field_terms().next().or(label);
    match (name, term, namespace) {
        (Some(name), _, _) => anchor(&mut buffer, b'n', namespace, name.as_bytes()),
        (None, Some(term), _) => anchor(&mut buffer, b't', namespace, term.as_bytes()),
        (None, None, Some(_)) => anchor(&mut buffer, b's', namespace, b""),
        (None, None, None) => anchor(&mut buffer, b'a', None, b""),
    }
    .into()
}

fn anchor<'a>(buffer: &'a mut Vec<u8>, tag: u8, namespace: Option<&str>, rest: &[u8]) -> &'a [u8] {
    buffer.clear();
    buffer.push(tag);
    if let Some(namespace) = namespace {
        buffer.extend_from_slice(namespace.as_bytes());
        buffer.push(b'/');
    }
    buffer.extend_from_slice(rest);
    buffer
}

fn is_term(anchor: &[u8]) -> bool {
    anchor.first() == Some(&b't')
}

#[cfg(test)]
mod tests {
    use listwatch_api::selector::{FieldSelector, LabelSelector};
    use listwatch_store::Key;

    use super::*;
    use crate::registry::{Scope, SelectableField};

    fn layout() -> Arc<KindLayout> {
        let node = SelectableField {
            name: "spec.node".into(),
            path: vec!["spec".into(), "node".into()],
            fallback: None,
            default: "".into(),
            indexed: true,
        };
        let layout = KindLayout::new("/registry/things/", Scope::Namespaced, [&node]);
        Arc::new(layout)
    }

    fn interest(area: Area, labels: &str, fields: &str) -> Interest {
        Interest {
            area,
            labels: LabelSelector::parse(labels).unwrap(),
            fields: FieldSelector::parse(fields).unwrap(),
        }
    }

    fn thing(id: &str, label: &str, node: &str) -> Option<Arc<CachedObject>> {
        let value = format!(
            r#"{{"metadata":{{"labels":{{"app":"{label}"}}}},"spec":{{"node":"{node}"}}}}"#
        );
        let key = Key::new(format!("/registry/things/{id}"));
        let object = CachedObject::read(&layout(), key, Revision::new(1), value.into());
        Some(Arc::new(object.unwrap()))
    }

    fn judged(fanout: &Fanout, event: &Event) -> usize {
        let mut found = Vec::new();
        fanout.collect_candidates(event, &mut found);
        found.len()
    }

    #[test]
    fn of_many_interests_only_those_are_judged_that_may_match() {
        let mut fanout = Fanout::new(layout(), 8);
        for number in 0..1_000 {
            let team = Area::Namespace(format!("team-{number}").into());
            fanout.join(&interest(
                Area::Everywhere,
                "",
                &format!("spec.node=n{number}"),
            ));
            fanout.join(&interest(Area::Everywhere, &format!("app=a{number}"), ""));
            fanout.join(&interest(team.clone(), "", ""));
            fanout.join(&interest(team, "app=a1", ""));
            fanout.join(&interest(Area::Name(format!("x{number}").into()), "", ""));
        }
        let revision = Revision::new(2);
        let created = Event::new(revision, None, thing("team-7/x9", "a1", "n3")).unwrap();
        // Of the node, of the label, of the namespace, of both, of the name.
        assert_eq!(judged(&fanout, &created), 5);
        let before = thing("team-7/x9", "a1", "n3");
        let moved = Event::new(revision, before, thing("team-7/x9", "a2", "n4")).unwrap();
        assert_eq!(judged(&fanout, &moved), 7);
        assert_eq!((fanout.groups(), fanout.watchers()), (5_000, 5_000));
    }

    #[test]
    fn watchers_of_one_interest_share_a_group_that_ends_with_the_last() {
        let mut fanout = Fanout::new(layout(), 8);
        let web = interest(Area::Everywhere, "app=web", "");
        let (first, second) = (fanout.join(&web), fanout.join(&web));
        assert_eq!((first.group, fanout.groups()), (second.group, 1));
        let event = Event::new(Revision::new(2), None, thing("a/b", "web", "n")).unwrap();
        fanout.dispatch(0, &event);
        fanout.dispatch(1, &event);
        let wakes = fanout.take_wakes();
        assert_eq!(
            wakes.iter().map(|wake| wake.watchers).collect::<Vec<_>>(),
            [2]
        );
        assert!(fanout.take_wakes().is_empty());
        fanout.leave(first.group, &first.bell);
        assert_eq!(fanout.group(second.group).end(), 2);
        fanout.leave(second.group, &second.bell);
        assert_eq!((fanout.groups(), judged(&fanout, &event)), (0, 0));
        assert!(fanout.by_anchor.is_empty());
    }

    #[test]
    fn a_large_group_has_a_bell_for_every_few_of_its_watchers() {
        let mut fanout = Fanout::new(layout(), 8);
        let all = interest(Area::Everywhere, "", "");
        let watchers = |fanout: &Fanout| {
            let wakes = fanout.all_wakes().into_iter();
            wakes.map(|wake| wake.watchers).collect::<Vec<_>>()
        };
        let mut members: Vec<Membership> = (0..2 * BELL_WATCHERS_MAX + 1)
            .map(|_| fanout.join(&all))
            .collect();
        assert_eq!(watchers(&fanout), [BELL_WATCHERS_MAX, BELL_WATCHERS_MAX, 1]);
        let last = members.pop().unwrap();
        fanout.leave(last.group, &last.bell);
        assert_eq!(watchers(&fanout), [BELL_WATCHERS_MAX; 2]);
        let first = members.swap_remove(0);
        fanout.leave(first.group, &first.bell);
        let next = fanout.join(&all);
        assert!(Arc::ptr_eq(&next.bell, &first.bell), "it had room");
    }

    #[test]
    fn a_log_forgets_its_oldest_entry_first() {
        let mut fanout = Fanout::new(layout(), 2);
        let group = fanout.join(&interest(Area::Everywhere, "", "")).group;
        let event = Event::new(Revision::new(2), None, thing("a/b", "web", "n")).unwrap();
        (0..5).for_each(|place| fanout.dispatch(place, &event));
        let group = fanout.group(group);
        let places: Vec<u64> = group.from(0).map(|logged| logged.place).collect();
        assert_eq!((group.first(), group.end(), places), (3, 5, vec![3, 4]));
    }
}
