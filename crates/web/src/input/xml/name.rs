//! Which text is a name in XML.

/// Whether this is a name with at most one prefix.
pub(super) fn is_name(text: &str) -> bool {
    let mut parts = text.split(':');
    let (Some(first), second, None) = (parts.next(), parts.next(), parts.next()) else { return false };
    is_part(first) && second.is_none_or(is_part)
}

fn is_part(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(starts_name) && letters.all(continues_name)
}

fn starts_name(c: char) -> bool {
    matches!(c,
        'A'..='Z' | '_' | 'a'..='z' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}'
        | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}'
        | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}'
        | '\u{fdf0}'..='\u{fffd}' | '\u{10000}'..='\u{effff}')
}

fn continues_name(c: char) -> bool {
    starts_name(c)
        || matches!(c, '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}
