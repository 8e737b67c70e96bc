//! The migrations of a component, found in the folder of the crate.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, LitStr, Result};

pub(crate) fn expand(component: &LitStr) -> Result<TokenStream> {
    let wrong = |text: String| Error::new(component.span(), text);
    let root = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let [sqlite, postgres] = ["sqlite", "postgres"].map(|engine| {
        let folder = root.join("migrations").join(engine);
        names(&folder).map_err(|error| wrong(format!("{}: {error}", folder.display())))
    });
    let (sqlite, postgres) = (sqlite?, postgres?);
    if let Some(alone) = sqlite.symmetric_difference(&postgres).next() {
        return Err(wrong(format!("the migration {alone} is there for one engine only")));
    }
    // They are numbered, and a set is in order.
    let names = sqlite.iter();
    Ok(quote!(::db::migrations!(#component: #(#names),*)))
}

/// The names of the scripts in a folder, without `.sql`.
fn names(folder: &Path) -> std::io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "sql") {
            names.extend(path.file_stem().and_then(|name| name.to_str()).map(str::to_owned));
        }
    }
    Ok(names)
}
