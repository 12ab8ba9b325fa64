use farhold_secure::{PairSecret, Side};

use super::*;

const HOUR: Hour = Hour(480_000);

struct Pair {
    mine: Arc<Rendezvous>,
    theirs: Rendezvous,
    mailbox: Mailbox,
    seen: watch::Receiver<Seen>,
}

impl Pair {
    fn new() -> Self {
        let secret = PairSecret::from_bytes(&[9; 32]);
        let mine = Arc::new(Rendezvous::saved(&secret, Side::One));
        let (mut mailbox, seen) = Mailbox::new(Arc::clone(&mine));
        mailbox.begin(3);
        Self { mine, theirs: Rendezvous::saved(&secret, Side::Zero), mailbox, seen }
    }

    fn blob(&self, hour: Hour, time: u64, text: &str) -> (Token, Bytes) {
        let token = self.theirs.post_token(hour);
        let stamp = Stamp { unix_milliseconds: time, counter: 0 };
        (token, self.theirs.seal(&token, stamp, text.as_bytes()).unwrap().into())
    }

    fn now(&self) -> (Option<bool>, Option<String>) {
        let seen = self.seen.borrow().clone();
        (seen.present, seen.post.map(|post| String::from_utf8(post).unwrap()))
    }
}

#[test]
fn absent_only_when_every_token_was_reported_empty() {
    let mut pair = Pair::new();
    let tokens = pair.mailbox.tokens(HOUR);
    for (index, token) in tokens.into_iter().enumerate() {
        assert_eq!(pair.now().0, None, "after {index}");
        pair.mailbox.take(token, &[]);
    }
    assert_eq!(pair.now().0, Some(false));
}

#[test]
fn a_post_makes_present_and_its_end_absent() {
    let mut pair = Pair::new();
    let (token, blob) = pair.blob(HOUR, 5, "hello");
    for token in pair.mailbox.tokens(HOUR) {
        pair.mailbox.take(token, &[]);
    }
    pair.mailbox.take(token, &[blob]);
    assert_eq!(pair.now(), (Some(true), Some("hello".into())));
    pair.mailbox.take(token, &[]);
    assert_eq!(pair.now().0, Some(false));
}

#[test]
fn an_older_post_says_nothing_and_does_not_make_present() {
    let mut pair = Pair::new();
    let (_, old) = pair.blob(HOUR, 5, "old");
    let (token, new) = pair.blob(HOUR, 6, "new");
    for token in pair.mailbox.tokens(HOUR) {
        pair.mailbox.take(token, &[]);
    }
    pair.mailbox.take(token, &[old.clone(), new]);
    assert_eq!(pair.now(), (Some(true), Some("new".into())));
    pair.mailbox.take(token, &[old]);
    assert_eq!(pair.now(), (Some(false), Some("new".into())));
}

#[test]
fn our_own_post_and_anybody_elses_is_nobodys() {
    let mut pair = Pair::new();
    let own = pair.mine.post_token(HOUR);
    let stamp = Stamp { unix_milliseconds: 5, counter: 0 };
    let blob = Bytes::from(pair.mine.seal(&own, stamp, b"mine").unwrap());
    let tokens = pair.mailbox.tokens(HOUR);
    assert!(!tokens.contains(&own));
    for token in tokens {
        pair.mailbox.take(token, &[blob.clone(), Bytes::from_static(&[7; 100]), Bytes::new()]);
    }
    assert_eq!(pair.now(), (Some(false), None));
}

#[test]
fn a_new_watch_changes_nothing_until_it_has_told_all() {
    let mut pair = Pair::new();
    let (token, blob) = pair.blob(HOUR, 5, "hello");
    pair.mailbox.take(token, std::slice::from_ref(&blob));
    pair.mailbox.begin(3);
    let others: Vec<_> = pair.mailbox.tokens(HOUR).into_iter().filter(|other| *other != token).collect();
    for other in others {
        pair.mailbox.take(other, &[]);
    }
    assert_eq!(pair.now().0, Some(true));
    // The same post again is no news, but it is alive.
    pair.seen.mark_unchanged();
    pair.mailbox.take(token, &[blob]);
    assert_eq!(pair.now().0, Some(true));
    assert!(!pair.seen.has_changed().unwrap());
}
