//! The migrations of a component, read from the folder of the crate.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Error, Ident, LitStr, Result, Token,
    parse::{Parse, ParseStream},
};

/// The argument of the macro: `"oauth"`, or `"oauth", prefix = "oauth_"`.
pub(crate) struct Component {
    name: LitStr,
    prefix: String,
}

impl Parse for Component {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name = input.parse()?;
        if input.is_empty() {
            return Ok(Component { name, prefix: String::new() });
        }
        input.parse::<Token![,]>()?;
        let key: Ident = input.parse()?;
        if key != "prefix" {
            return Err(Error::new(key.span(), "use `prefix = \"…\"`"));
        }
        input.parse::<Token![=]>()?;
        Ok(Component { name, prefix: input.parse::<LitStr>()?.value() })
    }
}

pub(crate) fn expand(Component { name, prefix }: &Component) -> Result<TokenStream> {
    let wrong = |text: String| Error::new(name.span(), text);
    let root = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let [sqlite, postgres] = ["sqlite", "postgres"].map(|engine| {
        let folder = root.join("migrations").join(engine);
        files(&folder).map_err(|error| wrong(format!("{}: {error}", folder.display())))
    });
    let scripts = scripts(&sqlite?, &postgres?, prefix).map_err(wrong)?;
    Ok(quote!(::db::Migrations::new(#name, &[#((
        #scripts,
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/sqlite/", #scripts, ".sql")),
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/postgres/", #scripts, ".sql")),
    )),*])))
}

/// The scripts with this prefix, in the order of their numbers. Each must exist for both engines, and their numbers must
/// be 1, 2, 3 and so on.
fn scripts(
    sqlite: &BTreeSet<String>,
    postgres: &BTreeSet<String>,
    prefix: &str,
) -> std::result::Result<Vec<String>, String> {
    if let Some(alone) = sqlite.symmetric_difference(postgres).next() {
        return Err(format!("the migration {alone} exists for one engine only"));
    }
    let numbered = sqlite.iter().filter_map(|name| {
        let number = name.strip_prefix(prefix)?.split('_').next()?;
        Some((number.parse::<usize>().ok()?, name.clone()))
    });
    let mut found: Vec<_> = numbered.collect();
    found.sort_unstable();
    match found.iter().zip(1..).find(|((number, _), expected)| number != expected) {
        Some(((_, name), expected)) => Err(format!("the migration {name} should have the number {expected}")),
        None if found.is_empty() => Err(format!("there is no migration {prefix}0001_….sql")),
        None => Ok(found.into_iter().map(|(_, name)| name).collect()),
    }
}

/// The names of the scripts in a folder, without `.sql`.
fn files(folder: &Path) -> std::io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "sql") {
            names.extend(path.file_stem().and_then(|name| name.to_str()).map(str::to_owned));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(names: &[&str], prefix: &str) -> std::result::Result<Vec<String>, String> {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        scripts(&names, &names, prefix)
    }

    #[test]
    fn scripts_of_a_prefix_are_in_the_order_of_their_numbers() {
        let names = ["oauth_0002_bounds", "0001_accounts", "oauth_0001_grants", "quota_0001_calls"];
        assert_eq!(found(&names, "").unwrap(), ["0001_accounts"]);
        assert_eq!(found(&names, "oauth_").unwrap(), ["oauth_0001_grants", "oauth_0002_bounds"]);
        assert_eq!(found(&["9_a", "10_b"], "").unwrap_err(), "the migration 9_a should have the number 1");
    }

    #[test]
    fn gap_or_missing_script_is_an_error() {
        assert_eq!(
            found(&["0001_a", "0003_b"], "").unwrap_err(),
            "the migration 0003_b should have the number 2"
        );
        assert_eq!(
            found(&["0001_a", "0001_b"], "").unwrap_err(),
            "the migration 0001_b should have the number 2"
        );
        assert_eq!(found(&["0001_a"], "quota_").unwrap_err(), "there is no migration quota_0001_….sql");
        let (one, none) = (BTreeSet::from(["0001_a".to_owned()]), BTreeSet::new());
        assert_eq!(scripts(&one, &none, "").unwrap_err(), "the migration 0001_a exists for one engine only");
    }
}
