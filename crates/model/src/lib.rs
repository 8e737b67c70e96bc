//! One declaration for each member of a resource.
//!
//! A resource is a struct. Each member states its rule, its example and its shape in XML beside its type, and its doc comment is
//! its description. These macros generate the code that reads, describes, answers and stores it:
//!
//! ```text
//! /// A pet in the store.
//! #[derive(Debug, Clone, Resource)]
//! #[resource(case = "camelCase", xml = "pet", new = NewPet, new_name = "PetInput", table)]
//! pub struct Pet {
//!     #[field(assigned, example = 10)]
//!     pub id: i64,
//!     #[field(rule = text(1..=200), example = "doggie")]
//!     pub name: String,
//!     #[field(items = 0..=100, each = text(1..=2000), element = "photoUrl", json)]
//!     pub photo_urls: Vec<String>,
//!     pub status: Option<Status>,
//! }
//!
//! /// Where a pet is in the sale.
//! #[derive(Debug, Clone, Copy, Words)]
//! pub enum Status {
//!     Available,
//!     Sold,
//! }
//! ```
//!
//! `crates/web/tests/all/model.rs` shows the results of such a declaration.
//!
//! - [`Resource`] makes the answer in JSON (`Serialize`) and its schema (`ToSchema`). By attribute, it also makes the answer in
//!   XML (`xml = "root"`), the views to create one (`new = NewPet`), to replace one (`replace = PetUpdate`) and to change some
//!   members of one (`changes = PetChanges`), and the columns (`table`).
//! - [`Input`] is for objects that are only read, [`Parameters`] for a query string, [`Record`] for rows that are only stored,
//!   [`Words`] for an enumeration.
//! - [`migrations!`] reads the migrations of a component from the folder of the crate.
//! - [`sql!`] names the columns of a record in a statement: `sql!("SELECT {Pet} FROM pet WHERE id = $1")`.
//!
//! # Attributes of a struct: `#[resource(…)]`
//!
//! | attribute | meaning |
//! |---|---|
//! | `name = "Booking"` | the name of its schema, if that is not the struct's |
//! | `case = "camelCase"` | the case of member names; as declared if absent |
//! | `xml = "pet"` | its element in XML |
//! | `list = "pets"` | the element of a list of them |
//! | `new = NewPet`, `new_name = "PetInput"`, `new_doc = "…"` | what a client sends to create one, the name and the description of its schema |
//! | `new_derive(Debug, Serialize)` | the traits that it derives besides `Clone` |
//! | `replace = PetUpdate` | the same with the assigned member required: what a client sends to replace one |
//! | `changes = PetChanges` | all members optional: what a client sends to change some |
//! | `readable` | it is read in the form of its answer, as a part of another resource |
//! | `closed` | a member that it does not have is a validation error; otherwise such a member is ignored |
//! | `form` | a body may be a form |
//! | `broken = UNPROCESSABLE` | the status of a body that is well formed and breaks a rule |
//! | `check = function` | called with what was read of each member and the [`Fields`](../web/input/struct.Fields.html), for rules that concern several members. A member that a view of the resource can leave out is an `Option` there |
//! | `described = function` | makes its schema from the object schema of its members, where that is not enough |
//! | `table` | its members are columns |
//!
//! # Attributes of a member: `#[field(…)]`
//!
//! | attribute | meaning |
//! |---|---|
//! | `rule = text(1..=200)` | the rule; the type's own if absent. The functions of `web::input::rules` are in scope |
//! | `items = 0..=100`, `each = text(1..=2000)` | a list: how many items, and the rule of each; the item type's own if absent |
//! | `element = "photoUrl"` | the element of a list's item in XML; that of the item's type if absent |
//! | `example = "doggie"`, `default = false` | as the document states them; a member with a default may be left out |
//! | `name = "self"` | its name, if that is not the declared one |
//! | `assigned`, `changeable` | the server assigns it where a client leaves it out; a client can change it later nevertheless |
//! | `read_only`, `write_only` | answered and never read; read and never answered |
//! | `stored` | a column, neither read nor answered |
//! | `input_doc = "…"`, `changes_doc = "…"` | its description where it is read; where it is changed |
//! | `column = "id"`, `json`, `computed` | its column, if that has another name; a column of JSON; no column at all |

mod attributes;
mod columns;
mod input;
mod member;
mod migrations;
mod output;
mod parameters;
mod sql;
mod views;
mod words;

use darling::FromDeriveInput;
use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

use attributes::Resource as Declared;

/// A resource: answered, and optionally read and stored. See the documentation of the crate.
#[proc_macro_derive(Resource, attributes(resource, field))]
pub fn resource(item: TokenStream) -> TokenStream {
    derive(item, |declared| {
        let mut tokens = output::derive(declared)?;
        tokens.extend(views::derive(declared)?);
        if declared.table {
            tokens.extend(columns::derive(declared)?);
        }
        Ok(tokens)
    })
}

/// An object that is read and never answered.
#[proc_macro_derive(Input, attributes(resource, field))]
pub fn input(item: TokenStream) -> TokenStream {
    derive(item, views::derive_input)
}

/// The parameters of a query string.
#[proc_macro_derive(Parameters, attributes(resource, field))]
pub fn parameters(item: TokenStream) -> TokenStream {
    derive(item, parameters::derive)
}

/// A row that is stored and never answered.
#[proc_macro_derive(Record, attributes(resource, field))]
pub fn record(item: TokenStream) -> TokenStream {
    derive(item, columns::derive)
}

/// An enumeration whose variants are words.
#[proc_macro_derive(Words, attributes(words))]
pub fn words(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    finish(words::derive(&item))
}

/// A statement that names the columns of records: `{Pet}` for all of them, `{Pet as p}` for `p.id, p.name`, `{Pet.values}` for
/// their parameters from `$1` on, `{Pet.set}` for `name = $2, …`, which leaves out the first, and `{Pet.excluded}` for
/// `name = excluded.name, …`.
#[proc_macro]
pub fn sql(item: TokenStream) -> TokenStream {
    let text = parse_macro_input!(item as syn::LitStr);
    finish(sql::expand(&text).map_err(darling::Error::from))
}

/// The migrations of a component: all scripts in `migrations/sqlite` and `migrations/postgres` of the calling crate, in the order
/// of their numbers: `0001_pets.sql`, `0002_orders.sql`. A crate with several components gives the scripts of each a prefix:
/// `migrations!("oauth", prefix = "oauth_")` reads `oauth_0001_grants.sql`. The crate needs a `build.rs` that names the folder
/// `migrations`; without it, Cargo does not rebuild the crate for a new script.
#[proc_macro]
pub fn migrations(item: TokenStream) -> TokenStream {
    let component = parse_macro_input!(item as migrations::Component);
    finish(migrations::expand(&component).map_err(darling::Error::from))
}

fn derive(
    item: TokenStream,
    make: impl FnOnce(&Declared) -> darling::Result<proc_macro2::TokenStream>,
) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    finish(Declared::from_derive_input(&item).and_then(|declared| make(&declared)))
}

fn finish(made: darling::Result<proc_macro2::TokenStream>) -> TokenStream {
    made.unwrap_or_else(darling::Error::write_errors).into()
}
