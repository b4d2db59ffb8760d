//! Values that are clean, unclean and absent.

use super::*;

fn resolve(value: &str) -> Result<Secret, CredentialError> {
    let variables = BTreeMap::from([("A_KEY".to_owned(), value.to_owned())]);
    FromEnvironment(variables).resolve("A_KEY")
}

#[test]
fn white_space_around_a_key_is_dropped() {
    for value in ["sk-1", "sk-1\n", "sk-1\r\n", " sk-1 "] {
        assert_eq!(resolve(value).unwrap().expose(), "sk-1", "{value:?}");
    }
}

#[test]
fn a_key_that_no_header_could_hold_is_refused_without_showing_it() {
    for value in ["sk 1", "sk\n1", "sk-é", "sk-\u{7f}", "sk\t1"] {
        let error = resolve(value).unwrap_err();
        assert_eq!(error, CredentialError::Invalid("A_KEY".to_owned()), "{value:?}");
        assert!(!format!("{error} {error:?}").contains("sk"), "{error}");
    }
}

#[test]
fn an_empty_key_is_a_missing_one() {
    let missing = CredentialError::Missing("A_KEY".to_owned());
    assert_eq!(resolve(""), Err(missing.clone()));
    assert_eq!(resolve(" \n"), Err(missing.clone()));
    assert_eq!(FromEnvironment(BTreeMap::new()).resolve("A_KEY"), Err(missing.clone()));
    assert_eq!(missing.to_string(), "set A_KEY");
}

#[test]
fn impossible_names_are_not_set() {
    for name in ["", "a=b", "a\0b"] {
        assert_eq!(ProcessEnvironment.variable(name), None, "{name:?}");
    }
}

#[test]
fn a_secret_does_not_print_and_is_cut_from_texts() {
    let secret = resolve("sk-1").unwrap();
    assert_eq!(format!("{secret:?}"), "Secret([key])");
    assert_eq!(secret.redact("no such key: sk-1!"), "no such key: [key]!");
}
