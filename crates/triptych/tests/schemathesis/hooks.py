"""Lets those failures pass that exceptions.toml gives a reason for."""

import pathlib
import re
import tomllib

import schemathesis

# Schemathesis's codes for what it found.
TAKEN_THOUGH_INVALID = "ST201"
REFUSED_THOUGH_VALID = "ST202"

EXCEPTIONS = tomllib.loads(pathlib.Path(__file__).with_name("exceptions.toml").read_text())


def fits(entry, **found):
    """Whether an entry speaks of this operation, and every pattern it has is found."""
    return all(re.search(pattern, str(found[name])) for name, pattern in entry.items() if name != "reason")


@schemathesis.hook
def filter_failure(context, failure, case, response):
    operation = context.operation.label
    if failure.code == REFUSED_THOUGH_VALID:
        try:
            problem = response.json()
        except ValueError:
            return True
        # Each thing that is wrong needs its own reason.
        errors = problem.get("errors") or [{"pointer": "", "detail": problem["detail"]}]
        found = {"operation": operation, "media_type": case.media_type, "status": response.status_code}
        return not all(
            any(fits(entry, **found, **error) for entry in EXCEPTIONS["refused"]) for error in errors
        )
    if failure.code == TAKEN_THOUGH_INVALID:
        found = {"operation": operation, "media_type": case.media_type, "message": failure.message}
        return not any(fits(entry, **found) for entry in EXCEPTIONS["accepted"])
    return True
