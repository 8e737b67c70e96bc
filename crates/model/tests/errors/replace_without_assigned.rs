#[derive(model::Resource)]
#[resource(replace = PetUpdate)]
struct Pet {
    #[field(rule = text(1..=200))]
    name: String,
}

fn main() {}
