//! Statements that name the columns of records.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, LitStr, Path, Result, parse_str};

pub(crate) fn expand(statement: &LitStr) -> Result<TokenStream> {
    let wrong = |text: &str| Error::new(statement.span(), text);
    let text = statement.value();
    let mut parts = Vec::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        let (inside, following) = after.split_once('}').ok_or_else(|| wrong("a `{` has no `}`"))?;
        parts.push(quote!(::db::statement::Part::Text(#before)));
        parts.push(part(inside).map_err(|error| wrong(&format!("`{{{inside}}}` names no record: {error}")))?);
        rest = following;
    }
    parts.push(quote!(::db::statement::Part::Text(#rest)));
    Ok(quote! {{
        const PARTS: &[::db::statement::Part] = &[#(#parts),*];
        const TEXT: [u8; ::db::statement::length(PARTS)] = ::db::statement::join(PARTS);
        ::db::statement::text(&TEXT)
    }})
}

fn part(inside: &str) -> Result<TokenStream> {
    let columns = |record: &str| -> Result<TokenStream> {
        let record: Path = parse_str(record.trim())?;
        Ok(quote!(<#record as ::db::Record>::COLUMNS))
    };
    if let Some((record, alias)) = inside.split_once(" as ") {
        let (columns, prefix) = (columns(record)?, format!("{}.", alias.trim()));
        return Ok(quote!(::db::statement::Part::Columns(#columns, #prefix)));
    }
    let (record, kind) = inside.split_once('.').unwrap_or((inside, ""));
    let columns = columns(record)?;
    Ok(match kind {
        "" => quote!(::db::statement::Part::Columns(#columns, "")),
        "values" => quote!(::db::statement::Part::Values(#columns)),
        "set" => quote!(::db::statement::Part::Set(#columns)),
        "excluded" => quote!(::db::statement::Part::SetExcluded(#columns)),
        _ => return Err(Error::new(proc_macro2::Span::call_site(), "use `.values`, `.set` or `.excluded`")),
    })
}
