//! Halves of characters in JSON text. An editor that cuts an emoji in two sends one; a text cannot hold it.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use serde_json::value::RawValue;

const FIRST: RangeInclusive<u16> = 0xd800..=0xdbff;
const SECOND: RangeInclusive<u16> = 0xdc00..=0xdfff;

/// The JSON with U+FFFD in the place of each escaped half that has no other half.
pub(super) fn mended(json: Box<RawValue>) -> Box<RawValue> {
    match replaced(json.get()) {
        Cow::Borrowed(_) => json,
        // It is as much JSON as before: an escape took the place of an escape.
        Cow::Owned(text) => RawValue::from_string(text).unwrap_or(json),
    }
}

fn replaced(json: &str) -> Cow<'_, str> {
    let mut replaced = Cow::Borrowed(json);
    let mut at = 0;
    // A backslash stands in strings only.
    while let Some(next) = json.get(at..).and_then(|rest| rest.find('\\')) {
        at += next;
        let Some(unit) = escaped(json, at) else {
            // Behind what is escaped, which is one byte where it matters.
            at += json.get(at + 1..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
                + 1;
            continue;
        };
        if FIRST.contains(&unit) && escaped(json, at + 6).is_some_and(|it| SECOND.contains(&it)) {
            at += 12;
            continue;
        }
        if FIRST.contains(&unit) || SECOND.contains(&unit) {
            replaced.to_mut().replace_range(at + 2..at + 6, "fffd");
        }
        at += 6;
    }
    replaced
}

/// The unit of UTF-16 that is escaped at a place, if one is.
fn escaped(json: &str, at: usize) -> Option<u16> {
    let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
    let is_hexadecimal = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_hexadecimal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_without_its_other_half_is_replaced_and_nothing_else_is_touched() {
        for (json, expected) in [
            (r#""hi \ud83d""#, r#""hi \ufffd""#),
            (r#""\ude00 \uD83D\uDE00""#, r#""\ufffd \uD83D\uDE00""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\\ud83d \u00e9 \n""#, r#""\\ud83d \u00e9 \n""#),
            (r#""\ud83dx\udc""#, r#""\ufffdx\udc""#),
            (r#""\u+83d\"#, r#""\u+83d\"#),
            ("\"\\", "\"\\"),
            (r#""\ü\ud83d""#, r#""\ü\ufffd""#),
            ("", ""),
        ] {
            assert_eq!(replaced(json), expected, "{json}");
        }
    }
}
