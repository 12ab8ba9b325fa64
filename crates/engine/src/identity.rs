//! Who this engine is: made once, sealed, never made again beside contacts that know it.

use farhold_secure::Identity;
use farhold_secure::identity::IDENTITY_BYTES;
use zeroize::Zeroizing;

use crate::layout::Layout;
use crate::secrets::{MasterKey, SecretsError};

const LABEL: &str = "identity";
/// First byte of the sealed content: the schema.
const VERSION: u8 = 1;

/// Loads the identity, or makes it at the first start.
pub(crate) fn load(layout: &Layout, key: &MasterKey) -> Result<Identity, SecretsError> {
    let path = layout.identity();
    match key.open(&path, LABEL)? {
        Some(plain) => {
            let (version, seeds) = plain.split_first().ok_or(SecretsError::Damaged { path: path.clone() })?;
            if *version != VERSION {
                return Err(SecretsError::Schema { path, version: u64::from(*version) });
            }
            let mut exact = Zeroizing::new([0; IDENTITY_BYTES]);
            if seeds.len() != exact.len() {
                return Err(SecretsError::Damaged { path });
            }
            exact.copy_from_slice(seeds);
            Ok(Identity::from_seeds(&exact))
        }
        None if layout.contacts().exists() => Err(SecretsError::IdentityMissing { path }),
        None => {
            let identity = Identity::generate().map_err(|_| SecretsError::Random)?;
            let plain = Zeroizing::new([[VERSION].as_slice(), identity.to_seeds().as_slice()].concat());
            key.seal(&path, LABEL, &plain)?;
            Ok(identity)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(temp: &tempfile::TempDir) -> Layout {
        let layout = Layout::new(temp.path());
        layout.create().unwrap();
        layout
    }

    fn key(layout: &Layout) -> Result<MasterKey, SecretsError> {
        MasterKey::load(&layout.secret_key(), &[layout.identity(), layout.contacts()])
    }

    #[test]
    fn it_stays_the_same_and_is_never_made_again() {
        let temp = tempfile::tempdir().unwrap();
        let layout = layout(&temp);
        let made = load(&layout, &key(&layout).unwrap()).unwrap();
        let again = load(&layout, &key(&layout).unwrap()).unwrap();
        assert_eq!(made.code(), again.code());

        let whole = std::fs::read(layout.identity()).unwrap();
        std::fs::write(layout.identity(), &whole[..whole.len() / 2]).unwrap();
        assert!(matches!(load(&layout, &key(&layout).unwrap()), Err(SecretsError::Damaged { .. })));
        assert_eq!(std::fs::read(layout.identity()).unwrap(), whole[..whole.len() / 2]);

        std::fs::remove_file(layout.secret_key()).unwrap();
        assert!(matches!(key(&layout), Err(SecretsError::KeyMissing { .. })));
    }

    #[test]
    fn without_it_contacts_are_an_error() {
        let temp = tempfile::tempdir().unwrap();
        let layout = layout(&temp);
        let key = key(&layout).unwrap();
        std::fs::write(layout.contacts(), "sealed").unwrap();
        assert!(matches!(load(&layout, &key), Err(SecretsError::IdentityMissing { .. })));
        assert!(!layout.identity().exists());
    }

    #[test]
    fn content_of_another_length_or_schema_is_an_error() {
        let temp = tempfile::tempdir().unwrap();
        let layout = layout(&temp);
        let key = key(&layout).unwrap();
        key.seal(&layout.identity(), LABEL, &[VERSION; 20]).unwrap();
        assert!(matches!(load(&layout, &key), Err(SecretsError::Damaged { .. })));
        key.seal(&layout.identity(), LABEL, &[9; 97]).unwrap();
        assert!(matches!(load(&layout, &key), Err(SecretsError::Schema { version: 9, .. })));
    }
}
