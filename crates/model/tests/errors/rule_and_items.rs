#[derive(model::Resource)]
struct Pet {
    #[field(rule = list(0..=3, text(1..=9)), items = 0..=3)]
    tags: Vec<String>,
}

fn main() {}
