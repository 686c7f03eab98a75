"""How many cases a Hypothesis test tries: few here, thousands where `TORCHLIKE_CASES=10000` asks for them."""

import os

from hypothesis import HealthCheck, settings

__all__ = ["cases"]


def cases(few: int) -> settings:
    """The settings of a test: ``few`` cases, the same each time, or as many as the environment says, drawn anew."""
    asked = os.environ.get("TORCHLIKE_CASES")
    return settings(
        max_examples=int(asked) if asked else few,
        derandomize=not asked,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
