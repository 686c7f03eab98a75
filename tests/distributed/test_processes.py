"""In two and four processes, collectives, groups, messages and training give the results of PyTorch with Gloo."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.distributed.processes import Processes
from tests.distributed.rows import OF_FOUR, OF_TWO, ROWS

pytestmark = pytest.mark.recorded


@pytest.fixture(scope="module", params=[2, 4])
def world(request: pytest.FixtureRequest) -> Iterator[Processes]:
    processes = Processes(request.param)
    yield processes
    processes.close()


def close(mine: Any, theirs: Any) -> bool:
    """Compares values, and numbers to six digits."""
    if isinstance(theirs, dict):
        return mine.keys() == theirs.keys() and all(close(mine[key], theirs[key]) for key in theirs)
    if isinstance(theirs, (list, tuple)):
        return len(mine) == len(theirs) and all(map(close, mine, theirs))
    if isinstance(theirs, float):
        return mine == pytest.approx(theirs, rel=2e-6, abs=2e-6)
    return mine == theirs


def words(thing: Any) -> Any:
    """Converts a value to what JSON returns."""
    if isinstance(thing, dict):
        return {str(key): words(value) for key, value in thing.items()}
    return [words(each) for each in thing] if isinstance(thing, (list, tuple)) else thing


@pytest.mark.costly
@pytest.mark.parametrize("row", ROWS)
def test_processes_together_give_what_pytorchs_give(world: Processes, row: str, golden: Any) -> None:
    if row in (OF_TWO if len(world.members) == 4 else OF_FOUR):
        pytest.skip("the other number of processes says it")
    name, *arguments = ROWS[row]
    mine = words(world.run(name, *arguments))
    theirs = golden("distributed")[f"{len(world.members)}/{row}"]
    for rank, (answer, expected) in enumerate(zip(mine, theirs, strict=True)):
        for key in expected:
            assert close(answer[key], expected[key]), f"rank {rank}, {key}: {answer[key]} instead of {expected[key]}"


# ---- calls that PyTorch's Gloo does not have


def test_strided_stacked_and_uneven_tensors_are_exchanged(world: Processes) -> None:
    size = len(world.members)
    for rank, got in enumerate(world.run("beyond_gloo")):
        assert got["strided"] == [size * (size + 1) / 2] * 4
        assert got["stacked"] == [[float(n)] * 2 for n in range(size)]
        assert got["all_to_all"] == [[10.0 * n + rank] * (1 + (n + rank) % 2) for n in range(size)]


def test_gradients_flow_through_collectives(world: Processes) -> None:
    size = len(world.members)
    total = size * (size + 1) / 2  # the sums of 1, 2, ...: the elements of the inputs, and the weights of the losses
    for rank, got in enumerate(world.run("differentiable")):
        one = rank + 1.0
        assert got == {
            "all_reduce": (2 * total, 2 * total),
            "broadcast": (4.0, 2 * total if rank == 1 else 0.0),
            "all_gather": (2 * total, 2 * total),
            "reduce_scatter": (2 * total, 2 * total),
            "all_to_all_single": (total, total),
            "reduce": (2 * total if rank == 0 else 2 * one, 2.0),
        }


def test_gradients_are_exchanged_in_bfloat16(world: Processes) -> None:
    for full, half, wrapped in world.run("hooks_in_bfloat16"):
        assert half == pytest.approx(full, abs=0.01) and half != full
        assert wrapped == pytest.approx(half, abs=1e-3)


def test_synchronised_batch_norm_is_that_of_the_whole_batch(world: Processes) -> None:
    for losses, states in world.run("sync_batch_norm"):
        assert all(whole == pytest.approx(parts, rel=1e-5, abs=1e-6) for whole, parts in losses), losses
        assert all(whole == pytest.approx(parts, rel=1e-4, abs=1e-5) for whole, parts in states), states


def test_a_hundred_rank_dependent_reads_change_nothing(world: Processes) -> None:
    steps = 100 // len(world.members)
    for with_reads, without in zip(world.run("random_reads", steps), world.run("random_reads", -steps), strict=True):
        assert with_reads == pytest.approx(without, rel=2e-5, abs=1e-6)


def test_a_step_has_one_exchange_and_compiles_nothing_after_its_third_round(world: Processes) -> None:
    for exchanges, compiled, hot, slow in world.run("exchanges_of_a_step"):
        assert exchanges and set(exchanges) == {1}
        assert compiled == 0 and hot >= 8
        assert slow == 0  # each gradient is copied to its place in the bucket


def test_several_buckets_and_a_static_graph_change_nothing(world: Processes) -> None:
    for (one, losses), *others in world.run("buckets"):
        assert one == 1 and [count for count, _ in others] == [4, 4]
        assert all(other == pytest.approx(losses, rel=1e-6) for _, other in others)


# The first layer needs no weight for its backward pass, so it is not gathered again.
@pytest.mark.parametrize(("strategy", "gathered"), [("FULL_SHARD", 5), ("SHARD_GRAD_OP", 3)])
def test_each_unit_is_gathered_and_its_gradients_are_scattered_in_one_exchange(
    world: Processes, strategy: str, gathered: int
) -> None:
    size = len(world.members)
    for got in world.run("fully_sharded_exchanges", strategy):
        assert got["exchanges"] == [{"all-gather": gathered, "all-reduce": 0, "reduce-scatter": 3}]
        assert got["compiled"] == 0 and got["hot"] >= 8
        assert got["parameters"] == pytest.approx(got["whole"] / size, rel=0.02)
        assert got["state"] == 2 * got["parameters"]


def test_units_in_mixed_precision_keep_their_parameters(world: Processes) -> None:
    for got in world.run("fully_sharded_in_bfloat16"):
        assert got["seen"] == ["torch.bfloat16", "torch.float32"]
        assert 0 < got["apart"] < 0.02, got["losses"]


@pytest.mark.parametrize(("reshard", "gathered"), [(True, 5), (False, 3)])
def test_fully_shard_gathers_and_scatters_each_unit_once(world: Processes, reshard: bool, gathered: int) -> None:
    answers = world.run("exchanges_of_fully_shard", reshard)
    for got in answers:
        # What a process has done before decides into how many programs a step is divided.
        found = sum(map(Counter, got["exchanges"]), Counter())
        assert found == {"all-gather": gathered, "reduce-scatter": 3}  # and no all-reduce
        assert got["compiled"] == 0 and got["hot"] >= 8
        assert got["state"] == 2 * got["parameters"]
    assert sum(got["parameters"] for got in answers) == answers[0]["whole"]


def test_fully_shard_in_mixed_precision_keeps_the_parameters(world: Processes) -> None:
    for got in world.run("fully_shard_in_bfloat16"):
        assert got["seen"] == ["torch.float32", "torch.bfloat16"]
        assert 0 < got["apart"] < 0.02


def test_functions_of_pieces_give_what_they_give_for_whole_tensors(world: Processes) -> None:
    for failed in world.run("besides"):
        assert not failed


def test_initialisers_draw_whole_tensors_and_give_each_process_its_part(world: Processes) -> None:
    for differing in world.run("drawn"):
        assert not differing


def test_what_needs_the_elements_of_other_processes_is_refused_by_name(world: Processes) -> None:
    for got in world.run("refused_of_pieces"):
        for name, words in got.items():
            assert re.fullmatch(r"NotImplementedError: torchlike does not support .* yet.*", words or ""), (name, words)
