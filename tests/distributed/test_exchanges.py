"""What eight devices of one process keep and exchange in a step of a Transformer: what a calculation by hand says, and nothing else."""

from collections import Counter
from typing import Any

import pytest

from benchmarks import sharded
from benchmarks.sharded import Exchange
from tests.distributed.test_fully_shard import programs
from torchlike.engine.described import exchanges_in

pytestmark = pytest.mark.recorded

SIZES = {"CHIPS": 8, "TENSOR_PARALLEL": 2, "WIDTH": 32, "HEADS": 4, "TOKENS": 8, "BLOCKS": 2, "BATCH": 16}


def of_any_dtype(exchanges: Counter[Exchange]) -> Counter[Exchange]:
    """The exchanges without dtypes: on CPUs XLA exchanges arrays of half types in float32."""
    found: Counter[Exchange] = Counter()
    for each, count in exchanges.items():
        found[each._replace(dtype="", whole=0)] += count
    return found


@pytest.mark.parametrize("layout", sharded.LAYOUTS)
def test_a_step_keeps_and_exchanges_what_its_layout_says(layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SIZES.items():
        monkeypatch.setattr(sharded, name, value)
    before: list[Any] = programs()
    sharded.train(layout, "cpu")
    (program,) = [each for each in programs() if all(each is not other for other in before)]
    found = of_any_dtype(sharded.array_by_array(exchanges_in(program.hlo())))
    assert found == of_any_dtype(sharded.exchanges_by_hand(layout))
    memory: Any = program._compiled.memory_analysis()
    numbers = 2**11  # of which there are copies: counts of steps, the learning rate, the loss
    by_hand = sharded.memory_by_hand(layout)
    assert by_hand <= memory.argument_size_in_bytes < by_hand + numbers
    assert memory.output_size_in_bytes - memory.alias_size_in_bytes < numbers


def test_exchanges_are_read_from_the_text_of_a_program() -> None:
    text = """
%all-reduce-scatter.8 (input_0: bf16[128,1024], input_1: f32[8]) -> (bf16[16,1024], f32[1]) {
  %all-reduce.36 = (bf16[128,1024]{1,0:T(8,128)(2,1)}, f32[8]{0}) all-reduce(%input_0, %input_1), channel_id=1
}

ENTRY %main (p: f32[4]) -> f32[32] {
  %all-gather-start = (f32[4]{0}, f32[32]{0}) all-gather-start(%p), dimensions={0}
  %all-gather-done = f32[32]{0} all-gather-done(%all-gather-start)
  ROOT %all-reduce.1 = (f32[]{:T(128)}, /*index=1*/f32[1024]{0}) all-reduce(%a, %b), to_apply=%add
}
"""
    assert exchanges_in(text) == [
        ("reduce-scatter", ["bf16[16,1024]", "f32[1]"]),
        ("all-gather", ["f32[32]"]),
        ("all-reduce", ["f32[]", "f32[1024]"]),
    ]
