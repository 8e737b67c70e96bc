//! The views of a declaration: what a client sends to create, replace or change a resource.

use darling::{Error, Result};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::{
    attributes::{Resource, documentation},
    input::{Reading, input, partial_struct},
    member::{Member, Side, members},
    output::schema,
};

pub(crate) fn derive(resource: &Resource) -> Result<TokenStream> {
    let all = members(resource)?;
    if let (None, Some(derived)) = (&resource.new, resource.new_derive.first()) {
        let text = "`new_derive` needs `new`: it says what else is derived for that";
        return Err(Error::custom(text).with_span(derived));
    }
    let views = [&resource.new, &resource.replace, &resource.changes];
    if resource.closed.is_present() && !resource.readable && views.iter().all(|view| view.is_none()) {
        let text = "`closed` is for a resource that is read: state `new`, `replace`, `changes` or `readable`";
        return Err(Error::custom(text).with_span(&resource.closed.span()));
    }
    let mut tokens = partial_struct(resource, all.iter().filter(|member| member.is_read()));
    tokens.extend(new(resource, &all));
    tokens.extend(replace(resource, &all)?);
    tokens.extend(changes(resource, &all));
    if resource.new.is_none() {
        tokens.extend(readable(resource, &all));
    }
    Ok(tokens)
}

/// A resource whose members are all both read and answered can be read in the form of its answer, as a part of another.
fn readable(resource: &Resource, all: &[Member<'_>]) -> TokenStream {
    let one_sided = |member: &Member<'_>| !member.is_read() || !member.is_answered() || member.is_assigned();
    if resource.changes.is_some() || all.iter().any(one_sided) || !resource.readable {
        return quote!();
    }
    let ident = &resource.ident;
    let names = all.iter().map(|member| member.ident);
    let mut tokens = input(resource, ident, &readings(all), &quote!(#ident { #(#names),* }));
    tokens.extend(has_rule(resource));
    tokens
}

/// A struct that is read and never answered.
pub(crate) fn derive_input(resource: &Resource) -> Result<TokenStream> {
    let all = members(resource)?;
    let ident = &resource.ident;
    let name = resource.name.clone().unwrap_or_else(|| ident.to_string());
    let read: Vec<_> = all.iter().collect();
    let names = all.iter().map(|member| member.ident);
    let description = documentation(&resource.attrs);
    let mut tokens = schema(resource, ident, &name, &description, &read, Side::Read, is_required);
    tokens.extend(partial_struct(resource, &all));
    tokens.extend(input(resource, ident, &readings(&all), &quote!(#ident { #(#names),* })));
    tokens.extend(has_rule(resource));
    Ok(tokens)
}

fn has_rule(resource: &Resource) -> TokenStream {
    let ident = &resource.ident;
    let (for_all, of, conditions) = resource.generics.split_for_impl();
    quote! {
        impl #for_all ::web::input::rules::HasRule for #ident #of #conditions {
            fn rule() -> impl ::web::input::rules::Rule<Value = Self> {
                ::web::input::rules::nested::<Self>()
            }
        }
    }
}

fn is_required(member: &Member<'_>) -> bool {
    !member.is_optional() && !member.is_assigned() && member.field.default.is_none()
}

fn readings<'m, 'a>(members: impl IntoIterator<Item = &'m Member<'a>>) -> Vec<(&'m Member<'a>, Reading)>
where
    'a: 'm,
{
    let reading = |member: &Member<'_>| match member.is_optional() || member.is_assigned() {
        true => Reading::Optional,
        false => Reading::Required,
    };
    members.into_iter().map(|member| (member, reading(member))).collect()
}

/// The view for creation.
fn new(resource: &Resource, all: &[Member<'_>]) -> TokenStream {
    let Some(new) = &resource.new else { return quote!() };
    let (vis, ident) = (&resource.vis, &resource.ident);
    let read: Vec<_> = all.iter().filter(|member| member.is_read()).collect();
    let fields = read.iter().map(|member| {
        let (field, vis, ty) = (member.ident, member.vis, member.ty);
        if member.is_assigned() {
            quote!(#vis #field: ::core::option::Option<#ty>)
        } else {
            quote!(#vis #field: #ty)
        }
    });
    let name = resource.new_name.clone().unwrap_or_else(|| new.to_string());
    let description = resource
        .new_doc
        .clone()
        .unwrap_or_else(|| format!("{} to be created.", documentation(&resource.attrs)));
    let names = read.iter().map(|member| member.ident);
    let readings = readings(read.iter().copied());
    let derived = resource.new_derive.iter();
    let mut tokens = quote! {
        #[doc = #description]
        #[derive(Clone #(, #derived)*)]
        #vis struct #new {
            #(#fields),*
        }
    };
    tokens.extend(schema(resource, new, &name, &description, &read, Side::Read, is_required));
    tokens.extend(input(resource, new, &readings, &quote!(#new { #(#names),* })));
    tokens.extend(completion(all, new, ident));
    tokens
}

/// A method that makes the resource from the sent members and the assigned one.
fn completion(all: &[Member<'_>], new: &syn::Ident, ident: &syn::Ident) -> TokenStream {
    let assigned: Vec<_> = all.iter().filter(|member| member.is_assigned() || !member.is_read()).collect();
    let method = match assigned.as_slice() {
        [one] => format_ident!("with_{}", one.ident),
        _ => format_ident!("complete"),
    };
    let arguments = assigned.iter().map(|member| {
        let (field, ty) = (member.ident, member.ty);
        quote!(#field: #ty)
    });
    let kept = all.iter().filter(|member| !member.is_assigned() && member.is_read());
    let kept = kept.map(|member| member.ident);
    let given = assigned.iter().map(|member| member.ident);
    let vis = all.first().map(|member| member.vis);
    quote! {
        impl #new {
            /// The resource with the sent members and the assigned one.
            #[allow(clippy::too_many_arguments)]
            #vis fn #method(self, #(#arguments),*) -> #ident {
                #ident { #(#kept: self.#kept,)* #(#given),* }
            }
        }
    }
}

/// The view for a replacement: all members, with the assigned member, which identifies the resource.
fn replace(resource: &Resource, all: &[Member<'_>]) -> Result<TokenStream> {
    let Some(replace) = &resource.replace else { return Ok(quote!()) };
    let (vis, ident) = (&resource.vis, &resource.ident);
    if let Some(member) = all.iter().find(|member| !member.is_read()) {
        let text = "a resource with a member that is only answered cannot be replaced as it stands";
        return Err(Error::custom(text).with_span(member.ident));
    }
    let Some(key) = all.iter().find(|member| member.is_assigned()) else {
        let text = "`replace` needs an `assigned` member, which says what is replaced";
        return Err(Error::custom(text).with_span(replace));
    };
    let description = resource.new_doc.clone().unwrap_or_else(|| documentation(&resource.attrs));
    let members: Vec<_> = all.iter().collect();
    let required = |member: &Member<'_>| is_required(member) || member.is_assigned();
    let readings = readings(all).into_iter();
    let readings: Vec<_> = readings
        .map(
            |(member, reading)| if member.is_assigned() { (member, Reading::Key) } else { (member, reading) },
        )
        .collect();
    let names = all.iter().map(|member| member.ident);
    let field_vis = key.vis;
    let documented = format!("{description} It says which is replaced.");
    let name = replace.to_string();
    let mut tokens = quote! {
        #[doc = #documented]
        #vis struct #replace(#field_vis #ident);
    };
    tokens.extend(schema(resource, replace, &name, &description, &members, Side::Read, required));
    tokens.extend(input(resource, replace, &readings, &quote!(#replace(#ident { #(#names),* }))));
    Ok(tokens)
}

/// The view for a change of some members.
fn changes(resource: &Resource, all: &[Member<'_>]) -> TokenStream {
    let Some(changes) = &resource.changes else { return quote!() };
    let (vis, ident) = (&resource.vis, &resource.ident);
    let read: Vec<_> = all.iter().filter(|member| member.is_changeable()).collect();
    let fields = read.iter().map(|member| {
        let (field, vis, inner) = (member.ident, member.vis, member.inner);
        quote!(#vis #field: ::core::option::Option<#inner>)
    });
    let description = resource.changes_doc.clone().unwrap_or_default();
    let name = changes.to_string();
    let names: Vec<_> = read.iter().map(|member| member.ident).collect();
    let unread = all.iter().filter(|member| member.is_read() && !member.is_changeable());
    let unread = unread.filter(|_| resource.check.is_some()).map(|member| (member, Reading::Unread));
    let readings: Vec<_> = read.iter().map(|member| (*member, Reading::Optional)).chain(unread).collect();
    let applied = read.iter().filter(|member| member.is_answered()).map(|member| {
        let field = member.ident;
        let value = if member.is_optional() { quote!(Some(value.clone())) } else { quote!(value.clone()) };
        quote! {
            if let Some(value) = &self.#field {
                resource.#field = #value;
            }
        }
    });
    let mut tokens = quote! {
        #[doc = #description]
        #[derive(Clone)]
        #vis struct #changes {
            #(#fields),*
        }

        impl #changes {
            /// Sets the members that the client sent.
            #vis fn apply_to(&self, resource: &mut #ident) {
                #(#applied)*
            }
        }
    };
    tokens.extend(schema(resource, changes, &name, &description, &read, Side::Changed, |_| false));
    tokens.extend(input(resource, changes, &readings, &quote!(#changes { #(#names),* })));
    tokens
}
