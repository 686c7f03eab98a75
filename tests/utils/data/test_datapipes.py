"""Pipes of samples: their order, several at a time, and what they do to columns. The values are PyTorch's."""

import pytest

import torchlike as torch
from torchlike.utils.data import DataLoader
from torchlike.utils.data.datapipes.iter import IterableWrapper as Pipe, Sampler
from torchlike.utils.data.datapipes.map import SequenceWrapper as Sequence
from torchlike.utils.data.graph import traverse_dps
from torchlike.utils.data.graph_settings import get_all_graph_pipes


def test_shuffle_draws_pytorchs_order():
    torch.manual_seed(0)
    pipe = Pipe(range(10)).shuffle(buffer_size=3)
    assert list(pipe) == [0, 1, 3, 5, 2, 4, 6, 8, 9, 7]
    assert list(pipe) == [0, 3, 1, 5, 6, 7, 8, 4, 2, 9]
    assert list(pipe.set_seed(7)) == [1, 0, 3, 2, 4, 7, 6, 8, 9, 5] and len(pipe) == 10
    assert list(Pipe(range(10)).shuffle().set_seed(7)) == [5, 2, 8, 7, 0, 1, 3, 6, 4, 9]
    assert list(Pipe([1, 2]).shuffle().set_shuffle(False)) == [1, 2]
    with pytest.raises(AssertionError, match="buffer_size should be larger than 0"):
        Pipe([1]).shuffle(buffer_size=0)


def test_lists_are_unpacked():
    nested = [[1, 2], [3, [4]]]
    assert list(Pipe(nested).unbatch()) == [1, 2, 3, [4]]
    assert list(Pipe(nested).unbatch(unbatch_level=-1)) == [1, 2, 3, 4]
    assert sorted(Pipe(nested).shuffle(unbatch_level=-1)) == [1, 2, 3, 4]
    with pytest.raises(IndexError, match="unbatch_level 2 exceeds the depth of the DataPipe"):
        list(Pipe([[1]]).unbatch(unbatch_level=2))


def test_several_pipes():
    assert list(Pipe(range(3)).concat(Pipe("ab"))) == [0, 1, 2, "a", "b"]
    assert list(Pipe(range(9)).mux(Pipe("abc"))) == [0, "a", 1, "b", 2, "c"]
    first, second = Pipe(range(4)).fork(2)
    assert list(first) == list(second) == list(first) == [0, 1, 2, 3]
    assert [list(each) for each in Pipe(range(5)).demux(2, lambda x: x % 2)] == [[0, 2, 4], [1, 3]]
    parts = Pipe(range(5)).demux(2, lambda x: None if x == 3 else x % 2, drop_none=True)
    assert [list(each) for each in parts] == [[0, 2, 4], [1]]
    with pytest.raises(BufferError):
        list(Pipe(range(5)).fork(2, buffer_size=2)[0])
    with pytest.raises(ValueError, match="should be between 0 and 1"):
        list(Pipe(range(5)).demux(2, lambda x: x)[0])


def test_groups():
    words = Pipe(["a1", "b1", "a2", "b2", "a3"])
    assert list(words.groupby(lambda x: x[0])) == [["a1", "a2", "a3"], ["b1", "b2"]]
    assert list(words.groupby(lambda x: x[0], group_size=2)) == [["a1", "a2"], ["b1", "b2"], ["a3"]]
    assert next(iter(words.groupby(lambda x: x[0], buffer_size=3, keep_key=True))) == ("a", ["a1", "a2"])


def test_columns_and_workers():
    pairs = Pipe([(1, 2), (3, 4)])
    assert list(pairs.map(lambda a: a + 1, input_col=0)) == [(2, 2), (4, 4)]
    assert list(pairs.map(lambda a, b: a + b, input_col=[0, 1], output_col=-1)) == [(1, 2, 3), (3, 4, 7)]
    assert list(pairs.filter(lambda a: a > 1, input_col=0)) == [(3, 4)]
    assert list(Pipe([{"a": 1}]).map(lambda a: a + 1, input_col="a", output_col="b")) == [{"a": 1, "b": 2}]
    shard = Pipe(range(5)).sharding_filter()
    assert list(shard) == [0, 1, 2, 3, 4]
    shard.apply_sharding(2, 1)
    assert list(shard) == [1, 3] and len(shard) == 2
    assert list(Sampler(range(3))) == [0, 1, 2]


def test_indexed_pipes():
    pipe = Sequence(range(7)).map(lambda x: x + 1)
    assert pipe[2] == 3 and len(pipe) == 7 and repr(pipe) == "MapperMapDataPipe"
    batches = pipe.batch(3)
    assert [batches[i] for i in range(len(batches))] == [[1, 2, 3], [4, 5, 6], [7]]
    assert list(pipe.batch(3, drop_last=True)) == [[1, 2, 3], [4, 5, 6]]
    assert list(pipe.zip(Sequence("ab"))) == [(1, "a"), (2, "b")]
    assert list(Sequence("ab").concat(Sequence([3]))) == ["a", "b", 3]
    assert list(pipe.shuffle().set_seed(1)) == [4, 7, 6, 3, 1, 5, 2]
    assert Sequence({"a": 1})["a"] == 1
    with pytest.raises(IndexError, match="Index 9 is out of bound"):
        batches[9]
    with pytest.raises(TypeError, match="Expected all inputs to be `MapDataPipe`"):
        pipe.concat([1])


@pytest.mark.filterwarnings("ignore:`shuffle=True` was set")
def test_a_loader_shuffles_pipes_in_pytorchs_order():
    torch.manual_seed(3)
    pipe = Pipe(range(10)).shuffle().sharding_filter()
    loader = DataLoader(pipe, 5, num_workers=2, persistent_workers=True)
    assert _read(loader) == [[1, 9, 0, 6, 3], [2, 7, 8, 5, 4]]
    assert _read(loader) == [[1, 7, 4, 2, 6], [3, 5, 9, 8, 0]]
    assert _read(DataLoader(pipe, 10, shuffle=False)) == [list(range(10))]
    assert _read(DataLoader(pipe, 5, shuffle=True)) != [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    assert sorted(_read(DataLoader(Pipe(range(10)), 10, shuffle=True))[0]) == list(range(10))


def test_workers_share_the_samples_of_a_pipe():
    pipe = Pipe(range(6)).sharding_filter()
    assert _read(DataLoader(pipe, 3, num_workers=2)) == [[0, 2, 4], [1, 3, 5]]
    assert list(pipe) == list(range(6))
    with pytest.raises(RuntimeError, match="Sharding twice on a single pipeline"):
        iter(DataLoader(pipe.sharding_filter(), 2))


def test_the_pipes_behind_a_pipe():
    source = Pipe(range(4))
    first, second = source.fork(2)
    joined = first.zip(second)
    pipes = get_all_graph_pipes(traverse_dps(joined))
    assert pipes[0] is joined and [sum(each is pipe for each in pipes) for pipe in (first, second, source)] == [1, 1, 1]
    with pytest.raises(RuntimeError, match="Expected `IterDataPipe` or `MapDataPipe`"):
        traverse_dps([1])


def _read(loader):
    return [batch.tolist() for batch in loader]
