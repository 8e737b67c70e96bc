# `make test` is what CI runs: formatting, lints, dependencies, every test. It installs what its tests need and the machine lacks.
# `tools/test` compiles with Clippy: a separate `cargo clippy` would compile all dependencies a second time.

.PHONY: test run bench torture long-test pictures tools deny

test: tools
	cargo fmt --all --check
	./tools/deny
	./tools/test

run:
	cargo run --release

# Measures the program next to bare servers, and fails when a figure is missed that must be reached. See docs/performance.md.
bench: tools
	./tools/optimise
	./target/dist/bench --program target/optimised/triptych

# Does to the program what must not hurt it, and fails when something did. At most half an hour. See docs/torture.md.
torture: tools
	cargo build --profile dist --locked -p triptych -p torture
	./tools/fuzz
	./target/dist/torture

# The long runs of tests that `make test` runs with fewer rounds: a million operations on the last seats of trains on SQLite,
# on PostgreSQL and by three processes, every order of seven steps, 10,000 bookings with their webhooks on each engine, 20
# SIGKILLs in each test of a crash, 10,000 calls while two processes restart behind nginx, 2,500 slow webhook subscriptions, 50 sandboxes
# in use, and 50 examples for each operation from Schemathesis. At most half an hour for each; one after the other, so that the printed
# times are comparable.
long-test: tools
	TORTURE_OPERATIONS=1000000 TORTURE_STEPS=7 TORTURE_ORDERS=40 TORTURE_BOOKINGS=10000 \
	cargo test --release --locked -p train --test all -- --nocapture --test-threads=1 seats:: many_deliveries::
	TORTURE_SUBSCRIPTIONS=2500 \
	cargo test --release --locked -p webhooks --test all -- --nocapture --test-threads=1 many_slow_subscriptions
	TORTURE_SANDBOXES=50 \
	cargo test --release --locked -p sandbox --test all -- --nocapture --test-threads=1 isolation::
	TORTURE_KILLS=20 TORTURE_EXAMPLES=50 TORTURE_CALLS=10000 \
	cargo test --release --locked -p triptych --test all -- --nocapture --test-threads=1 crash schemathesis rolling_restart

# The pictures of the documents, from the pages of the running program in a browser.
pictures: tools
	cargo build --release --locked -p triptych
	./tools/pictures ./target/release/triptych

# Licences, sources and advisories of the dependencies.
deny: tools
	./tools/deny

tools:
	@./tools/install
