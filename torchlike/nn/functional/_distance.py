"""Distances between vectors."""

from __future__ import annotations

from ...ops.linalg.pair_distances import pdist as pdist
from ...ops.nn.distance import cosine_similarity as cosine_similarity, pairwise_distance as pairwise_distance

__all__ = ["cosine_similarity", "pairwise_distance", "pdist"]
