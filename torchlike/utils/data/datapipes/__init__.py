"""torch.utils.data.datapipes: datasets that are chained to pipelines."""

from . import iter as iter
from .datapipe import IterDataPipe as IterDataPipe, functional_datapipe as functional_datapipe
