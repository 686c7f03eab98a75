"""The lowerings of a convolution for XLA and for NumPy agree, with and without oneDNN."""

from typing import Any

import jax
import numpy as np
import pytest

import torchlike as torch
from tests.numerics.geometries import F32, FORMS, close, geometry, operands
from torchlike.engine.interpreter import trace
from torchlike.engine.onednn import library
from torchlike.numerics.convolution import convolve
from torchlike.numerics.convolution_ways import by_places, by_slices, by_xla, for_processors

pytestmark = pytest.mark.recorded
MORE = {
    **FORMS,
    "depthwise, strided and dilated": geometry(
        (2, 6, 11, 10), (6, 1, 3, 2), groups=6, stride=(2, 1), dilation=(1, 2), padding=2
    ),
    "depthwise, 1-D, the end is not met": geometry((2, 6, 12), (6, 1, 3), groups=6, stride=4),
    "3-D, groups, strided and dilated": geometry(
        (2, 4, 9, 8, 7), (6, 2, 3, 2, 3), groups=2, stride=2, dilation=(2, 1, 1), padding=1
    ),
}


@pytest.fixture
def without(monkeypatch):
    monkeypatch.setattr(library, "_library", [None])


@pytest.mark.costly
@pytest.mark.parametrize("result", "yxw")
@pytest.mark.parametrize("form", MORE)
def test_what_processors_compute_is_xlas_convolution(form, result, without):
    of = MORE[form]._replace(result=result)
    arrays = operands(of)
    wanted = jax.jit(lambda a, b: by_xla(a, b, of))(*arrays)
    assert close(jax.jit(lambda a, b: for_processors(a, b, of))(*arrays), wanted, of)
    assert close(jax.jit(lambda a, b: convolve(a, b, of))(*arrays), wanted, of)


@pytest.mark.parametrize("result", "yx")
@pytest.mark.parametrize("form", ["depthwise", "3-D"])
def test_integers_are_convolved_and_transposed(form, result, without):
    of = MORE[form]._replace(result=result)
    arrays = [(4 * a).astype(np.int32) for a in operands(of)]
    found = jax.jit(lambda a, b: for_processors(a, b, of))(*arrays)
    assert found.dtype == np.int32
    first, second = (a.astype(F32) for a in arrays)
    wanted = by_xla(first, second, of)
    assert np.array_equal(found, np.asarray(wanted))


@pytest.mark.costly
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("result", "yxw")
@pytest.mark.parametrize("form", MORE)
def test_numpy_computes_xlas_convolution(form, result, dtype, without):
    of = MORE[form]._replace(result=result)
    with jax.enable_x64(True):
        arrays = [a.astype(dtype) for a in operands(of)]
        wanted = by_xla(arrays[0], arrays[1], of)
        plan = trace(lambda a, b: (convolve(a, b, of),), arrays).plan()
        (found,) = plan(*map(np.asarray, arrays))
    assert found.dtype == dtype
    assert abs(found - np.asarray(wanted)).max() <= 2e-5 * (abs(np.asarray(wanted)).max() + 1)


def test_many_images_are_taken_a_few_at_a_time(without):
    of = geometry((70, 8, 24, 24), (4, 8, 3, 3), padding=1)
    for result in "yxw":
        one = of._replace(result=result)
        arrays = operands(one)
        plan = trace(lambda a, b, one=one: (convolve(a, b, one),), arrays).plan()
        # XLA's own sum of 40,320 products in float32 is off by more than the bound on processors without AVX-512.
        with jax.enable_x64(True):
            wide = [np.asarray(array, np.float64) for array in arrays]
            expected = by_xla(jax.numpy.asarray(wide[0]), jax.numpy.asarray(wide[1]), one)
        assert close(plan(*map(np.asarray, arrays))[0], expected, one)


def calls(fn: Any, *arrays: Any) -> int:
    return jax.jit(fn).lower(*arrays).as_text().count("stablehlo.convolution")


def test_a_way_is_chosen_by_form_and_kept_from_other_platforms(without):
    depthwise, deep = FORMS["depthwise"], FORMS["3-D"]
    assert calls(lambda a, b: convolve(a, b, depthwise), *operands(depthwise)) == 0
    assert calls(lambda a, b: convolve(a, b, deep), *operands(deep)) == deep.w[2]
    for of, way in ((depthwise, by_places), (deep, by_slices)):
        assert close(way(*operands(of), of), by_xla(*operands(of), of), of)
    exported = jax.export.export(jax.jit(lambda a, b: convolve(a, b, deep)), platforms=["tpu"])(*operands(deep))
    assert exported.mlir_module().count("stablehlo.convolution") == 1 and operands(deep)[0].dtype == F32


SQUARE = geometry((2, 3, 8, 8), (4, 3, 3, 3), padding=1)


def lowered(platform: str, result: str, rounded: bool) -> str:
    """The convolution of bfloat16 and of float32, as JAX hands them to XLA for a platform."""
    of = SQUARE._replace(result=result)
    first, second = operands(of)
    halves = [array.astype(jax.numpy.bfloat16) for array in (first, second)]

    def both(a: Any, b: Any, c: Any, d: Any) -> Any:
        return convolve(a, b, of, rounded), convolve(c, d, of)

    traced = jax.jit(both).trace(halves[0], halves[1], first, second)
    return traced.lower(lowering_platforms=(platform,)).as_text()


@pytest.mark.parametrize("rounded", [True, False])
@pytest.mark.parametrize("result", "yxw")
@pytest.mark.parametrize(("platform", "sums"), [("cuda", "bf16"), ("tpu", "f32")])
def test_units_for_products_get_half_types_as_they_are(platform, sums, result, rounded):
    half, single = [line for line in lowered(platform, result, rounded).splitlines() if "stablehlo.convolution" in line]
    types = half.rpartition(":")[2]
    assert types.count("xbf16>") == (3 if sums == "bf16" else 2) and types.rstrip().endswith(f"x{sums}>")
    assert single.rpartition(":")[2].count("xf32>") == 3


def test_convolutions_on_gpus_round_to_tf32_unless_they_are_told_otherwise():
    def exactly(platform: str) -> bool:
        return "precision HIGHEST" in lowered(platform, "y", True)

    assert not exactly("cuda") and exactly("tpu")
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        assert exactly("cuda")
    assert not exactly("cuda")
