//! The words of the sources and documents: terms of the field, as docs/glossary.md has them.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Words that hide who or what a sentence is about.
const VAGUE: [&str; 5] = ["nobody", "somebody", "whoever", "everybody", "anybody"];

/// Released migrations stay as they are, and generated or downloaded files are not ours.
const LEFT_OUT: [&str; 5] = ["migrations", "target", "snapshots", "node_modules", ".git"];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if LEFT_OUT.contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            files(&path, found);
        } else if path
            .extension()
            .is_some_and(|kind| ["rs", "md", "html", "toml", "sh"].iter().any(|one| kind == *one))
        {
            found.push(path);
        }
    }
}

/// The sentences of a line: in Rust its comment, in Markdown what is outside of a code block.
fn prose<'l>(line: &'l str, file: &Path, in_block: &mut bool) -> &'l str {
    match file.extension().and_then(|kind| kind.to_str()) {
        // Not the one in an address.
        Some("rs") => line.find("//").filter(|at| !line[..*at].ends_with(':')).map_or("", |at| &line[at..]),
        Some("md") => {
            *in_block ^= line.starts_with("```");
            if *in_block { "" } else { line }
        }
        _ => line,
    }
}

#[test]
fn vague_words_are_not_used() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut all = Vec::new();
    files(&root, &mut all);
    assert!(all.len() > 400, "{} files", all.len());
    let mut found = Vec::new();
    for file in &all {
        let text = fs::read_to_string(file).unwrap();
        let mut in_block = false;
        for (number, line) in text.lines().enumerate() {
            let sentences = prose(line, file, &mut in_block).to_lowercase();
            let mut words = sentences.split(|letter: char| !letter.is_alphabetic());
            if words.any(|word| VAGUE.contains(&word)) {
                let file = file.strip_prefix(&root).unwrap();
                found.push(format!("{}:{}: {}", file.display(), number + 1, line.trim()));
            }
        }
    }
    let vague = VAGUE.join(", ");
    assert!(found.is_empty(), "name who or what is meant, instead of {vague}:\n{}", found.join("\n"));
}
