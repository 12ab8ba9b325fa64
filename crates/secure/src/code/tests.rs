use super::*;

fn code() -> Code {
    Code::from_bytes(std::array::from_fn(|at| u8::try_from(at * 4).unwrap()))
}

#[test]
fn text_and_back() {
    let text = code().to_string();
    assert_eq!(text.len(), CODE_CHARS);
    assert_eq!(text.parse(), Ok(code()));
    assert_eq!(format!("  {text}\r\n").parse(), Ok(code()));
}

#[test]
fn anything_else_is_refused() {
    let text = code().to_string();
    assert_eq!("".parse::<Code>(), Err(CodeError::Length));
    assert_eq!("abcde".parse::<Code>(), Err(CodeError::Length));
    assert_eq!(format!("{text}A").parse::<Code>(), Err(CodeError::Length));
    assert_eq!(text.replacen('A', "+", 1).parse::<Code>(), Err(CodeError::Character));
    assert_eq!(text.replacen('A', "\u{e4}", 1).parse::<Code>(), Err(CodeError::Character));
    // The last character carries four bits more than the code has.
    let (head, last) = text.split_at(CODE_CHARS - 1);
    assert_eq!(last, "A");
    assert_eq!(format!("{head}B").parse::<Code>(), Err(CodeError::Character));
}

#[test]
fn debug_shows_too_little_to_use() {
    assert_eq!(format!("{:?}", code()), "Code(AAQIDB..)");
}
