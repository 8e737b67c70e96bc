//! Examples that only a running service knows, such as future days and ids of the demo.

use serde_json::Value;
use utoipa::openapi::{OpenApi, content::Content, example::ExampleBuilder, path::ParameterBuilder};

use super::{data::here, operations};

/// Adds an example to the parameters of this name.
pub fn parameter_example(document: &mut OpenApi, name: &str, example: impl Into<Value>) {
    let example = example.into();
    for item in document.paths.paths.values_mut() {
        let parameters = operations(item).flat_map(|operation| operation.parameters.iter_mut().flatten());
        for parameter in parameters.filter_map(here).filter(|parameter| parameter.name == name) {
            *parameter = ParameterBuilder::from(parameter.clone()).example(Some(example.clone())).build();
        }
    }
}

/// Adds an example to the JSON body of an operation.
pub fn body_example(document: &mut OpenApi, operation: &str, example: Value) {
    if let Some(body) = json_body(document, operation) {
        body.example = Some(example);
    }
}

/// Adds several named examples to the JSON body of an operation.
pub fn body_examples(
    document: &mut OpenApi,
    operation: &str,
    examples: impl IntoIterator<Item = (&'static str, Value)>,
) {
    if let Some(body) = json_body(document, operation) {
        for (name, example) in examples {
            let example = ExampleBuilder::new().value(Some(example)).build();
            body.examples.insert(name.into(), example.into());
        }
    }
}

fn json_body<'d>(document: &'d mut OpenApi, id: &str) -> Option<&'d mut Content> {
    let mut all = document.paths.paths.values_mut().flat_map(operations);
    let found = all.find(|operation| operation.operation_id.as_deref() == Some(id));
    let body = found?.request_body.as_mut().and_then(here)?;
    body.content.get_mut("application/json").and_then(here)
}
