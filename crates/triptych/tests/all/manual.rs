//! `triptych completions` and `triptych man`.

use std::{
    collections::BTreeSet,
    fs,
    process::{Command, Stdio},
};

use crate::common::{bare, output_of, refused, with_input};

#[test]
fn bash_completes_commands_and_services() {
    let folder = tempfile::tempdir().unwrap();
    let script = output_of(&mut bare(folder.path(), &["completions", "bash"]));
    let complete = |words: &str, word: usize| {
        let tail = format!(
            "\nCOMP_WORDS=({words}); COMP_CWORD={word}; _triptych triptych \"${{COMP_WORDS[{word}]}}\" \
             \"${{COMP_WORDS[{}]}}\"; echo \"${{COMPREPLY[@]}}\"\n",
            word - 1
        );
        let output = with_input(&mut Command::new("bash"), &format!("{script}{tail}"));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(complete("triptych compl", 1), "completions");
    assert_eq!(complete("triptych openapi mu", 2), "museum");
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let script = output_of(&mut bare(folder.path(), &["completions", shell]));
        assert!(script.contains("triptych"), "{shell}");
    }
}

#[test]
fn every_command_has_a_manual_page_without_faults() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    output_of_nothing(bare(folder.path(), &["man", pages.to_str().unwrap()]));
    let names: BTreeSet<_> =
        fs::read_dir(&pages).unwrap().map(|page| page.unwrap().file_name().into_string().unwrap()).collect();
    for name in ["triptych.1", "triptych-serve.1", "triptych-ready.1", "triptych-sandbox-create.1"] {
        assert!(names.contains(name), "{names:?}");
    }
    for name in &names {
        let groff = Command::new("groff")
            .args(["-man", "-ww", "-Kutf8", "-Tutf8"])
            .arg(pages.join(name))
            .stderr(Stdio::piped())
            .output()
            .expect("groff, which tools/install installs");
        assert_eq!(String::from_utf8_lossy(&groff.stderr), "", "{name}");
        assert!(groff.stdout.len() > 500, "{name}");
    }
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let output = bare(folder.path(), &["man", file.to_str().unwrap()]).output().unwrap();
    let said = refused(&output);
    assert!(said.starts_with(&format!("triptych: cannot write {}: ", file.display())), "{said}");
}

fn output_of_nothing(mut command: Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!((output.stdout, output.stderr), (vec![], vec![]));
}
