//! The words of the sources and documents: terms of the field, as docs/glossary.md has them.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Words that hide who or what a sentence is about.
const VAGUE: [&str; 8] =
    ["nobody", "somebody", "whoever", "everybody", "anybody", "whatever", "whom", "elsewhere"];

/// Phrases with a standard term: deleted, refunded, unchanged, at once, always, in progress.
const PHRASES: [&str; 6] = ["is gone", "goes back", "as it stands", "in one go", "for ever", "on its way"];

/// First words of a function's name that say nothing about it. A test is named by condition and result.
const FIRST_WORDS: [&str; 8] = ["a", "an", "the", "it", "its", "what", "who", "nobody"];

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

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The name of the function that a line of Rust declares.
fn function(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let modifiers = before.split_whitespace().all(|word| word == "async" || word.starts_with("pub"));
    let (name, _) = after.split_once(['(', '<'])?;
    modifiers.then_some(name)
}

#[test]
fn vague_words_are_not_used() {
    let mut all = Vec::new();
    files(&root(), &mut all);
    assert!(all.len() > 400, "{} files", all.len());
    let mut found = Vec::new();
    for file in all.iter().filter(|file| !file.ends_with("tests/all/words.rs")) {
        let text = fs::read_to_string(file).unwrap();
        let mut in_block = false;
        for (number, line) in text.lines().enumerate() {
            let sentences = prose(line, file, &mut in_block).to_lowercase();
            let words: Vec<_> = sentences
                .split(|letter: char| !letter.is_alphabetic())
                .filter(|word| !word.is_empty())
                .collect();
            let spaced = format!(" {} ", words.join(" "));
            if words.iter().any(|word| VAGUE.contains(word))
                || PHRASES.iter().any(|phrase| spaced.contains(&format!(" {phrase} ")))
            {
                found.push(format!("{}:{}: {}", file.display(), number + 1, line.trim()));
            }
        }
    }
    let vague = [&VAGUE[..], &PHRASES].concat().join(", ");
    assert!(
        found.is_empty(),
        "use a term that names who or what is meant, instead of {vague}:\n{}",
        found.join("\n")
    );
}

#[test]
fn names_of_tests_begin_with_their_subject() {
    let mut all = Vec::new();
    files(&root().join("crates"), &mut all);
    let mut found = Vec::new();
    for file in all.iter().filter(|file| file.extension().is_some_and(|kind| kind == "rs")) {
        let text = fs::read_to_string(file).unwrap();
        let names = text.lines().filter_map(|line| function(line.trim()));
        let vague =
            names.filter(|name| name.split_once('_').is_some_and(|(first, _)| FIRST_WORDS.contains(&first)));
        found.extend(vague.map(|name| format!("{}: {name}", file.display())));
    }
    assert!(found.is_empty(), "name the condition and the result:\n{}", found.join("\n"));
}
