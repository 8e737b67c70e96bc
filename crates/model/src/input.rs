//! Reading an object member by member.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::Ident;

use crate::{
    attributes::Resource,
    member::{Member, Side},
};

/// How a view reads a member.
pub(crate) enum Reading {
    /// It is required, or has a default.
    Required,
    /// It may be absent.
    Optional,
    /// It is required, since it identifies the resource.
    Key,
    /// The view does not have it: for a check it is absent.
    Unread,
}

/// An `Input` of a type that has these members.
pub(crate) fn input(
    resource: &Resource,
    ident: &Ident,
    members: &[(&Member<'_>, Reading)],
    make: &TokenStream,
) -> TokenStream {
    let (for_all, of, conditions) = resource.generics.split_for_impl();
    let root = match &resource.xml {
        Some(root) => quote!(Some(#root)),
        None => quote!(None),
    };
    let form = resource.form;
    let broken = match &resource.broken {
        Some(kind) => quote!(const BROKEN: &'static ::web::problem::Kind = &#kind;),
        None => quote!(),
    };
    let body = body(resource, members, make);
    quote! {
        impl #for_all ::web::input::Input for #ident #of #conditions {
            const XML_ROOT: ::core::option::Option<&'static str> = #root;
            const FORM: bool = #form;
            #broken

            fn read(fields: &mut ::web::input::Fields<'_>) -> ::core::option::Option<Self> {
                #body
            }
        }
    }
}

/// Reads all members before it returns, so that all validation errors are reported.
pub(crate) fn body(
    resource: &Resource,
    members: &[(&Member<'_>, Reading)],
    make: &TokenStream,
) -> TokenStream {
    let read = members.iter().map(|(member, reading)| {
        let (field, name, rule) = (member.ident, &member.name, member.rule(Side::Read));
        match (reading, &member.field.default) {
            (Reading::Unread, _) => {
                let inner = member.inner;
                quote!(let #field = Some(None::<#inner>);)
            }
            (Reading::Optional | Reading::Key, _) => quote!(let #field = fields.optional(#name, #rule);),
            (Reading::Required, Some(default)) => quote! {
                let #field = fields.optional(#name, #rule).map(|value| value.unwrap_or_else(|| #default));
            },
            (Reading::Required, None) => quote!(let #field = fields.required(#name, #rule);),
        }
    });
    let missing = members.iter().filter(|(_, reading)| matches!(reading, Reading::Key)).map(|(member, _)| {
        let (field, name) = (member.ident, &member.name);
        let root = resource.xml.clone().unwrap_or_else(|| resource.ident.to_string().to_lowercase());
        let text = format!("is required, to say which {root} is replaced");
        quote! {
            let #field = match #field {
                Some(None) => fields.malformed(#name, #text),
                read => read.flatten(),
            };
        }
    });
    let closed = resource.closed.is_present().then(|| {
        let read = members.iter().filter(|(_, reading)| !matches!(reading, Reading::Unread));
        let names = read.map(|(member, _)| &member.name);
        quote!(fields.closed(&[#(#names),*]);)
    });
    let check = resource.check.as_ref().map(|check| {
        let values = members.iter().map(|(member, reading)| {
            let field = member.ident;
            match reading {
                Reading::Required | Reading::Key if can_be_absent(resource, member) => {
                    quote!(#field: #field.is_some().then_some(&#field))
                }
                _ => quote!(#field: #field.as_ref()),
            }
        });
        let partial = partial(&resource.ident);
        quote!(#check(&#partial { #(#values),* }, fields);)
    });
    let read_members = members.iter().filter(|(_, reading)| !matches!(reading, Reading::Unread));
    let names = read_members.map(|(member, _)| member.ident);
    quote! {
        #[allow(unused_imports)]
        use ::web::input::rules::*;
        #(#read)*
        #(#missing)*
        #closed
        #check
        #(let #names = #names?;)*
        Some(#make)
    }
}

/// Whether a view of the resource can leave a member out. Every view gives a check the same type, so such a member is an
/// `Option` in all of them.
fn can_be_absent(resource: &Resource, member: &Member<'_>) -> bool {
    member.is_optional() || member.is_assigned() || resource.changes.is_some()
}

/// The values of the members for a check of several members: `None` for a member with a validation error.
pub(crate) fn partial_struct<'m, 'a: 'm>(
    resource: &Resource,
    members: impl IntoIterator<Item = &'m Member<'a>>,
) -> TokenStream {
    if resource.check.is_none() {
        return quote!();
    }
    let (vis, name) = (&resource.vis, partial(&resource.ident));
    let fields = members.into_iter().map(|member| {
        let (field, vis, inner) = (member.ident, member.vis, member.inner);
        if can_be_absent(resource, member) {
            quote!(#vis #field: ::core::option::Option<&'a ::core::option::Option<#inner>>)
        } else {
            quote!(#vis #field: ::core::option::Option<&'a #inner>)
        }
    });
    let documentation =
        format!("What was read of each member of [`{}`]: `None` for one that is wrong.", resource.ident);
    quote! {
        #[doc = #documentation]
        #[allow(dead_code)]
        #vis struct #name<'a> {
            #(#fields),*
        }
    }
}

fn partial(ident: &Ident) -> Ident {
    format_ident!("Partial{ident}")
}
