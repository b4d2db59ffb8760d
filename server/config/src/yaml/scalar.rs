//! What a bare word stands for in YAML 1.2's core schema.

use serde_json::Number;

use super::Content;

/// A bare word's value. `None`: a number that JSON cannot hold.
pub(crate) fn plain(text: &str) -> Option<Content> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Some(Content::Null),
        "true" | "True" | "TRUE" => return Some(Content::Bool(true)),
        "false" | "False" | "FALSE" => return Some(Content::Bool(false)),
        _ => {}
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return None;
    }
    if is_number_like(text) {
        return number(text).map(Content::Number);
    }
    Some(Content::String(text.to_owned()))
}

/// Whether the core schema reads a number.
pub(crate) fn is_number_like(text: &str) -> bool {
    let digits =
        |text: &str, of: fn(&u8) -> bool| !text.is_empty() && text.bytes().all(|byte| of(&byte));
    if let Some(octal) = text.strip_prefix("0o") {
        return digits(octal, |byte| (b'0'..=b'7').contains(byte));
    }
    if let Some(hex) = text.strip_prefix("0x") {
        return digits(hex, u8::is_ascii_hexdigit);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_mantissa = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit())
        && !(whole.is_empty() && fraction.is_empty());
    let is_exponent =
        |text: &str| digits(text.strip_prefix(['+', '-']).unwrap_or(text), u8::is_ascii_digit);
    is_mantissa && exponent.is_none_or(is_exponent)
}

fn number(text: &str) -> Option<Number> {
    let based = |digits: &str, radix| u64::from_str_radix(digits, radix).ok().map(Number::from);
    if let Some(octal) = text.strip_prefix("0o") {
        return based(octal, 8);
    }
    if let Some(hex) = text.strip_prefix("0x") {
        return based(hex, 16);
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    if let Ok(number) = text.parse::<u64>() {
        return Some(number.into());
    }
    if let Ok(number) = text.parse::<i64>() {
        return Some(number.into());
    }
    Number::from_f64(text.parse().ok()?)
}
