#[derive(model::Input)]
#[resource(case = "kebab-case")]
struct Pet {
    #[field(rule = text(1..=200))]
    first_name: String,
}

fn main() {}
