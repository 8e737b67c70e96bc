#[derive(model::Record)]
struct Pet {
    #[field(computed, column = "url")]
    link: String,
}

fn main() {}
