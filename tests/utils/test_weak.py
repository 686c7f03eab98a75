"""Dictionaries with keys by identity, which go with their keys."""

import gc

import torchlike as torch
from torchlike.utils.weak import TensorWeakRef, WeakIdKeyDictionary, WeakTensorKeyDictionary


def test_entries_go_with_their_keys():
    table, key, other = WeakTensorKeyDictionary(), torch.ones(2), torch.ones(2)
    table[key] = 5
    assert table[key] == 5 and key in table and other not in table and 3 not in table and list(table) == [key]
    copied = table.copy()
    reference = TensorWeakRef(key)
    assert reference() is key
    del key
    gc.collect()
    assert len(table) == len(copied) == 0 and reference() is None


def test_keys_are_equal_by_identity():
    layer = torch.nn.Linear(1, 1)
    table = WeakIdKeyDictionary({layer: "a"})
    table[layer] = "b"
    assert len(table) == 1 and table.get(layer) == "b" and table.get(torch.nn.Linear(1, 1)) is None
    del table[layer]
    assert not table
