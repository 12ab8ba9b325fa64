//! Amounts of bytes, as people write and read them.

/// Parses an amount such as `20GB`, `1.5 GiB` or `1000000`.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| "not an amount; write it like 20GB".to_owned())?;
    let factor: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "t" | "tb" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return Err("unknown unit; use B, kB, MB, GB, TB, KiB, MiB, GiB or TiB".to_owned()),
    };
    let bytes = number * factor as f64;
    // Beyond this a double no longer holds every whole number.
    if bytes > 9e15 {
        return Err("too much".to_owned());
    }
    Ok(bytes.round() as u64)
}

/// A limit of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit(pub(crate) Option<u64>);

/// Parses bytes per second, such as `2MB` or `2MB/s`, or `off`.
pub(crate) fn parse_limit(text: &str) -> Result<Limit, String> {
    match text.trim() {
        "off" => Ok(Limit(None)),
        text => parse(text.strip_suffix("/s").unwrap_or(text)).map(|rate| Limit(Some(rate))),
    }
}

/// Three digits and a unit, such as `1.25 GB`.
pub(crate) fn show(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut amount = bytes as f64;
    let mut unit = 0;
    // 999.5 would be shown as 1000.
    while amount >= 999.5 && unit + 1 < units.len() {
        amount /= 1000.0;
        unit += 1;
    }
    let digits = match amount {
        _ if unit == 0 => 0,
        small if small < 9.995 => 2,
        middle if middle < 99.95 => 1,
        _ => 0,
    };
    format!("{amount:.digits$} {}", units[unit])
}

/// Bytes per second, such as `1.25 GB/s`.
pub(crate) fn rate(bytes: u64) -> String {
    format!("{}/s", show(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_parsed() {
        assert_eq!(parse("1000000"), Ok(1_000_000));
        assert_eq!(parse("20GB"), Ok(20_000_000_000));
        assert_eq!(parse(" 1.5 gib "), Ok(3 << 29));
        assert_eq!(parse("0"), Ok(0));
        for bad in ["", "GB", "-1", "1.2.3", "5 parsecs", "1e5", "10000000TB", "٣"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn limits_are_parsed() {
        assert_eq!(parse_limit("2MB"), Ok(Limit(Some(2_000_000))));
        assert_eq!(parse_limit(" 1.5 MB/s"), Ok(Limit(Some(1_500_000))));
        assert_eq!(parse_limit("off"), Ok(Limit(None)));
        assert!(parse_limit("none").is_err());
    }

    #[test]
    fn amounts_are_shown_with_three_digits() {
        for (bytes, shown) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.00 kB"),
            (12_345, "12.3 kB"),
            (999_499, "999 kB"),
            (999_500, "1.00 MB"),
            (10_000_000_000, "10.0 GB"),
            (u64::MAX, "18447 PB"),
        ] {
            assert_eq!(show(bytes), shown, "{bytes}");
        }
    }
}
