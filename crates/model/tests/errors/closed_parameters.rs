#[derive(model::Parameters)]
#[resource(closed)]
struct Search {
    name: String,
}

fn main() {}
