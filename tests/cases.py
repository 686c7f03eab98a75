"""The number of cases that a Hypothesis test tries: few by default, thousands with `TORCHLIKE_CASES=10000`."""

import os

from hypothesis import HealthCheck, settings

__all__ = ["cases"]


def cases(few: int) -> settings:
    """Returns a test's settings: ``few`` cases, the same each time, or as many new ones as the environment variable says."""
    asked = os.environ.get("TORCHLIKE_CASES")
    return settings(
        max_examples=int(asked) if asked else few,
        derandomize=not asked,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
