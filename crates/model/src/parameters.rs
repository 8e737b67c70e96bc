//! The parameters of a query string.

use darling::{Error, Result};
use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    attributes::Resource,
    input::{Reading, input, partial_struct},
    member::{Side, members},
};

pub(crate) fn derive(resource: &Resource) -> Result<TokenStream> {
    if resource.closed.is_present() {
        let text = "`closed` is for bodies: an unknown query parameter is always a validation error";
        return Err(Error::custom(text).with_span(&resource.closed.span()));
    }
    let all = members(resource)?;
    let reading = |optional| if optional { Reading::Optional } else { Reading::Required };
    let read: Vec<_> = all.iter().map(|member| (member, reading(member.is_optional()))).collect();
    let rules = all.iter().map(|member| member.rule(Side::Read));
    let described = all.iter().map(|member| {
        let required = !member.is_optional() && member.field.default.is_none();
        member.described(Side::Read, required)
    });
    let ident = &resource.ident;
    let names = all.iter().map(|member| member.ident);
    let (for_all, of, conditions) = resource.generics.split_for_impl();
    let mut tokens = quote! {
        impl #for_all ::utoipa::IntoParams for #ident #of #conditions {
            fn into_params(
                _: impl Fn() -> ::core::option::Option<::utoipa::openapi::path::ParameterIn>,
            ) -> ::std::vec::Vec<::utoipa::openapi::path::Parameter> {
                #[allow(unused_imports)]
                use ::web::input::rules::*;
                ::std::vec![#(::web::schema::parameter(&#rules, #described)),*]
            }
        }
    };
    tokens.extend(partial_struct(resource, &all));
    tokens.extend(input(resource, ident, &read, &quote!(#ident { #(#names),* })));
    Ok(tokens)
}
