//! Text that comes from outside and is shown or logged here.

/// Longest text that the other side may say, in bytes; what is longer is cut.
pub(crate) const TEXT_BYTES: usize = 200;

/// What the other side says, without what could upset a terminal or a log.
pub(crate) fn printable(said: &str) -> String {
    let printable = said.chars().filter(|c| !c.is_control());
    printable
        .scan(0, |length, c| {
            *length += c.len_utf8();
            (*length <= TEXT_BYTES).then_some(c)
        })
        .collect()
}
