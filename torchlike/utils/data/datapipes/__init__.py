"""torch.utils.data.datapipes: datasets that are chained to pipelines."""

from . import iter as iter, map as map
from .datapipe import (
    IterDataPipe as IterDataPipe,
    MapDataPipe as MapDataPipe,
    functional_datapipe as functional_datapipe,
)
