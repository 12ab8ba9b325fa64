//! How long a request may stay unanswered.

use std::fs;
use std::time::Duration;

/// Longest that any request is held, whatever the kernel allows.
const LONGEST: Duration = Duration::from_secs(28);
/// How much earlier than the kernel's own limit a request is answered.
const MARGIN: Duration = Duration::from_secs(2);
/// After so many seconds without an answer the kernel ends the whole mount; 0: never (Linux 6.15 and later). Both
/// count: a mount that does not ask for a limit of its own gets the default, cut to the maximum.
const SYSCTLS: [&str; 2] =
    ["/proc/sys/fs/fuse/default_request_timeout", "/proc/sys/fs/fuse/max_request_timeout"];

/// How long a request may be held on this machine.
pub(super) fn request_limit() -> Duration {
    longest(&SYSCTLS.map(|path| fs::read_to_string(path).unwrap_or_default()))
}

fn longest(sysctls: &[String]) -> Duration {
    sysctls
        .iter()
        .filter_map(|text| text.trim().parse().ok())
        .filter(|seconds| *seconds > 0)
        .map(|seconds| Duration::from_secs(seconds).saturating_sub(MARGIN).max(Duration::from_secs(1)))
        .fold(LONGEST, Duration::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_limits_are_kept() {
        let longest = |texts: [&str; 2]| longest(&texts.map(str::to_owned)).as_secs();
        assert_eq!(longest(["", ""]), 28);
        assert_eq!(longest(["0\n", "0\n"]), 28);
        assert_eq!(longest(["0\n", "10\n"]), 8);
        assert_eq!(longest(["20\n", "0\n"]), 18);
        assert_eq!(longest(["20\n", "10\n"]), 8);
        assert_eq!(longest(["0\n", "65535\n"]), 28);
        assert_eq!(longest(["0\n", "1\n"]), 1);
    }
}
