const OPEN: &str = model::sql!("SELECT {Pet FROM pet");
const UNKNOWN: &str = model::sql!("INSERT INTO pet ({Pet}) VALUES ({Pet.parameters})");

fn main() {}
