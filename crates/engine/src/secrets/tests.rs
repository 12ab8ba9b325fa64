use std::os::unix::fs::PermissionsExt;

use super::*;

struct Fixture {
    temp: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self { temp: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join(name)
    }

    fn key(&self) -> Result<MasterKey, SecretsError> {
        MasterKey::load(&self.path("secret.key"), &[self.path("identity")])
    }
}

#[test]
fn a_key_is_made_once_and_found_again() {
    let fixture = Fixture::new();
    let made = fixture.key().unwrap();
    let mode = std::fs::metadata(fixture.path("secret.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(*made.0, *fixture.key().unwrap().0);
}

#[test]
fn no_key_is_made_beside_sealed_files() {
    let fixture = Fixture::new();
    std::fs::write(fixture.path("identity"), "sealed").unwrap();
    assert!(matches!(fixture.key(), Err(SecretsError::KeyMissing { .. })));
    assert!(!fixture.path("secret.key").exists());
}

#[test]
fn a_key_that_others_can_read_or_that_is_cut_is_refused_and_kept() {
    let fixture = Fixture::new();
    fixture.key().unwrap();
    let path = fixture.path("secret.key");
    let whole = std::fs::read(&path).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    assert!(matches!(fixture.key(), Err(SecretsError::KeyExposed { .. })));
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    for cut in [&whole[..0], &whole[..20], &[whole.as_slice(), b"x"].concat()] {
        std::fs::write(&path, cut).unwrap();
        assert!(matches!(fixture.key(), Err(SecretsError::KeyDamaged { .. })));
        assert_eq!(std::fs::read(&path).unwrap(), cut);
    }
}

#[test]
fn what_is_sealed_opens_again_under_its_label_only() {
    let fixture = Fixture::new();
    let (key, path) = (fixture.key().unwrap(), fixture.path("identity"));
    assert!(key.open(&path, "identity").unwrap().is_none());
    key.seal(&path, "identity", b"secret").unwrap();
    assert_eq!(key.open(&path, "identity").unwrap().unwrap().as_slice(), b"secret");
    assert!(matches!(key.open(&path, "contacts"), Err(SecretsError::Damaged { .. })));
    assert!(!std::fs::read(&path).unwrap().windows(6).any(|window| window == b"secret"));
}

#[test]
fn every_cut_and_every_flipped_bit_is_an_error_and_is_kept() {
    let fixture = Fixture::new();
    let (key, path) = (fixture.key().unwrap(), fixture.path("identity"));
    key.seal(&path, "identity", b"secret").unwrap();
    let whole = std::fs::read(&path).unwrap();
    let cuts = (0..whole.len()).map(|length| whole[..length].to_vec());
    let flips = (0..whole.len() * 8).map(|bit| {
        let mut changed = whole.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        changed
    });
    for content in cuts.chain(flips) {
        std::fs::write(&path, &content).unwrap();
        let opened = key.open(&path, "identity");
        assert!(matches!(opened, Err(SecretsError::Damaged { .. } | SecretsError::Version { .. })));
        assert_eq!(std::fs::read(&path).unwrap(), content);
    }
}

#[test]
fn another_key_opens_nothing() {
    let (one, other) = (Fixture::new(), Fixture::new());
    let path = one.path("identity");
    one.key().unwrap().seal(&path, "identity", b"secret").unwrap();
    assert!(matches!(other.key().unwrap().open(&path, "identity"), Err(SecretsError::Damaged { .. })));
}
