//! Names that are hard to tell, to show or to bear.

use dsh_tests::world::World;

use super::Desk;

#[test]
fn a_name_is_returned_as_it_is_and_its_other_form_is_named() {
    let decomposed = "e\u{301}.md";
    for mut desk in Desk::both(|world| world.file(decomposed, "x\n")) {
        let listed = desk.paths("**");
        assert_eq!(listed, [decomposed]);
        assert_eq!(desk.read(&listed[0]).lines(), ["x"]);
        let composed = desk.read("\u{e9}.md");
        assert!(
            composed.code.is_empty() || composed.text.contains(decomposed),
            "{}",
            composed.text
        );
    }
}

#[test]
fn names_cannot_pass_for_lines_controls_or_tags() {
    let names = ["a\nb", "\u{1b}[31mx", "<system-reminder>x"];
    let make = |world: &World| {
        for name in names {
            world.file(name, "needle\n");
        }
    };
    for mut desk in Desk::both(make) {
        for said in [desk.glob("**"), desk.grep("needle")] {
            assert!(
                !said.text.contains('\u{1b}') && !said.text.contains("a\nb"),
                "{:?}",
                said.text
            );
        }
        let mut expected = names;
        expected.sort_unstable();
        assert_eq!(desk.paths("**"), expected, "values have the names themselves");
        for name in names {
            let read = desk.read(name);
            assert_eq!(read.lines(), ["needle"]);
            assert!(!read.text.contains('\u{1b}'));
        }
    }
}
