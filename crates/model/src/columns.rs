//! The columns of a record.

use darling::Result;
use proc_macro2::TokenStream;
use quote::quote;

use crate::{attributes::Resource, member::members};

pub(crate) fn derive(resource: &Resource) -> Result<TokenStream> {
    let all = members(resource)?;
    let stored: Vec<_> = all.iter().filter(|member| member.is_column()).collect();
    let names =
        stored.iter().map(|member| member.field.column.clone().unwrap_or_else(|| member.ident.to_string()));
    let read = stored.iter().enumerate().map(|(index, member)| {
        let field = member.ident;
        let method = match (member.field.json.is_present(), member.is_optional()) {
            (true, true) => quote!(json_or_null),
            (true, false) => quote!(json),
            (false, _) => quote!(get),
        };
        quote!(#field: row.#method(first + #index)?)
    });
    let absent = all.iter().filter(|member| !member.is_column()).map(|member| {
        let field = member.ident;
        quote!(#field: ::core::default::Default::default())
    });
    let written = stored.iter().map(|member| {
        let field = member.ident;
        match (member.field.json.is_present(), member.is_optional()) {
            (true, true) => quote!(::db::to_json_or_null(self.#field.as_ref())?),
            (true, false) => quote!(::db::to_json(&self.#field)?),
            (false, _) => quote!(::db::Bind::bind(&self.#field)),
        }
    });
    let ident = &resource.ident;
    let (for_all, of, conditions) = resource.generics.split_for_impl();
    Ok(quote! {
        impl #for_all ::db::Record for #ident #of #conditions {
            const COLUMNS: &'static [&'static str] = &[#(#names),*];

            fn read(row: &::db::Row<'_>, first: usize) -> ::core::result::Result<Self, ::db::Error> {
                row.expect_columns(first, Self::COLUMNS);
                Ok(Self { #(#read,)* #(#absent,)* })
            }

            fn values(&self) -> ::core::result::Result<::std::vec::Vec<::db::Value<'_>>, ::db::Error> {
                Ok(::std::vec![#(#written),*])
            }
        }
    })
}
