"""After an interrupt within JAX, the state that JAX keeps for the thread is as before, and the program goes on."""

import jax
import pytest

from tests.engine.entries import harm, settings
from torchlike.engine.jax_settings import tracing, with_64_bits

pytestmark = pytest.mark.recorded


@pytest.mark.costly
@pytest.mark.parametrize(
    ("kind", "every", "fewest"), [("step", 20, 20), ("compilation", 100, 20), ("transform", 20, 10)]
)
def test_interrupts_where_jax_is_entered_do_no_harm(kind, every, fewest):
    came, wrong = harm(kind, every)
    assert wrong == []
    assert came >= fewest


@pytest.mark.parametrize("wrapper", [tracing, with_64_bits])
def test_settings_are_those_of_before_after_a_result_and_after_an_error(wrapper):
    before = settings()
    with jax.enable_x64(False):
        inside = settings()

        def function(fails):
            assert jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]
            if fails:
                jax.enable_x64(False).__enter__()  # the end is never reached
                raise KeyError
            return fails

        assert wrapper(function)(False) is False
        assert settings() == inside
        with pytest.raises(KeyError):
            wrapper(function)(True)
        assert settings() == inside
    assert settings() == before


def test_all_is_put_back_that_jax_keeps_for_a_thread():
    before = settings()

    def abandoned():
        for context in (jax.disable_jit(), jax.numpy_dtype_promotion("standard"), jax.default_matmul_precision("float32"),
                        jax.named_scope("name"), jax.ensure_compile_time_eval()):  # fmt: skip
            context.__enter__()
        return settings()

    assert sum(x is not y for x, y in zip(tracing(abandoned)(), before, strict=True)) >= 4
    assert settings() == before
