"""Datasets, samplers and loaders (``torch.utils.data``)."""

from .collate import default_collate as default_collate, default_convert as default_convert
from .dataloader import DataLoader as DataLoader
from .datapipes.datapipe import (
    IterDataPipe as IterDataPipe,
    MapDataPipe as MapDataPipe,
    functional_datapipe as functional_datapipe,
)
from .dataset import (
    ChainDataset as ChainDataset,
    ConcatDataset as ConcatDataset,
    Dataset as Dataset,
    IterableDataset as IterableDataset,
    StackDataset as StackDataset,
    Subset as Subset,
    TensorDataset as TensorDataset,
    random_split as random_split,
)
from .distributed import DistributedSampler as DistributedSampler
from .sampler import (
    BatchSampler as BatchSampler,
    RandomSampler as RandomSampler,
    Sampler as Sampler,
    SequentialSampler as SequentialSampler,
    SubsetRandomSampler as SubsetRandomSampler,
    WeightedRandomSampler as WeightedRandomSampler,
)
from .worker_info import get_worker_info as get_worker_info
