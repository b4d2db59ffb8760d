//! Keys come from the environment or from a file that nobody else can read.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

fn kept(home: &std::path::Path, variables: &[(&str, &str)]) -> Kept {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let variables: BTreeMap<String, String> = variables.iter().map(own).collect();
    Kept { environment: Arc::new(variables), file: home.join("deep/credentials.yml") }
}

fn value(kept: &Kept, name: &str) -> Result<String, CredentialError> {
    kept.resolve(name).map(|secret| secret.expose().to_owned())
}

#[test]
fn what_is_set_is_found_again_by_name_and_its_owner_alone_can_read_it() {
    let home = tempfile::tempdir().unwrap();
    let kept = kept(home.path(), &[("B", "of-the-environment")]);
    assert_eq!(kept.names().unwrap(), Vec::<String>::new());
    for (name, value) in [("A", " with'quotes\"#: \n"), ("B", "shadowed"), ("odd name: é", "x")] {
        kept.set(name, value).unwrap();
    }
    assert_eq!(kept.names().unwrap(), ["A", "B", "odd name: é"]);
    assert_eq!(value(&kept, "A").unwrap(), "with'quotes\"#:");
    assert_eq!(value(&kept, "B").unwrap(), "of-the-environment");
    assert_eq!(value(&kept, "odd name: é").unwrap(), "x");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&kept.file), mode(kept.file.parent().unwrap())), (0o600, 0o700));
    kept.delete("A").unwrap();
    let missing = CredentialError::Missing("A".to_owned());
    assert_eq!((kept.delete("A"), value(&kept, "A")), (Err(missing.clone()), Err(missing)));
    assert!(matches!(kept.set("C", "two words"), Err(CredentialError::Invalid(_))));
}

#[test]
fn a_file_that_others_can_read_or_that_is_none_is_refused_without_a_word_of_it() {
    let home = tempfile::tempdir().unwrap();
    let kept = kept(home.path(), &[("E", "environment")]);
    fs::create_dir(kept.file.parent().unwrap()).unwrap();
    let odd = [
        (0o644, "A: s3cret", "can be read by others; run `chmod 600` on it"),
        (0o660, "A: s3cret", "can be read by others; run `chmod 600` on it"),
        (0o600, "- s3cret", "line 1: expected `NAME: value`"),
        (0o600, "A: 1\nB: [s3cret]", "line 2: a value must be text; put it in quotes"),
        (0o600, "A: s3cret\nA: s3cret", "line 2: is no YAML of the form `NAME: value`"),
        (0o600, "A: \"s3cret", "is no YAML of the form `NAME: value`"),
    ];
    for (mode, text, expected) in odd {
        fs::write(&kept.file, text).unwrap();
        fs::set_permissions(&kept.file, fs::Permissions::from_mode(mode)).unwrap();
        let refused = value(&kept, "A").unwrap_err().to_string();
        assert!(refused.ends_with(expected), "{refused}");
        assert!(!refused.contains("s3cret"), "{refused}");
        assert_eq!(value(&kept, "E").unwrap(), "environment", "no need to look into the file");
        assert!(kept.set("N", "new").is_err(), "what cannot be read is not overwritten");
        assert_eq!(fs::read_to_string(&kept.file).unwrap(), text);
    }
}
