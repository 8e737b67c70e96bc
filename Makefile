# `make test` is what CI runs: formatting, lints, every test. It installs what its tests need and the machine lacks.

.PHONY: test run bench tools deny

test: tools
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo test --workspace --locked

run:
	cargo run --release

bench:
	cargo run --release --locked -p bench

# Licences and advisories, where cargo-deny is installed.
deny:
	cargo deny check

tools:
	@./tools/install
