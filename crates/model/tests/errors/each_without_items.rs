#[derive(model::Input)]
struct Pet {
    #[field(each = text(1..=9))]
    tags: Vec<String>,
}

fn main() {}
