#[derive(model::Resource)]
#[resource(xmls = "pet")]
struct Pet {
    #[field(lenght = 1..=200)]
    name: String,
}

fn main() {}
