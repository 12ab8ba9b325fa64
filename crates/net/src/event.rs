//! What [`Net`](crate::Net) tells without being asked.

use farhold_secure::Code;
use farhold_wire::ContactId;

use crate::config::SavedContact;

/// Something that must be kept on disk or shown. How it stands with a contact is watched instead:
/// [`Net::state`](crate::Net::state).
#[derive(Debug)]
pub enum NetEvent {
    /// A pending pairing has met its contact. Store `contact` (over an older provisional one of the same id), then call
    /// [`Net::confirm_stored`](crate::Net::confirm_stored) with it. The pairing stays pending until [`NetEvent::Promoted`].
    Paired {
        /// The contact's code, as it was given to [`Net::pair`](crate::Net::pair).
        code: Code,
        /// What to store; provisional.
        contact: SavedContact,
        /// The authentication words: both sides see the same unless somebody sits between them.
        words: String,
    },
    /// The contact has stored the pair secret too: it is no longer provisional, and the pairing is done.
    Promoted {
        /// Which contact.
        id: ContactId,
    },
}
