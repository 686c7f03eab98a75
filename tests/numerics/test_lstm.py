"""oneDNN's LSTM has the numbers of the scan, in programs and over NumPy's arrays, whatever the sizes and the number of threads."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.numerics.lstms import SIZES, assert_close, cotangents, of_sizes, operands
from torchlike.engine import onednn
from torchlike.engine.interpreter import trace
from torchlike.engine.onednn import Lstm, calls, library, records
from torchlike.numerics.lstm import by_scan, lstm

if library.library() is None:
    pytest.skip("onednn-cpu-gomp is not installed", allow_module_level=True)

pytestmark = pytest.mark.recorded


def program(of: Lstm) -> Any:
    return jax.jit(lambda *arrays: lstm(of, *arrays))


def computed(sizes: tuple[int, ...], reverse: bool, arrays: list[jax.Array], threads: int = 2) -> tuple[Any, Any]:
    """Results and all gradients by oneDNN, each as a program."""
    training, gradients = (of_sizes(part, sizes, reverse, threads) for part in ("training", "gradients"))
    results = program(training)(*arrays)
    return results[:3], program(gradients)(*arrays, *results, *cotangents(training))


def wanted(sizes: tuple[int, ...], reverse: bool, arrays: list[jax.Array]) -> tuple[Any, Any]:
    """The same by the scan."""
    of = of_sizes("inference", sizes, reverse)
    results, pullback = jax.vjp(lambda *arrays: by_scan(of, *arrays), *arrays)
    return results, pullback(cotangents(of))


@pytest.mark.costly
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_every_size_has_the_numbers_of_the_scan(sizes, reverse):
    of = of_sizes("inference", sizes, reverse)
    arrays = operands(of)
    (results, gradients), (wanted_results, wanted_gradients) = (
        way(sizes, reverse, arrays) for way in (computed, wanted)
    )
    assert_close(results, wanted_results)
    assert_close(gradients, wanted_gradients)
    assert program(of).lower(*arrays).as_text().count(calls.TARGET) == 1
    assert_close(program(of)(*arrays), wanted_results)


@pytest.mark.parametrize("part", ["inference", "training", "gradients"])
@pytest.mark.parametrize("sizes", [(2, 3, 1, 3), (7, 33, 70, 17)], ids=str)
def test_numpys_arrays_give_the_bits_of_a_program(sizes, part):
    of = of_sizes(part, sizes)
    arrays = operands(of)
    if part == "gradients":
        arrays += [*program(of_sizes("training", sizes))(*arrays), *cotangents(of)]
    plan = trace(lambda *arrays: lstm(of, *arrays), arrays).plan()
    for found, array in zip(plan(*map(np.asarray, arrays)), program(of)(*arrays), strict=True):
        # What the workspace has between its parts is never written.
        assert found.shape == array.shape and (found.size == of.workspace // 4 or (found == np.asarray(array)).all())


@pytest.mark.parametrize("sizes", [(7, 33, 70, 17), (32, 64, 16, 32)], ids=str)
def test_each_run_and_any_number_of_threads_give_the_same_bits(sizes):
    arrays = operands(of_sizes("inference", sizes))
    runs = []
    try:
        for threads in (1, 2, 2, 3, 0):
            onednn.set_threads(threads)
            # The batch is cut as the program says, for two threads, however many there are now.
            runs.append(jax.tree.map(np.asarray, computed(sizes, False, arrays)))
    finally:
        onednn.set_threads(0)
    for other in runs[1:]:
        assert jax.tree.all(jax.tree.map(lambda a, b: (a == b).all(), runs[0], other))


def test_a_batch_is_cut_into_as_many_pieces_as_there_are_threads_unless_they_are_too_small_or_too_large():
    def pieces(batch, threads):
        return of_sizes("training", (3, batch, 4, 4), threads=threads).pieces

    assert [pieces(batch, 2) for batch in (1, 15, 16, 32, 64, 95, 96, 256)] == [1, 1, 2, 2, 2, 2, 3, 4]
    assert [pieces(32, threads) for threads in (1, 2, 3, 4, 16)] == [1, 2, 3, 4, 4]
    # The gradients of the weights of all pieces lie in memory at the same time.
    assert of_sizes("gradients", (1, 128, 512, 512), threads=16).pieces == 8
    of = of_sizes("training", (3, 100, 4, 4), threads=7)
    record = onednn.record_of(of)
    assert record is not None and (record.threads, of.pieces) == (1, 7)


@pytest.mark.parametrize("scale", [30.0, 1e4])
def test_saturated_gates(scale):
    sizes = (5, 16, 9, 20)
    arrays = operands(of_sizes("inference", sizes), scale=scale)
    results, gradients = computed(sizes, False, arrays)
    wanted_results, wanted_gradients = wanted(sizes, False, arrays)
    assert_close(results, wanted_results)
    assert all(np.isfinite(np.asarray(g)).all() for g in gradients)
    assert_close(gradients, wanted_gradients, 1e-3 * scale)


@pytest.mark.costly
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", range(6))
def test_values_that_are_not_finite_go_where_the_scan_lets_them_go(place, value):
    sizes = (3, 17, 4, 5)
    arrays = operands(of_sizes("inference", sizes))
    arrays[place] = arrays[place].at[(0,) * arrays[place].ndim].set(value)
    results, _ = computed(sizes, False, arrays)
    for found, expected in zip(results, wanted(sizes, False, arrays)[0], strict=True):
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    assert_close(results, wanted(sizes, False, arrays)[0])


def test_what_is_empty_has_no_record():
    for sizes in ((0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 1), (1, 1, 1, 0)):
        assert onednn.lstm_of("training", sizes[:3], sizes[3], False, 2) is None


def test_a_workspace_of_another_size_is_refused():
    """The program's memory for it would be too small."""
    of = of_sizes("training", (2, 3, 4, 5))
    assert onednn.record_of(of._replace(workspace=of.workspace - 4096)) is None
    assert calls.call(of._replace(workspace=of.workspace - 4096)) is None


def test_too_few_operands_are_an_error_and_not_garbage():
    of = of_sizes("inference", (2, 3, 4, 5))
    call = calls.call(of)
    assert call is not None
    with pytest.raises(jax.errors.JaxRuntimeError, match="oneDNN could not compute a part"):
        jax.jit(lambda *arrays: call(*arrays))(*operands(of)[:-1])[0].block_until_ready()


def test_without_onednn_a_program_has_the_scan(monkeypatch):
    sizes = (4, 16, 3, 5)
    arrays = operands(of_sizes("inference", sizes))
    training, gradients = (of_sizes(part, sizes) for part in ("training", "gradients"))
    monkeypatch.setattr(records, "library", lambda: None)
    results = program(training)(*arrays)
    assert program(training).lower(*arrays).as_text().count(calls.TARGET) == 0
    found = program(gradients)(*arrays, *results, *cotangents(training))
    assert_close(found, wanted(sizes, False, arrays)[1])
    monkeypatch.undo()
    jax.clear_caches()
    # Gradients by oneDNN after a scan have nothing to read, and say so.
    assert np.isnan(np.asarray(program(gradients)(*arrays, *results, *cotangents(training))[0])).any()


def test_a_program_for_several_devices_divides_its_batch():
    sizes = (4, 16, 3, 5)
    of = of_sizes("inference", sizes)
    mesh = jax.sharding.AbstractMesh((2,), ("x",))
    whole, cut = jax.sharding.PartitionSpec(), jax.sharding.PartitionSpec(None, "x")
    specs = [cut, *[whole] * 5]
    shapes = [
        jax.ShapeDtypeStruct(shape, jnp.float32, sharding=jax.sharding.NamedSharding(mesh, spec))
        for shape, spec in zip(of.operands, specs, strict=True)
    ]
    text = program(of).trace(*shapes).lower(lowering_platforms=("cpu",)).as_text()
    assert text.count(calls.TARGET) == 0


@pytest.mark.parametrize("part", ["inference", "training"])
def test_tangents_and_batches_are_those_of_the_scan(part):
    of = of_sizes(part, (3, 16, 4, 5))
    arrays, moves = operands(of), operands(of, seed=1)
    found, expected = (
        jax.jit(lambda a, m, way=way: jax.jvp(lambda *a: way(of, *a)[:3], a, m))(tuple(arrays), tuple(moves))
        for way in (lstm, by_scan)
    )
    assert_close([*found[0], *found[1]], [*expected[0], *expected[1]])
    batch = [jnp.stack([a, 2 * a]) for a in arrays]
    found, expected = (jax.vmap(lambda *a, way=way: way(of, *a)[:3])(*batch) for way in (lstm, by_scan))
    assert_close(found, expected)
