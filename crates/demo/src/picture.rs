//! Small pictures that every viewer opens: uncompressed 24-bit bitmaps (BMP, BITMAPINFOHEADER).

/// A picture of `width` x `height` pixels, coloured by `colour(x, y)` as red, green and blue.
pub(crate) fn bitmap(width: u16, height: u16, colour: impl Fn(u16, u16) -> [u8; 3]) -> Vec<u8> {
    const HEADERS: u32 = 14 + 40;
    // Rows are padded to four bytes.
    let row = (u32::from(width) * 3).next_multiple_of(4);
    let pixels = row * u32::from(height);
    let mut file = Vec::with_capacity((HEADERS + pixels) as usize);
    file.extend_from_slice(b"BM");
    for field in [HEADERS + pixels, 0, HEADERS, 40, u32::from(width), u32::from(height)] {
        file.extend_from_slice(&field.to_le_bytes());
    }
    for field in [1u16, 24] {
        file.extend_from_slice(&field.to_le_bytes());
    }
    // No compression, size, 72 dots per inch both ways, no palette.
    for field in [0, pixels, 2835, 2835, 0, 0] {
        file.extend_from_slice(&field.to_le_bytes());
    }
    // From the bottom up, blue first.
    for y in (0..height).rev() {
        for x in 0..width {
            let [red, green, blue] = colour(x, y);
            file.extend_from_slice(&[blue, green, red]);
        }
        file.resize(file.len() + (row - u32::from(width) * 3) as usize, 0);
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bitmap_is_as_long_as_it_says_and_has_its_pixels_where_they_belong() {
        let file = bitmap(3, 2, |x, y| [x as u8, y as u8, 7]);
        assert_eq!(file.len(), 54 + 2 * 12);
        let field = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
        assert_eq!((&file[..2], field(2), field(10)), (b"BM".as_slice(), 78, 54));
        assert_eq!((field(14), field(18), field(22)), (40, 3, 2));
        // The first row in the file is the lowest of the picture.
        assert_eq!(&file[54..63], [7, 1, 0, 7, 1, 1, 7, 1, 2]);
    }
}
