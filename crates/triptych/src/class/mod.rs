//! `triptych class …`: a sandbox for each student of a class.

pub(crate) mod arguments;
mod handout;

use std::fmt::Write;

use arguments::{ClassAction, ClassCommand, CreateArguments};
use futures_util::future::join_all;
use handout::Handout;
use sandbox::Name;

use crate::{
    Failure,
    control::{
        self, Created,
        journal::{self, Summary},
        server::{About, Call, CallError, Server, query},
    },
    print,
    settings::Settings,
    table::{row, table},
};

/// The number of sandboxes that are created, reset or deleted at the same time.
const AT_ONCE: usize = 4;

pub(crate) fn run(command: &ClassCommand, settings: &Settings) -> Result<(), Failure> {
    let server = Server::new(&command.server, settings)?;
    control::block_on(async {
        match &command.action {
            ClassAction::Create(arguments) => create(&server, arguments).await,
            ClassAction::Show { name } => show(&server, name).await,
            ClassAction::Reset { name } => for_each(&server, name, Call::post("/reset"), "reset").await,
            ClassAction::Delete { name } => for_each(&server, name, Call::delete(""), "deleted").await,
        }
    })
}

/// The names of the sandboxes: `monday-01` and so on.
fn names(class: &Name, students: u16) -> Result<Vec<Name>, Failure> {
    let digits = students.to_string().len().max(2);
    let name = |number: u16| {
        let text = format!("{class}-{number:0digits$}");
        Name::new(&text).ok_or_else(|| {
            format!("the names of the sandboxes are too long: {text:?} has more than 32 characters").into()
        })
    };
    (1..=students).map(name).collect()
}

async fn create(server: &Server, arguments: &CreateArguments) -> Result<(), Failure> {
    let CreateArguments { name: class, students, csv, page } = arguments;
    let names = names(class, *students)?;
    let existing = control::list(server, Some(class)).await?.len();
    if existing > 0 {
        return Err(CallError::failure(format!(
            "there is a class {class} already, with {existing} sandboxes: delete it with triptych class delete {class}, or \
             choose another name"
        )));
    }
    // Before the sandboxes: their tokens are shown only once.
    let csv = csv.as_deref().map(Handout::create).transpose()?;
    let page = page.as_deref().map(Handout::create).transpose()?;
    let mut created: Vec<Created> = Vec::new();
    let mut failed = None;
    for names in names.chunks(AT_ONCE) {
        let answers = names.iter().map(|name| control::create(server, Some(name), Some(class)));
        for answer in join_all(answers).await {
            match answer.and_then(|answer| Created::read(&answer)) {
                Ok(sandbox) => created.push(sandbox),
                Err(failure) => failed = failed.or(Some(failure)),
            }
        }
        if failed.is_some() {
            break;
        }
    }
    if let Some(failure) = failed.as_ref().filter(|_| created.is_empty()) {
        return Err(CallError::failure(failure.to_string()));
    }
    // The table comes first: it has the tokens, also if a file cannot be written.
    print(&students_table(&created))?;
    let csv = csv.map(|file| file.write(&handout::csv(&created)));
    let page = page.map(|file| handout::page(class, &created).and_then(|text| file.write(&text)));
    let failed = failed.map(|failure| {
        format!(
            "{} of {students} sandboxes were created, as listed; then: {failure}. To start again, delete them with triptych class \
             delete {class}",
            created.len()
        )
    });
    let unwritten = [csv, page].into_iter().flatten().filter_map(Result::err).map(|error| error.to_string());
    let errors: Vec<_> = failed.into_iter().chain(unwritten).collect();
    if errors.is_empty() { Ok(()) } else { Err(CallError::failure(errors.join("; "))) }
}

fn students_table(created: &[Created]) -> String {
    let mut rows = vec![row(["name", "link", "control token"])];
    rows.extend(created.iter().map(|one| row([&one.name, one.link(), &one.control_token])));
    table(&rows)
}

impl Created {
    /// The link of a student: the documentation of the first service.
    fn link(&self) -> &str {
        self.services.first().map_or(&self.control_url, |service| &service.docs)
    }
}

/// The names of the sandboxes of a class.
async fn sandboxes(server: &Server, class: &Name) -> Result<Vec<Name>, Failure> {
    let sandboxes = control::infos(control::list(server, Some(class)).await?)?;
    let names: Vec<_> = sandboxes.iter().filter_map(|sandbox| Name::new(&sandbox.name)).collect();
    if names.is_empty() {
        return Err(CallError::failure(format!("there is no class {class}")));
    }
    Ok(names)
}

/// Prints what the journals have about each student.
async fn show(server: &Server, class: &Name) -> Result<(), Failure> {
    let mut rows = vec![row(["name", "calls", "errors", "last call"])];
    let filter = query(&[("limit", Some(journal::MOST))]);
    for names in sandboxes(server, class).await?.chunks(AT_ONCE) {
        let journals = names.iter().map(|name| journal::calls(server, About::Sandbox(name), &filter));
        for (name, calls) in names.iter().zip(join_all(journals).await) {
            let calls = calls?;
            let errors = calls.iter().filter(|call| call.is_error()).count();
            let last = calls.first().map(Summary::short).unwrap_or_default();
            rows.push([name.to_string(), calls.len().to_string(), errors.to_string(), last]);
        }
    }
    print(&table(&rows))
}

/// Makes the same call for each sandbox of a class. The first error ends it.
async fn for_each(server: &Server, class: &Name, call: Call<'_>, done: &str) -> Result<(), Failure> {
    for names in sandboxes(server, class).await?.chunks(AT_ONCE) {
        let answers = names.iter().map(|name| server.call(About::Sandbox(name), call.clone()));
        let answers: Vec<_> = join_all(answers).await;
        let mut lines = String::new();
        for (name, _) in names.iter().zip(&answers).filter(|(_, answer)| answer.is_ok()) {
            let _ = writeln!(lines, "{name}: {done}");
        }
        print(&lines)?;
        answers.into_iter().collect::<Result<Vec<_>, _>>()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbered_with_as_many_digits_as_needed() {
        let class = Name::new("monday").unwrap();
        let texts = |students| -> Vec<String> {
            names(&class, students).unwrap().iter().map(ToString::to_string).collect()
        };
        assert_eq!(texts(2), ["monday-01", "monday-02"]);
        assert_eq!(texts(100)[99], "monday-100");
        assert_eq!(texts(100)[0], "monday-001");
        let long = Name::new(&"x".repeat(30)).unwrap();
        assert!(names(&long, 2).is_err());
    }
}
