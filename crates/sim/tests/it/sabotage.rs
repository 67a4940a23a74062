//! Lies put into what an honest server said: each must be noticed, by the checker meant for it.

use listwatch_api::ResourceVersion;
use listwatch_sim::{
    checkers,
    history::{
        Bookmarks, Ending, Frame, Freshness, History, ListEnd, Moment, ObjectVersion, Refusal,
        Watch, WatchStart, WriteOutcome,
    },
    selection::Selection,
    trial::{self, Subject},
};

/// A way to lie, and the promise it breaks. The lie says whether it found an occasion.
struct Lie {
    promise: &'static str,
    tell: fn(&mut History, &mut fastrand::Rng) -> Option<()>,
}

const LIES: [Lie; 15] = [
    Lie {
        promise: "complete",
        tell: lose_an_event,
    },
    Lie {
        promise: "resumable",
        tell: lose_the_next_event,
    },
    Lie {
        promise: "converged",
        tell: lose_the_last_event,
    },
    Lie {
        promise: "ordered",
        tell: swap_two_events,
    },
    Lie {
        promise: "unique",
        tell: repeat_an_event,
    },
    Lie {
        promise: "bookmarked",
        tell: bookmark_too_early,
    },
    Lie {
        promise: "filtered",
        tell: call_a_change_a_creation,
    },
    Lie {
        promise: "filtered",
        tell: tell_an_old_state,
    },
    Lie {
        promise: "listed",
        tell: leave_out_an_item,
    },
    Lie {
        promise: "listed",
        tell: list_an_old_state,
    },
    Lie {
        promise: "fresh",
        tell: list_late,
    },
    Lie {
        promise: "linearizable",
        tell: read_late,
    },
    Lie {
        promise: "durable",
        tell: forget_a_write,
    },
    Lie {
        promise: "durable",
        tell: use_a_version_again,
    },
    Lie {
        promise: "exclusive",
        tell: let_two_win,
    },
];

/// A run in which there is an occasion for every lie.
const HONEST_SEED: u64 = 2;

/// How often each lie is told, each time elsewhere.
const OCCASIONS: u64 = 5;

#[tokio::test(flavor = "multi_thread")]
async fn every_lie_about_a_real_run_is_noticed() {
    let run = trial::record(HONEST_SEED, &Subject::Memory).await.unwrap();
    run.judge().unwrap();
    let honest = run.history;
    for (number, lie) in LIES.iter().enumerate() {
        for occasion in 0..OCCASIONS {
            let mut random = fastrand::Rng::with_seed(occasion);
            let mut told = honest.clone();
            let told_it = (lie.tell)(&mut told, &mut random);
            told_it.unwrap_or_else(|| panic!("no occasion for lie {number}"));
            let broken = checkers::check(&told).broken_promises();
            assert!(
                broken.contains(&lie.promise),
                "lie {number}, occasion {occasion}: {broken:?}"
            );
        }
    }
}

/// A stream with at least so many events, on which lies are told, and the places of its events.
/// Never the witness, which is the first: without it nothing is known.
fn stream_with_events<'a>(
    history: &'a mut History,
    random: &mut fastrand::Rng,
    events_min: usize,
    fits: impl Fn(&Watch) -> bool,
) -> Option<(&'a mut Watch, Vec<usize>)> {
    let events = |watch: &Watch| -> Vec<usize> {
        let frames = watch.frames.iter().enumerate();
        let events = frames.filter(|(_, received)| received.frame.event().is_some());
        events.map(|(index, _)| index).collect()
    };
    let fitting = history.watches.iter_mut().filter(|watch| {
        let resumed = matches!(watch.start, WatchStart::After(..));
        let witness = watch.selection.is_everything();
        resumed && !witness && fits(watch) && events(watch).len() >= events_min
    });
    let watch = pick(random, fitting)?;
    let places = events(watch);
    Some((watch, places))
}

fn pick<T>(random: &mut fastrand::Rng, candidates: impl IntoIterator<Item = T>) -> Option<T> {
    random.choice(candidates.into_iter().collect::<Vec<_>>())
}

fn lose_an_event(history: &mut History, random: &mut fastrand::Rng) -> Option<()> {
    let (watch, places) = stream_with_events(history, random, 3, |_| true)?;
    let place = places[random.usize(1..places.len() - 1)];
    watch.frames.remove(place);
    Some(())
}

fn lose_the_next_event(history: &mut History, random: &mut fastrand::Rng) -> Option<()> {
    let (watch, places) = stream_with_events(history, random, 2, |_| true)?;
    watch.frames.drain(..=places[0]);
    Some(())
}

fn lose_the_last_event(history: &mut History, random: &mut fastrand::Rng) -> Option<()> {
    let drained = |watch: &Watch| matches!(watch.ending, Ending::Drained { .. });
    let (watch, places) = stream_with_events(history, random, 1, drained)?;
    watch.frames.remove(*places.last()?);
    Some(())
}

fn swap_two_events(history: &mut History, random: &mut fastrand::Rng) -> Option<()> {
    let (watch, places) = stream_with_events(history, random, 2, |_| true)?;
    let index = random.usize(1..places.len());
    watch.frames.swap(places[index - 1], places[index]);
    Some(())
}

fn repeat_an_event(history: &mut History, random: &mut fastrand::Rng) -> Option<()> {
    let (watch, places) = stream_with_events(history, random, 1, |_| true)?;
    let place = pick(random, places)?;
    let event = watch.frames[place].clone();
    watch.frames.insert(place, event);
    Some(())
}

fn bookmark_too_early(history: &mut History, random: &mut fastrand::Rng) -> Option<()> {
    let wants = |watch: &Watch| watch.bookmarks == Bookmarks::Wanted;
    let (watch, places) = stream_with_events(history, random, 1, wants)?;
    let place = pick(random, places)?;
    let mut early = watch.frames[place].clone();
    early.frame = Frame::Bookmark(early.frame.version());
    watch.frames.insert(place, early);
    Some(())
}

fn call_a_change_a_creation(history: &mut History, random: &mut fastrand::Rng) -> Option<()> {
    let (watch, places) = stream_with_events(history, random, 1, |watch| {
        let mut frames = watch.frames.iter();
        frames.any(|received| matches!(received.frame, Frame::Modified(_)))
    })?;
    let modified = places
        .into_iter()
        .filter_map(|place| match &watch.frames[place].frame {
            Frame::Modified(object) => Some((place, object.clone())),
            _ => None,
        });
    let (place, object) = pick(random, modified)?;
    watch.frames[place].frame = Frame::Added(object);
    Some(())
}

fn tell_an_old_state(history: &mut History, random: &mut fastrand::Rng) -> Option<()> {
    let states = history.clone();
    let (watch, places) = stream_with_events(history, random, 5, |_| true)?;
    let replaceable = places.into_iter().filter_map(|place| {
        let (_, object) = watch.frames[place].frame.event()?;
        let mut old = earlier_state(&states, object)?;
        old.version = object.version;
        Some((place, old))
    });
    let (place, old) = pick(random, replaceable)?;
    watch.frames[place].frame = match watch.frames[place].frame {
        Frame::Added(_) => Frame::Added(old),
        Frame::Deleted(_) => Frame::Deleted(old),
        _ => Frame::Modified(old),
    };
    Some(())
}

/// A state that the object had before, of other content.
fn earlier_state(history: &History, object: &ObjectVersion) -> Option<ObjectVersion> {
    let stored = history.writes.iter().filter_map(|write| write.stored());
    let mut earlier = stored.filter(|state| {
        state.key == object.key && state.version < object.version && !state.same_state(object)
    });
    earlier.next().cloned()
}

fn leave_out_an_item(history: &mut History, random: &mut fastrand::Rng) -> Option<()> {
    let complete = history
        .lists
        .iter_mut()
        .filter(|list| list.end == ListEnd::Complete && list.items().next().is_some());
    let list = pick(random, complete)?;
    let pages = list.pages.iter_mut().filter(|page| !page.items.is_empty());
    let page = pick(random, pages)?;
    page.items.remove(random.usize(..page.items.len()));
    Some(())
}

fn list_an_old_state(history: &mut History, random: &mut fastrand::Rng) -> Option<()> {
    let states = history.clone();
    let items = history.lists.iter_mut().flat_map(|list| &mut list.pages);
    let items = items.flat_map(|page| &mut page.items);
    let replaceable = items.filter_map(|item| {
        let old = earlier_state(&states, item)?;
        Some((item, old))
    });
    let (item, old) = pick(random, replaceable)?;
    *item = old;
    Some(())
}

/// A list that was asked for only after everything had happened.
fn list_late(history: &mut History, random: &mut fastrand::Rng) -> Option<()> {
    let newest = history.lists.iter().filter_map(|list| list.at()).max()?;
    let recent = history.lists.iter_mut().filter(|list| {
        let older = list.at().is_some_and(|at| at < newest);
        list.freshness == Freshness::MostRecent && older
    });
    let list = pick(random, recent)?;
    list.began = Moment(u64::MAX);
    Some(())
}

/// A read of what had been overwritten when it was asked for.
fn read_late(history: &mut History, random: &mut fastrand::Rng) -> Option<()> {
    let stored: Vec<_> = history
        .writes
        .iter()
        .filter_map(|write| write.stored())
        .cloned()
        .collect();
    let overwritten = history.reads.iter_mut().filter(|read| {
        let seen = read.seen.as_ref();
        seen.is_some_and(|seen| {
            let mut later = stored.iter().filter(|state| state.key == seen.key);
            later.any(|state| state.version > seen.version)
        })
    });
    let read = pick(random, overwritten)?;
    (read.began, read.ended) = (Moment(u64::MAX - 1), Moment(u64::MAX));
    Some(())
}

fn forget_a_write(history: &mut History, random: &mut fastrand::Rng) -> Option<()> {
    let restart = *history.restarts.first()?;
    let writes = history
        .writes
        .iter()
        .filter(|write| write.ended < restart.began);
    let acknowledged: Vec<_> = writes.filter_map(|write| write.stored()).cloned().collect();
    let lists = history.lists.iter_mut().filter(|list| {
        list.began > restart.ended
            && list.end == ListEnd::Complete
            && list.freshness == Freshness::MostRecent
            && list.selection == Selection::everything()
    });
    let forgettable = lists.filter_map(|list| {
        let items: Vec<_> = list.items().cloned().collect();
        let known = |item: &&ObjectVersion| acknowledged.iter().any(|state| state.key == item.key);
        let item = items.iter().find(known)?.clone();
        Some((list, item))
    });
    let (list, item) = pick(random, forgettable)?;
    for page in &mut list.pages {
        page.items.retain(|listed| listed.key != item.key);
    }
    Some(())
}

fn use_a_version_again(history: &mut History, random: &mut fastrand::Rng) -> Option<()> {
    let stored = history
        .writes
        .iter_mut()
        .filter_map(|write| match &mut write.outcome {
            WriteOutcome::Stored(object) => Some(object),
            _ => None,
        });
    let mut stored: Vec<_> = stored.collect();
    random.shuffle(&mut stored);
    let version = stored.first()?.version;
    let other = stored.get_mut(1)?;
    other.version = version;
    Some(())
}

fn let_two_win(history: &mut History, random: &mut fastrand::Rng) -> Option<()> {
    let newest = history.lists.iter().filter_map(|list| list.at()).max()?;
    let template = history
        .writes
        .iter()
        .find_map(|write| write.stored())?
        .clone();
    let losers = history
        .writes
        .iter_mut()
        .filter(|write| matches!(write.outcome, WriteOutcome::Refused(Refusal::Conflict)));
    let loser = pick(random, losers)?;
    let mut won = template;
    won.key = loser.key.clone();
    won.token = Some(loser.token);
    won.version = ResourceVersion::new(newest.get() + 1);
    loser.outcome = WriteOutcome::Stored(won);
    Some(())
}
