//! The error message of a setting: its name, its value, the values that are allowed, and the file or variable that has it.

use std::{fs, path::Path};

use figment::{
    Figment,
    error::Kind,
    value::{Num, Value},
};

use service::HIDDEN;

use super::SettingsError;

pub(super) fn explain(error: &figment::Error, settings: &Figment) -> String {
    // One error at a time: the next start names the next.
    let error = error.clone().into_iter().next().unwrap_or_else(|| error.clone());
    let name = error.path.join(".");
    let wrong = |must: &str| format!("{name} is {}, but {must}", found(&name, settings));
    let (name, said) = match &error.kind {
        Kind::UnknownField(field, known) => {
            let section = name.strip_suffix(field.as_str()).unwrap_or(&name).trim_end_matches('.');
            let (name, place) = match section {
                "" => (field.clone(), "there are".to_owned()),
                section => (format!("{section}.{field}"), format!("[{section}] has")),
            };
            let said = format!("{name} is not a setting; {place} {}", known.join(", "));
            (name, said)
        }
        Kind::UnknownVariant(_, known) => {
            let said = wrong(&format!("must be one of: {}", known.join(", ")));
            (name, said)
        }
        Kind::InvalidType(_, expected) | Kind::InvalidValue(_, expected) => {
            let said = wrong(&format!("must be {}", in_words(expected)));
            (name, said)
        }
        Kind::Message(must) if must.starts_with("must ") => {
            let said = wrong(must);
            (name, said)
        }
        kind => {
            let said = format!("{name} cannot be used: {kind}").replace('\n', " ");
            (name, said)
        }
    };
    format!("{said}{}", place(&error, &name))
}

/// The value of a setting, as it can be shown.
fn found(name: &str, settings: &Figment) -> String {
    if matches!(name, "database" | "database_replica" | "secret" | "traces.headers")
        || name.ends_with("_token")
    {
        return HIDDEN.into();
    }
    match settings.find_value(name) {
        Ok(Value::String(_, text)) => format!("{text:?}"),
        Ok(Value::Char(_, letter)) => format!("{:?}", letter.to_string()),
        Ok(Value::Bool(_, value)) => value.to_string(),
        Ok(Value::Num(_, number)) => in_digits(number),
        Ok(Value::Array(_, list)) => match list.first() {
            None => "[]".into(),
            Some(Value::String(_, first)) if list.len() == 1 => format!("[{first:?}]"),
            Some(_) => format!("a list of {}", list.len()),
        },
        Ok(Value::Dict(..)) => "a section".into(),
        Ok(Value::Empty(..)) => "empty".into(),
        Err(_) => "something else".into(),
    }
}

fn in_digits(number: Num) -> String {
    match (number.to_i128(), number.to_u128(), number.to_f64()) {
        (Some(number), ..) => number.to_string(),
        (_, Some(number), _) => number.to_string(),
        (.., Some(number)) => number.to_string(),
        _ => "a number".into(),
    }
}

/// What serde expects, for readers who do not know Rust.
fn in_words(expected: &str) -> String {
    match expected {
        "u16" => format!("a whole number from 0 to {}", u16::MAX),
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        "f64" => "a number".into(),
        "u64" | "usize" => "a whole number, 0 or more".into(),
        "a string" | "path string" => {
            "text; in a variable, digits alone need quotation marks within it".into()
        }
        "a sequence" => "a list, like [\"one\", \"two\"]".into(),
        other if other.starts_with("struct ") => "a section of settings".into(),
        other => other.into(),
    }
}

/// The file or variable that has a setting; empty for a flag.
fn place(error: &figment::Error, name: &str) -> String {
    let Some(metadata) = &error.metadata else { return String::new() };
    match metadata.source.as_ref().and_then(figment::Source::file_path) {
        Some(file) => format!(" (in {})", file.display()),
        None if metadata.name.contains("environment") => {
            format!(" (in TRIPTYCH_{})", name.replace('.', "_").to_ascii_uppercase())
        }
        None => String::new(),
    }
}

/// Refuses a settings file that is not TOML, and says in which line.
pub(super) fn check_toml(file: &Path) -> Result<(), SettingsError> {
    let shown = file.display();
    let text = fs::read_to_string(file)
        .map_err(|error| SettingsError(format!("cannot read the settings file {shown}: {error}")))?;
    match toml::from_str::<toml::Table>(&text) {
        Ok(_) => Ok(()),
        Err(error) => {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let (line, why) = (before.matches('\n').count() + 1, error.message().replace('\n', " "));
            Err(SettingsError(format!("{shown} is not valid TOML, in line {line}: {why}")))
        }
    }
}
