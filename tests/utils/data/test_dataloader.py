"""DataLoader and datasets: fast paths give the results of the general ones; warnings; attributes that must not be set."""

import pickle
import warnings

import numpy as np
import pytest

import torchlike as torch
from torchlike.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    default_collate,
    random_split,
)
from torchlike.utils.data.collate import collate, default_collate_fn_map


class OneByOne(Dataset):
    """A dataset of an unknown class, which can only be read sample by sample."""

    def __init__(self, data):
        self.data = data

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        return self.data[index]


def plain(batches):
    return [[(part.tolist(), part.dtype) for part in batch] for batch in batches]


X = np.arange(60, dtype=np.float32).reshape(10, 2, 3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: (torch.tensor(X.tolist()), torch.tensor(list(range(10)))),
        lambda: (torch.from_numpy(X.copy()), torch.from_numpy(np.arange(10))),
        lambda: (torch.tensor(X.tolist())[:, 1], torch.tensor(X.tolist())[:, :, 1:]),
        lambda: (torch.tensor(X.tolist()).transpose(1, 2) * 2, torch.tensor([True, False] * 5)),
        lambda: (torch.tensor(list(range(10)), dtype=torch.bfloat16),),
    ],
    ids=["tensors", "arrays of ones own", "views", "computed", "bfloat16"],
)
@pytest.mark.parametrize("pick", [None, [9, 0, 3, -1]])
def test_a_tensor_dataset_gives_in_batches_what_it_gives_one_by_one(make, pick):
    data = TensorDataset(*make())
    if pick is not None:
        data = Subset(data, pick)
    options = {"batch_size": 3, "sampler": [1, 3, 0, 2]}
    assert plain(DataLoader(data, **options)) == plain(DataLoader(OneByOne(data), **options))


def test_a_tensor_dataset_sees_writes():
    array = np.zeros((4, 2), np.float32)
    tensor = torch.tensor([[0.0], [0.0], [0.0], [0.0]])
    loader = DataLoader(TensorDataset(torch.from_numpy(array), tensor), 4)
    array[1] = 5
    tensor.add_(1)
    first, second = next(iter(loader))
    assert first.tolist() == [[0, 0], [5, 5], [0, 0], [0, 0]]
    assert second.tolist() == [[1.0]] * 4
    array[:] = 7
    assert first.tolist()[1] == [5, 5], "a batch is a copy"


def test_gradients_reach_the_tensors_of_a_dataset():
    weights = torch.tensor([[1.0], [2.0], [3.0]], requires_grad=True)
    (batch,) = next(iter(DataLoader(TensorDataset(weights), sampler=[2, 0], batch_size=2)))
    batch.sum().backward()
    assert weights.grad.tolist() == [[1.0], [0.0], [1.0]]


class Changed(TensorDataset):
    def __getitem__(self, index):
        return [part + 100 for part in super().__getitem__(index)]


class Wrapper:
    """Forwards attributes that it does not have itself, as many wrappers do."""

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return -index


def test_a_changed_dataset_is_asked_sample_by_sample():
    assert next(iter(DataLoader(Changed(torch.tensor([1, 2])), 2)))[0].tolist() == [101, 102]
    assert next(iter(DataLoader(Subset(Changed(torch.tensor([1, 2])), [1]), 2)))[0].tolist() == [102]
    assert next(iter(DataLoader(Wrapper(TensorDataset(torch.tensor([1, 2]))), 2))).tolist() == [0, -1]


def test_getitems_is_asked_for_a_whole_batch():
    class Whole(OneByOne):
        def __getitems__(self, indices):
            return [f"sample {index}" for index in indices]

    assert next(iter(DataLoader(Whole([0] * 4), 3))) == ["sample 0", "sample 1", "sample 2"]


def test_a_row_of_ones_own_in_the_collate_table(monkeypatch):
    def count(batch, *, collate_fn_map=None):
        return len(batch)

    assert collate([{"a": {1}}, {"a": {2}}], collate_fn_map={set: count}) == {"a": 2}
    monkeypatch.setitem(default_collate_fn_map, torch.Tensor, count)
    assert default_collate([torch.tensor(1), torch.tensor(2)]) == 2
    assert next(iter(DataLoader(TensorDataset(torch.tensor([1, 2])), 2))) == [2]


def test_a_batch_is_a_copy():
    sample = torch.tensor([1.0, 2.0])
    batch = default_collate([sample, sample])
    batch.zero_()
    assert sample.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "name", ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"]
)
def test_what_may_not_be_set(name):
    loader = DataLoader(range(4))
    before = getattr(loader, name)
    with pytest.raises(ValueError, match=f"^{name} attribute should not be set after DataLoader is initialized$"):
        setattr(loader, name, 3)
    assert getattr(loader, name) is before


def test_what_may_be_set():
    loader = DataLoader(range(4), batch_size=4)
    loader.collate_fn = sum
    assert list(loader) == [6]


def test_a_loader_can_be_pickled():
    assert len(pickle.loads(pickle.dumps(DataLoader(range(4), 3)))) == 2


def test_more_workers_than_processors_are_warned_of():
    with pytest.warns(
        UserWarning, match="^This DataLoader will create 5000 worker processes in total. Our suggested max"
    ):
        DataLoader(range(3), num_workers=5000)


def test_pinning_without_accelerator_is_warned_of():
    told = (
        "^'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.$"
    )
    with pytest.warns(UserWarning, match=told):
        assert len(list(DataLoader(range(3), pin_memory=True))) == 3


class Five(IterableDataset):
    def __iter__(self):
        return iter(range(5))

    def __len__(self):
        return 4


@pytest.mark.parametrize("workers", [0, 1])
def test_an_iterable_dataset_longer_than_it_said(workers):
    loader = DataLoader(Five(), num_workers=workers)
    assert len(loader) == 4
    with pytest.warns(UserWarning, match="^Length of IterableDataset") as told:
        assert sum(1 for _ in loader) == 5
    (text,) = [str(warning.message) for warning in told if "Length of" in str(warning.message)]
    assert "was reported to be 4(when accessing len(dataloader)), but 5 samples have been fetched. " in text
    assert ("For multiprocessing data-loading" in text) == bool(workers)


def test_no_length_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sum(1 for _ in DataLoader(Five())) == 5


@pytest.mark.parametrize("size", [10, 3])
def test_a_split_without_samples_is_warned_of(size):
    with pytest.warns(UserWarning, match=r"^Length of split at index 1 is 0. This might result in an empty dataset.$"):
        parts = random_split(range(size), [0.99, 0.01])
    assert [len(part) for part in parts] == [size, 0]


def test_an_older_spelling():
    with pytest.warns(FutureWarning, match="`cummulative_sizes` attribute is renamed to `cumulative_sizes`"):
        assert torch.utils.data.ConcatDataset([range(2), range(3)]).cummulative_sizes == [2, 5]


def test_adding_datasets():
    both = OneByOne([1, 2]) + OneByOne([3])
    assert [both[index] for index in range(3)] == [1, 2, 3]
    chained = Five() + Five()
    assert list(chained) == [*range(5), *range(5)]
    assert len(chained) == 8
