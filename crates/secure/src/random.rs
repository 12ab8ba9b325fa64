//! The system's random numbers, and nothing else: every key and nonce of this crate comes through [`fill`].

/// The operating system gave no random numbers. Whatever needed them was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system gave no random numbers")]
pub struct RandomError;

/// Fills `bytes` from the operating system's generator.
pub fn fill(bytes: &mut [u8]) -> Result<(), RandomError> {
    #[cfg(test)]
    if let Some(outcome) = testing::fill(bytes) {
        return outcome;
    }
    getrandom::fill(bytes).map_err(|_| RandomError)
}

/// An array of `N` random bytes.
pub fn array<const N: usize>() -> Result<[u8; N], RandomError> {
    let mut bytes = [0; N];
    fill(&mut bytes)?;
    Ok(bytes)
}

/// Lets a test fix the numbers, or make them fail, for its own thread.
#[cfg(test)]
pub(crate) mod testing {
    use std::cell::RefCell;

    use sha2::{Digest, Sha512};

    use super::RandomError;

    #[derive(Clone, Copy)]
    enum Source {
        Seeded { seed: u64, drawn: u64 },
        Failing { good_calls: u32 },
    }

    thread_local! {
        static SOURCE: RefCell<Option<Source>> = const { RefCell::new(None) };
    }

    fn with<T>(source: Source, test: impl FnOnce() -> T) -> T {
        let before = SOURCE.replace(Some(source));
        let result = test();
        SOURCE.set(before);
        result
    }

    /// Runs `test` with numbers that depend on `seed` alone.
    pub(crate) fn seeded<T>(seed: u64, test: impl FnOnce() -> T) -> T {
        with(Source::Seeded { seed, drawn: 0 }, test)
    }

    /// Runs `test` with a generator that fails after `good_calls` draws.
    pub(crate) fn failing<T>(good_calls: u32, test: impl FnOnce() -> T) -> T {
        with(Source::Failing { good_calls }, test)
    }

    pub(super) fn fill(bytes: &mut [u8]) -> Option<Result<(), RandomError>> {
        SOURCE.with_borrow_mut(|source| match source.as_mut()? {
            Source::Seeded { seed, drawn } => {
                for chunk in bytes.chunks_mut(64) {
                    let block =
                        Sha512::new().chain_update(seed.to_be_bytes()).chain_update(drawn.to_be_bytes());
                    *drawn += 1;
                    chunk.copy_from_slice(&block.finalize()[..chunk.len()]);
                }
                Some(Ok(()))
            }
            Source::Failing { good_calls: 0 } => Some(Err(RandomError)),
            Source::Failing { good_calls } => {
                *good_calls -= 1;
                None
            }
        })
    }
}
