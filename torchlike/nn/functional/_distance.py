"""Distances between vectors."""

from __future__ import annotations

from ...ops.distance import cosine_similarity as cosine_similarity, pairwise_distance as pairwise_distance
from ...ops.pair_distances import pdist as pdist

__all__ = ["cosine_similarity", "pairwise_distance", "pdist"]
