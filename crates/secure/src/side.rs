//! Which of two contacts is which.

use crate::code::Code;

/// Of two contacts, the one with the smaller code is side zero. Both sides come to the same answer without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Has the smaller code. Dials bridged legs, names the control lane, starts exchanges.
    Zero,
    /// Has the larger code.
    One,
}

impl Side {
    /// My side between the two codes; `None` if they are the same, since nobody is their own contact.
    pub fn between(mine: &Code, theirs: &Code) -> Option<Self> {
        match mine.cmp(theirs) {
            std::cmp::Ordering::Less => Some(Self::Zero),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Greater => Some(Self::One),
        }
    }

    /// The other side.
    pub fn other(self) -> Self {
        match self {
            Self::Zero => Self::One,
            Self::One => Self::Zero,
        }
    }

    /// 0 or 1, as in formats and labels.
    pub fn number(self) -> u8 {
        match self {
            Self::Zero => 0,
            Self::One => 1,
        }
    }
}
