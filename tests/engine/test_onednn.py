"""oneDNN's convolutions give XLA's numbers, also with signals, threads and forks, and in programs read from disk."""

import os
import shutil
import subprocess
import sys
import threading
import weakref
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.engine.interrupts import interrupt_after
from tests.numerics.geometries import F32, FORMS, close, geometry, operands
from torchlike.engine import onednn
from torchlike.engine.interpreter import trace
from torchlike.engine.onednn import Convolution, calls, convolution, handler_code, library, records
from torchlike.numerics.convolution import convolve
from torchlike.numerics.convolution_ways import by_xla

if library.library() is None:
    pytest.skip("onednn-cpu-gomp is not installed", allow_module_level=True)

pytestmark = pytest.mark.recorded
BF16 = np.dtype(jnp.bfloat16)


def calls_onednn(fn: Any, *arrays: Any) -> int:
    return jax.jit(fn).lower(*arrays).as_text().count(calls.TARGET)


@pytest.mark.costly
@pytest.mark.parametrize("result", "yxw")
@pytest.mark.parametrize("form", FORMS)
def test_each_form_has_xlas_numbers_in_programs_and_over_numpys_arrays(form, result):
    of = FORMS[form]._replace(result=result)
    arrays = operands(of)
    assert calls_onednn(lambda a, b: convolve(a, b, of), *arrays) == 1
    wanted = jax.jit(lambda a, b: by_xla(a, b, of))(*arrays)
    assert close(jax.jit(lambda a, b: convolve(a, b, of))(*arrays), wanted, of)
    plan = trace(lambda a, b: (convolve(a, b, of),), arrays).plan()
    assert close(plan(*map(np.asarray, arrays))[0], wanted, of)


@pytest.mark.parametrize("result", "yxw")
def test_bfloat16_is_summed_in_float32(result):
    of = FORMS["padded"]._replace(result=result)
    if onednn.record_of(Convolution(of, BF16, BF16)) is None:
        pytest.skip("this processor has no instructions for it")
    arrays = operands(of, BF16)
    assert calls_onednn(lambda a, b: convolve(a, b, of), *arrays) == 1
    found = jax.jit(lambda a, b: convolve(a, b, of))(*arrays)
    assert found.dtype == BF16 and close(found, by_xla(arrays[0].astype(F32), arrays[1].astype(F32), of), of, 2**-8)


def test_a_program_for_several_devices_divides_its_convolutions():
    """XLA could not divide a call of oneDNN: each device would compute all images."""
    of = FORMS["plain"]
    mesh = jax.sharding.AbstractMesh((2,), ("x",))
    cut, whole = jax.sharding.PartitionSpec("x"), jax.sharding.PartitionSpec()

    def calls_with(fn, sharding, x):
        shapes = [jax.ShapeDtypeStruct(shape, F32, sharding=jax.sharding.NamedSharding(mesh, spec)) for shape, spec in (
            (x, sharding), (of.w, whole),
        )]  # fmt: skip
        return jax.jit(fn).trace(*shapes).lower(lowering_platforms=("cpu",)).as_text().count(calls.TARGET)

    both = of._replace(x=(2 * of.x[0], *of.x[1:]), y=(2 * of.y[0], *of.y[1:]))
    assert calls_with(lambda x, w: convolve(x, w, both), cut, both.x) == 0
    # What one device does within a ``shard_map`` is not divided any more.
    each = jax.shard_map(lambda x, w: convolve(x, w, of), mesh=mesh, in_specs=(cut, whole), out_specs=cut)
    assert calls_with(each, cut, both.x) == 1


@pytest.mark.parametrize("dtype", ["float16", "float64", "complex64", "int32"])
def test_other_dtypes_stay_with_xla(dtype):
    with jax.enable_x64(True):
        of = FORMS["plain"]
        arrays = [jnp.round(4 * a.astype(F32)).astype(dtype) for a in operands(of)]
        assert calls_onednn(lambda a, b: convolve(a, b, of), *arrays) == 0
        found = jax.jit(lambda a, b: convolve(a, b, of))(*arrays)
        assert found.dtype == dtype and (found == by_xla(arrays[0], arrays[1], of)).all()


@pytest.mark.costly
@pytest.mark.parametrize("result", "yxw")
@pytest.mark.parametrize("form", ["strided, the last row is not met", "groups", "1-D"])
def test_derivatives_of_derivatives(form, result):
    of = FORMS[form]._replace(result=result)
    arrays = operands(of)

    def second(way):
        def slope(a, b):
            return jax.grad(lambda a, b: jnp.sin(way(a, b, of)).sum(), (0, 1))(a, b)

        return jax.jit(jax.grad(lambda a, b: sum((g * g).sum() for g in slope(a, b)), (0, 1)))

    for found, wanted in zip(second(convolve)(*arrays), second(by_xla)(*arrays), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-4 * float(abs(wanted).max()))


@pytest.mark.parametrize("result", "yxw")
@pytest.mark.parametrize("form", ["plain", "groups"])
def test_tangents(form, result):
    of = FORMS[form]._replace(result=result)
    arrays, moves = operands(of), operands(of, seed=1)
    found, wanted = (
        jax.jit(lambda a, m, way=way: jax.jvp(lambda a, b: way(a, b, of), a, m))(tuple(arrays), tuple(moves))
        for way in (convolve, by_xla)
    )
    for a, b in zip(found, wanted, strict=True):
        assert close(a, b, of)


@pytest.mark.costly
@pytest.mark.parametrize("places", [(0, None), (None, 0), (0, 0), (2, 1)])
@pytest.mark.parametrize("result", "yxw")
@pytest.mark.parametrize("form", ["strided, the last row is not met", "groups"])
def test_a_batch_of_convolutions_is_one_convolution(form, result, places):
    of = FORMS[form]._replace(result=result)
    batches = [
        a if place is None else jnp.moveaxis(jnp.stack([a, 2 * a, a * a]), 0, place)
        for a, place in zip(operands(of), places, strict=True)
    ]
    several = jax.vmap(lambda a, b: convolve(a, b, of), places)
    assert calls_onednn(several, *batches) == 1
    for n, found in enumerate(jax.jit(several)(*batches)):
        single = [a if p is None else jnp.take(a, n, p) for a, p in zip(batches, places, strict=True)]
        assert close(found, by_xla(single[0], single[1], of), of, 4e-6)


def test_signals_never_leave_a_result_unwritten():
    """A program this small runs on the calling thread. If it called a Python function, Python would handle signals within it."""
    of = geometry((1, 1, 6, 6), (1, 1, 3, 3))
    run = jax.jit(lambda a, b: convolve(a, b, of)).lower(*operands(of)).compile()
    arrays = operands(of)
    wanted = np.asarray(run(*arrays))
    raised = 0
    for _ in range(4000):
        results = []
        raised += interrupt_after(2e-5, lambda results=results: results.extend(run(*arrays) for _ in range(5)))
        if results:
            assert (np.asarray(results[-1]) == wanted).all()
    assert raised > 500


def test_threads_run_the_same_convolution_at_once():
    of = geometry((4, 8, 16, 16), (8, 8, 3, 3), padding=1)
    run = jax.jit(lambda a, b: convolve(a, b, of)).lower(*operands(of)).compile()
    wrong = []

    def work(seed: int) -> None:
        arrays = operands(of, seed=seed)
        wanted = np.asarray(run(*arrays))
        wrong.extend(seed for _ in range(50) if not np.array_equal(run(*arrays), wanted))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and not np.array_equal(run(*operands(of, seed=0)), run(*operands(of, seed=1)))


IN_A_CHILD = """
import os
from tests.engine.test_onednn import *

of = geometry((4, 64, 24, 24), (64, 64, 3, 3))
record = records._prepared.__wrapped__(Convolution(of, F32, F32), 2)
arrays = [np.asarray(operand) for operand in operands(of)]

def computed():
    result = np.empty(of.y, F32)
    records.compute(record, arrays, [result])
    return result

before = library.library().openmp.omp_get_max_threads()
wanted = computed()
run = jax.jit(lambda a, b: convolve(a, b, of)).lower(*operands(of)).compile()
found = []
threads = [threading.Thread(target=lambda: found.extend(computed() for _ in range(20))) for _ in range(2)]
threads += [threading.Thread(target=lambda: found.extend(np.asarray(run(*operands(of))) for _ in range(20)))]
for thread in threads:
    thread.start()
found += [computed() for _ in range(40)]
for thread in threads:
    thread.join()
print(len(found), all(np.allclose(each, wanted, 1e-4, 1e-4) for each in found))
print(library.library().openmp.omp_get_max_threads() == before)
child = os.fork()
if not child:
    print(np.array_equal(computed(), wanted), flush=True)
    os._exit(0)
print(os.waitpid(child, 0)[1] == 0, np.array_equal(computed(), wanted))
"""


def test_the_main_thread_computes_by_itself_beside_others_and_not_in_a_child():
    """A child process has none of the threads with which OpenMP would share the work of its main thread."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IN_A_CHILD], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["100 True", "True", "True", "True True"]


def test_the_number_of_threads_can_change():
    of = geometry((8, 8, 24, 24), (16, 8, 3, 3))
    assert of.products >= convolution.SHARED_FROM
    run = jax.jit(lambda a, b: convolve(a, b, of)).lower(*operands(of)).compile()
    first, second = operands(of)
    wanted = by_xla(first, second, of)
    try:
        for number in (1, 2, 1):
            onednn.set_threads(number)
            record = onednn.record_of(Convolution(of, F32, F32))
            assert record is not None and record.threads == number
            assert close(run(*operands(of)), wanted, of)
    finally:
        onednn.set_threads(0)


@pytest.mark.parametrize("result", "yx")
def test_one_thread_computes_what_is_small_to_the_same_bits(result, monkeypatch):
    of = geometry((3, 5, 9, 9), (7, 5, 3, 3), padding=1)._replace(result=result)
    by_one = onednn.record_of(Convolution(of, F32, F32))
    assert by_one is not None and by_one.threads == 1
    monkeypatch.setattr(convolution, "SHARED_FROM", 0)
    by_two = records._prepared.__wrapped__(Convolution(of, F32, F32), 2)
    assert by_two is not None and by_two.threads == 2
    results = [np.empty(of.shape(result), F32) for _ in range(2)]
    for record, array in zip((by_one, by_two), results, strict=True):
        records.compute(record, [np.asarray(operand) for operand in operands(of)], [array])
    assert (results[0] == results[1]).all()


ON_OTHERS = """
import os
from tests.engine.test_onednn import *

of = geometry((8, 64, 32, 32), (64, 64, 3, 3))
record = records._prepared.__wrapped__(Convolution(of, F32, F32), 2)
operands = [np.zeros(of.shape(name), F32) for name in of.operands]

def threads():
    records.compute(record, operands, [np.empty(of.y, F32)])
    return {*map(int, os.listdir("/proc/self/task"))}

before = {*map(int, os.listdir("/proc/self/task"))}
(helper,) = threads() - before
for processor in sorted(os.sched_getaffinity(0))[:2] * 4:
    os.sched_setaffinity(helper, {processor})  # the thread that it computes with runs there, too, or elsewhere
    threads()
    print(os.sched_getaffinity(helper) == {processor}, library.library().state.place not in os.sched_getaffinity(helper))
"""
TWO_PROCESSORS = len(getattr(os, "sched_getaffinity", lambda _: ())(0)) > 1


@pytest.mark.skipif(not TWO_PROCESSORS, reason="there is one processor")
@pytest.mark.parametrize("chosen", [{}, {"OMP_PLACES": "threads"}], ids=["free", "placed by the user"])
def test_openmp_threads_keep_off_the_processor_of_the_first_unless_the_user_places_them(chosen):
    kept = {name: value for name, value in os.environ.items() if name not in library._PLACED_BY_USERS}
    done = subprocess.run(
        [sys.executable, "-c", ON_OTHERS], capture_output=True, text=True, timeout=120, env={**kept, **chosen}
    )
    assert done.returncode == 0, done.stderr
    stayed, kept_off = zip(*[line.split() for line in done.stdout.splitlines()], strict=True)
    assert {*stayed} == {"True"} if chosen else {*kept_off} == {"True"}, done.stdout


# The environment variables of the user, and the settings that libgomp then prints.
WAITING = {
    "nothing": ({}, "GOMP_SPINCOUNT = '10000'"),
    "a count": ({"GOMP_SPINCOUNT": "7"}, "GOMP_SPINCOUNT = '7'"),
    "a policy": ({"OMP_WAIT_POLICY": "active"}, "OMP_WAIT_POLICY = 'ACTIVE'"),
}


@pytest.mark.costly
@pytest.mark.parametrize(("settings", "says"), WAITING.values(), ids=WAITING)
def test_openmp_threads_that_wait_soon_sleep_unless_the_user_says_otherwise(settings, says):
    program = "import os; before = dict(os.environ); import torchlike; assert dict(os.environ) == before"
    kept = {name: value for name, value in os.environ.items() if name not in library._CHOSEN_BY_USERS}
    environment = {**kept, **settings, "OMP_DISPLAY_ENV": "verbose"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0 and says in done.stderr, done.stderr


def test_what_no_program_calls_is_forgotten_in_time():
    known, called = (geometry((1, 2, 9, n), (2, 2, 3, 3)) for n in (10, 11))
    assert calls.call(Convolution(called, F32, F32))
    references = [weakref.ref(onednn.record_of(Convolution(of, F32, F32))) for of in (known, called)]  # pyright: ignore[reportArgumentType]
    for n in range(records.RECORDS_KEPT):
        onednn.record_of(Convolution(geometry((1, 1, 3, n + 3), (1, 1, 3, 3)), F32, F32))
    assert [reference() is None for reference in references] == [True, False]


def test_what_was_not_prepared_is_an_error_and_not_garbage():
    of = geometry((1, 1, 6, 6), (1, 1, 3, 3))
    assert calls.call(Convolution(of, F32, F32))
    result = jax.ShapeDtypeStruct(of.y, F32)
    key = np.array(Convolution(of, F32, F32).key)
    key[4:6] = 77
    run = jax.jit(lambda *arrays: jax.ffi.ffi_call(calls.TARGET, result)(*arrays, key=key))
    with pytest.raises(jax.errors.JaxRuntimeError, match="oneDNN could not compute a part"):
        run(*operands(of)).block_until_ready()


def test_the_machine_code_is_that_of_the_source():
    if not all(map(shutil.which, ("gcc", "objdump", "objcopy", "nm"))):
        pytest.skip("there is no compiler here")
    build = pytest.importorskip("torchlike.engine.onednn.build")  # wheels leave it out
    code, entries = build.compiled()
    if build.version() != handler_code.COMPILER:
        pytest.skip("another compiler makes other code")
    assert (code, entries) == (handler_code.CODE, handler_code.ENTRIES)


def in_process(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=50, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


STEP = """
import torchlike as torch
from torchlike import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 2, 3, padding=1), nn.Flatten(), nn.Linear(72, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.randn(4, 1, 8, 8)
for _ in range(3):
    optimizer.zero_grad()
    loss = model(data).square().mean()
    loss.backward()
    optimizer.step()
"""


def test_programs_from_disk_find_what_they_call(tmp_path):
    code = STEP + "report = torch.explain()\nprint(f'{loss.item():.6f}', report.loads > 0)"
    settings = {"TORCHLIKE_COMPILE": "now", "TORCHLIKE_CACHE_DIR": str(tmp_path), "JAX_COMPILATION_CACHE_DIR": ""}
    first, second = in_process(code, **settings), in_process(code, **settings)
    assert first.endswith("False") and second.endswith("True") and first.split()[0] == second.split()[0]
    assert calls.TARGET.encode() in b"".join(entry.read_bytes() for entry in tmp_path.glob("programs/*"))
    without = in_process(code, **{**settings, library.VARIABLE: "0"})
    assert without.endswith("False") and abs(float(without.split()[0]) - float(first.split()[0])) < 1e-5


def test_a_process_may_end_while_it_computes():
    code = (
        STEP.replace("range(3)", "range(8)")
        + """
import atexit
print(atexit.register(lambda: print(torch.conv2d(data, torch.ones(1, 1, 8, 8)).isfinite().all().item())) is None)
"""
    )
    for _ in range(2):
        assert in_process(code, TORCHLIKE_COMPILE="now") == "False\nTrue"


CONVOLUTION = """
from torchlike.engine.geometry import Geometry
g = Geometry("y", (1, 1, 4, 4), (1, 1, 3, 3), (1, 1, 2, 2), (1, 1), (0, 0), (1, 1), 1)
def compute():
    ones = np.ones((1, 1, 4, 4), np.float32), np.ones((1, 1, 3, 3), np.float32)
    return onednn.compute_arrays(onednn.Convolution(g, np.dtype(np.float32), np.dtype(np.float32)), ones)[0].sum()
"""
# Its pieces are computed by several of OpenMP's threads, which a forked process does not have.
LSTM = """
of = onednn.lstm_of("inference", (1, 32, 1), 1, False, 2)
def compute():
    ones = [np.ones(shape, np.float32) for shape in of.operands]
    return 36 * np.isclose(onednn.compute_arrays(of, ones)[2].sum(), 32 * (1 + np.tanh(3)) / (1 + np.exp(-3))).item()
"""


@pytest.mark.parametrize("computation", [CONVOLUTION, LSTM], ids=["convolution", "LSTM"])
def test_a_forked_process_computes(computation):
    code = f"""
import os
from torchlike.engine import onednn
import numpy as np
{computation}
before = compute()
child = os.fork()
if child == 0:
    os._exit(0 if compute() == 36.0 else 1)
print(before, os.waitpid(child, 0)[1], compute())
"""
    assert in_process(code).replace(".0", "") == "36 0 36"
