use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::config::{Limit, Rate};

const SOURCE: Source = Source::V4([192, 0, 2, 1]);

fn token(number: u8) -> Token {
    [number; limits::TOKEN_BYTES]
}

fn post(token_number: u8, key: u8, blob: &'static [u8], ttl_seconds: u64) -> Post {
    Post {
        token: token(token_number),
        slot_key: [key; limits::SLOT_KEY_BYTES],
        blob: Bytes::from_static(blob),
        ttl: Duration::from_secs(ttl_seconds),
    }
}

fn board() -> (Board, Instant) {
    (Board::new(&Limits::default()), Instant::now())
}

fn events(board: &mut Board, id: WatcherId, now: Instant) -> Vec<(Token, Vec<Bytes>)> {
    std::iter::from_fn(|| board.next_event(id, now)).collect()
}

#[test]
fn a_watcher_first_gets_the_state_of_every_token_then_changes() {
    let (mut board, now) = board();
    board.post(post(1, 1, b"one", 60), SOURCE, now).unwrap();
    let id = board.watch(vec![token(1), token(2), token(1)], SOURCE).unwrap();
    assert_eq!(events(&mut board, id, now), [(token(1), vec!["one".into()]), (token(2), vec![])]);
    assert!(board.take_woken().is_empty());

    board.post(post(2, 1, b"two", 60), SOURCE, now).unwrap();
    board.post(post(3, 1, b"not watched", 60), SOURCE, now).unwrap();
    assert_eq!(board.take_woken(), BTreeSet::from([id]));
    assert_eq!(events(&mut board, id, now), [(token(2), vec!["two".into()])]);
}

#[test]
fn changes_that_were_not_taken_yet_are_told_as_one_state() {
    let (mut board, now) = board();
    let id = board.watch(vec![token(1)], SOURCE).unwrap();
    board.post(post(1, 1, b"old", 60), SOURCE, now).unwrap();
    board.post(post(1, 1, b"new", 60), SOURCE, now).unwrap();
    assert_eq!(events(&mut board, id, now), [(token(1), vec!["new".into()])]);
}

#[test]
fn a_refresh_with_the_same_blob_prolongs_and_tells_nobody() {
    let (mut board, now) = board();
    let id = board.watch(vec![token(1)], SOURCE).unwrap();
    board.post(post(1, 1, b"here", 60), SOURCE, now).unwrap();
    events(&mut board, id, now);
    board.take_woken();
    board.post(post(1, 1, b"here", 60), SOURCE, now + Duration::from_secs(50)).unwrap();
    assert!(board.take_woken().is_empty());
    assert_eq!(board.next_expiry(), Some(now + Duration::from_secs(110)));
    assert_eq!(board.size().posts, 1);
}

#[test]
fn a_slot_is_replaced_and_taken_back_with_its_own_key_only() {
    let (mut board, now) = board();
    board.post(post(1, 1, b"mine", 60), SOURCE, now).unwrap();
    board.post(post(1, 2, b"theirs", 60), SOURCE, now).unwrap();
    board.post(post(1, 2, b"", 0), SOURCE, now).unwrap();
    board.post(post(1, 3, b"", 0), SOURCE, now).unwrap();
    let id = board.watch(vec![token(1)], SOURCE).unwrap();
    assert_eq!(events(&mut board, id, now), [(token(1), vec!["mine".into()])]);
    board.post(post(1, 1, b"", 0), SOURCE, now).unwrap();
    assert_eq!(events(&mut board, id, now), [(token(1), vec![])]);
    let empty = BoardSize { tokens: 0, posts: 0, post_bytes: 0, watches: 1, watched_tokens: 1 };
    assert_eq!(board.size(), empty);
    assert_eq!(board.next_expiry(), None);
}

#[test]
fn a_token_has_four_slots_and_its_owner_keeps_its_own() {
    let (mut board, now) = board();
    for key in 1..=4 {
        board.post(post(1, key, b"first", 60), SOURCE, now).unwrap();
    }
    assert_eq!(board.post(post(1, 5, b"fifth", 60), SOURCE, now), Err(PostRefusal::SlotsTaken));
    board.post(post(1, 2, b"again", 60), SOURCE, now).unwrap();
    assert_eq!(board.size().posts, 4);
}

#[test]
fn posts_expire_in_order_and_their_watchers_are_told() {
    let (mut board, now) = board();
    let id = board.watch(vec![token(1), token(2)], SOURCE).unwrap();
    board.post(post(1, 1, b"long", 60), SOURCE, now).unwrap();
    board.post(post(2, 1, b"short", 30), SOURCE, now).unwrap();
    events(&mut board, id, now);
    board.take_woken();

    let at = board.next_expiry().unwrap();
    assert_eq!(at, now + Duration::from_secs(30));
    board.expire(at - Duration::from_millis(1));
    assert!(board.take_woken().is_empty());
    board.expire(at);
    assert_eq!(board.take_woken(), BTreeSet::from([id]));
    assert_eq!(events(&mut board, id, at), [(token(2), vec![])]);
    assert_eq!(board.next_expiry(), Some(now + Duration::from_secs(60)));
}

#[test]
fn what_is_over_is_not_told_even_before_it_is_removed() {
    let (mut board, now) = board();
    board.post(post(1, 1, b"over", 30), SOURCE, now).unwrap();
    let id = board.watch(vec![token(1)], SOURCE).unwrap();
    assert_eq!(events(&mut board, id, now + Duration::from_secs(30)), [(token(1), vec![])]);
}

#[test]
fn a_refused_replacement_leaves_the_slot_as_it_was() {
    let limits = Limits { post_bytes: Limit::new(100, 10), ..Limits::default() };
    let (mut board, now) = (Board::new(&limits), Instant::now());
    board.post(post(1, 1, b"12345678", 60), SOURCE, now).unwrap();
    let refused = board.post(post(1, 1, b"12345678901", 60), SOURCE, now);
    assert_eq!(refused, Err(PostRefusal::Full(Full::Source)));
    let id = board.watch(vec![token(1)], SOURCE).unwrap();
    assert_eq!(events(&mut board, id, now), [(token(1), vec!["12345678".into()])]);
    assert_eq!((board.size().posts, board.size().post_bytes), (1, 8));
}

#[test]
fn a_source_that_posts_too_often_has_to_wait() {
    let rate = Rate { every: Duration::from_millis(50), burst: 2 };
    let limits = Limits { post_rate: rate, ..Limits::default() };
    let (mut board, now) = (Board::new(&limits), Instant::now());
    board.post(post(1, 1, b"one", 60), SOURCE, now).unwrap();
    board.post(post(1, 1, b"two", 60), SOURCE, now).unwrap();
    assert_eq!(board.post(post(1, 1, b"", 0), SOURCE, now), Err(PostRefusal::TooFast));
    board.post(post(1, 2, b"other", 60), Source::V4([192, 0, 2, 2]), now).unwrap();
    board.post(post(1, 1, b"", 0), SOURCE, now + Duration::from_millis(50)).unwrap();
    assert_eq!(board.size().posts, 1);
}

#[derive(Debug, Clone)]
enum Step {
    Post { token: u8, key: u8, length: usize, ttl: u64, source: u8 },
    Watch { tokens: Vec<u8>, source: u8 },
    Unwatch(usize),
    Take(usize),
    Pass(u64),
    Expire,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0u8..6, 0u8..6, 0usize..12, 1u64..20, 0u8..3)
            .prop_map(|(token, key, length, ttl, source)| Step::Post { token, key, length, ttl, source }),
        2 => (prop::collection::vec(0u8..6, 0..6), 0u8..3)
            .prop_map(|(tokens, source)| Step::Watch { tokens, source }),
        1 => (0usize..8).prop_map(Step::Unwatch),
        3 => (0usize..8).prop_map(Step::Take),
        2 => (0u64..10).prop_map(Step::Pass),
        1 => Just(Step::Expire),
    ]
}

/// A post as the model keeps it: blob, end, source.
type Kept = (Bytes, Instant, u8);
/// What a watcher was told last of each of its tokens.
type Told = BTreeMap<u8, Option<Vec<Bytes>>>;

/// The board and a slow, obvious model of it, which follows the board's answers and checks them.
struct Checked {
    board: Board,
    limits: Limits,
    now: Instant,
    posts: BTreeMap<(u8, u8), Kept>,
    watchers: Vec<(WatcherId, u8, Told)>,
}

impl Checked {
    fn new() -> Self {
        let limits = Limits {
            posts: Limit::new(9, 5),
            post_bytes: Limit::new(60, 35),
            watches: Limit::new(4, 2),
            watched_tokens: Limit::new(10, 6),
            token_watches: Limit::new(3, 1),
            ..Limits::default()
        };
        let board = Board::new(&limits);
        Self { board, limits, now: Instant::now(), posts: BTreeMap::new(), watchers: Vec::new() }
    }

    fn source(number: u8) -> Source {
        Source::V4([0, 0, 0, number])
    }

    fn live(&self, token: u8) -> Vec<Bytes> {
        let live = self.posts.iter().filter(|((of, _), (_, ends, _))| *of == token && *ends > self.now);
        let mut blobs: Vec<Bytes> = live.map(|(_, (blob, ..))| blob.clone()).collect();
        blobs.sort();
        blobs
    }

    fn apply(&mut self, step: Step) {
        match step {
            Step::Post { token: number, key, length, ttl, source } => {
                // Blobs differ by key, so that mixed up slots show.
                let blob = Bytes::from(vec![key; length]);
                let ttl = Duration::from_secs(ttl);
                let post = Post {
                    token: token(number),
                    slot_key: [key; limits::SLOT_KEY_BYTES],
                    blob: blob.clone(),
                    ttl,
                };
                let result = self.board.post(post, Self::source(source), self.now);
                let now = self.now;
                self.posts.retain(|_, (_, ends, _)| *ends > now);
                let old = self.posts.remove(&(number, key));
                if blob.is_empty() {
                    assert_eq!(result, Ok(()));
                    return;
                }
                let fits = self.fits(number, length, source);
                assert_eq!(result.is_ok(), fits, "{result:?}");
                let kept = if fits { Some((blob, now + ttl, source)) } else { old };
                self.posts.extend(kept.map(|kept| ((number, key), kept)));
            }
            Step::Watch { tokens, source } => {
                let told: Told = tokens.iter().map(|number| (*number, None)).collect();
                let of_source = self.watchers.iter().filter(|(_, of, _)| *of == source);
                let mine: usize = of_source.clone().map(|(.., told)| told.len()).sum();
                let all: usize = self.watchers.iter().map(|(.., told)| told.len()).sum();
                let (watches, watched) = (self.limits.watches, self.limits.watched_tokens);
                let of_token = self.limits.token_watches;
                let crowded = told.keys().any(|number| {
                    let watchers = self.watchers.iter().filter(|(.., told)| told.contains_key(number));
                    watchers.clone().count() >= of_token.total
                        || watchers.filter(|(_, of, _)| *of == source).count() >= of_token.per_source
                });
                let fits = !crowded
                    && of_source.count() < watches.per_source
                    && self.watchers.len() < watches.total
                    && mine + told.len() <= watched.per_source
                    && all + told.len() <= watched.total;
                let result = self.board.watch(tokens.into_iter().map(token).collect(), Self::source(source));
                assert_eq!(result.is_ok(), fits, "{result:?}");
                self.watchers.extend(result.ok().map(|id| (id, source, told)));
            }
            Step::Unwatch(index) if index < self.watchers.len() => {
                let (id, ..) = self.watchers.remove(index);
                self.board.unwatch(id);
                assert_eq!(self.board.next_event(id, self.now), None);
            }
            Step::Take(index) if index < self.watchers.len() => {
                self.take(index);
            }
            Step::Unwatch(_) | Step::Take(_) => {}
            Step::Pass(seconds) => self.now += Duration::from_secs(seconds),
            Step::Expire => {
                self.board.expire(self.now);
                let now = self.now;
                self.posts.retain(|_, (_, ends, _)| *ends > now);
                assert!(self.board.next_expiry().is_none_or(|at| at > now));
            }
        }
    }

    fn fits(&self, number: u8, length: usize, source: u8) -> bool {
        let count = |posts: &dyn Fn(&(u8, u8), u8) -> bool| {
            let counted = self.posts.iter().filter(|(place, (.., of))| posts(place, *of));
            counted.fold((0, 0), |(posts, bytes), (_, (blob, ..))| (posts + 1, bytes + blob.len()))
        };
        let all = count(&|_, _| true);
        let mine = count(&|_, of| of == source);
        let slots = count(&|place, _| place.0 == number).0;
        let (posts, bytes) = (self.limits.posts, self.limits.post_bytes);
        slots < limits::SLOTS_PER_TOKEN
            && all.0 < posts.total
            && mine.0 < posts.per_source
            && all.1 + length <= bytes.total
            && mine.1 + length <= bytes.per_source
    }

    /// Takes one event of a watcher; `false` if there was none.
    fn take(&mut self, index: usize) -> bool {
        let Some((token, mut blobs)) = self.board.next_event(self.watchers[index].0, self.now) else {
            return false;
        };
        blobs.sort();
        assert_eq!(blobs, self.live(token[0]));
        let told = self.watchers[index].2.get_mut(&token[0]).expect("a token that it does not watch");
        *told = Some(blobs);
        true
    }

    /// Sizes are those of the model; and whoever takes all that is queued knows the truth.
    fn check(&mut self) {
        let size = self.board.size();
        assert_eq!(size.posts, self.posts.len());
        assert_eq!(size.post_bytes, self.posts.values().map(|(blob, ..)| blob.len()).sum::<usize>());
        assert_eq!(size.watches, self.watchers.len());
        assert_eq!(size.watched_tokens, self.watchers.iter().map(|(.., told)| told.len()).sum::<usize>());
        assert_eq!(self.board.expiries.len(), size.posts);
        assert!(self.board.watchers.values().all(|watcher| watcher.queue.len() <= watcher.tokens.len()));
    }

    fn finish(mut self) {
        self.apply(Step::Expire);
        for index in 0..self.watchers.len() {
            while self.take(index) {}
            for (number, told) in &self.watchers[index].2 {
                assert_eq!(told.as_ref(), Some(&self.live(*number)));
            }
        }
        for (id, ..) in std::mem::take(&mut self.watchers) {
            self.board.unwatch(id);
        }
        assert!(self.board.watched_by.is_empty() && self.board.watchers.is_empty());
        self.board.expire(self.now + Duration::from_secs(1000));
        let empty = BoardSize { tokens: 0, posts: 0, post_bytes: 0, watches: 0, watched_tokens: 0 };
        assert_eq!(self.board.size(), empty);
    }
}

proptest! {
    #[test]
    fn random_use_keeps_to_the_limits_and_tells_the_truth(steps in prop::collection::vec(step(), 0..150)) {
        let mut checked = Checked::new();
        for step in steps {
            checked.apply(step);
            checked.check();
        }
        checked.finish();
    }
}
