# `make test` is what CI runs: formatting, lints, dependencies, every test. It installs what its tests need and the machine lacks.

.PHONY: test run bench torture tools deny

test: tools
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	./tools/deny
	./tools/test

run:
	cargo run --release

bench: tools
	cargo run --release --locked -p bench

# A million operations on the last seats of trains, on SQLite, on PostgreSQL and by three processes, and every order of seven
# steps. At most half an hour for each; one after the other, so that the printed times are comparable.
torture: tools
	TORTURE_OPERATIONS=1000000 TORTURE_STEPS=7 \
	cargo test --release --locked -p train --test all seats:: -- --nocapture --test-threads=1

# Licences, sources and advisories of the dependencies.
deny: tools
	./tools/deny

tools:
	@./tools/install
