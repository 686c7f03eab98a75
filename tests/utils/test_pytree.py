"""torch.utils._pytree: trees of nested containers. The messages and texts are those of PyTorch 2.13."""

import copy
import enum
import pickle
import re
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass
from typing import Any

import pytest

import torchlike as torch
import torchlike.utils._pytree as pytree

pytestmark = pytest.mark.recorded

Point = namedtuple("Point", "x y")
Other = namedtuple("Other", "x y")


def tree():
    return {
        "b": [1, (2, None)],
        "a": OrderedDict(z=Point(1, 2)),
        "c": defaultdict(list, {"k": deque([1, 2], maxlen=3)}),
    }


TEXT = """TreeSpec(dict, ['b', 'a', 'c'], [TreeSpec(list, None, [*,
    TreeSpec(tuple, None, [*,
      *])]),
  TreeSpec(OrderedDict, ['z'], [TreeSpec(namedtuple, <class 'tests.utils.test_pytree.Point'>, [*,
      *])]),
  TreeSpec(defaultdict, [<class 'list'>, ['k']], [TreeSpec(deque, 3, [*,
      *])])])"""


class Box:
    def __init__(self, items, label=0):
        self.items, self.label = items, label

    def __repr__(self):
        return f"Box({self.items})"


@pytest.fixture
def box():
    keys: list[Any] = [pytree.SequenceKey(i) for i in range(3)]
    pytree.register_pytree_node(
        Box,
        lambda b: (list(b.items), b.label),
        lambda items, label: Box(list(items), label),
        serialized_type_name="tests.Box",
        to_dumpable_context=lambda label: {"label": label},
        from_dumpable_context=lambda dumped: dumped["label"],
        flatten_with_keys_fn=lambda b: ([(keys[i], x) for i, x in enumerate(b.items)], b.label),
    )
    yield Box
    pytree._deregister_pytree_node(Box)


def test_a_tree_is_taken_apart_and_put_together():
    leaves, spec = pytree.tree_flatten(tree())
    assert leaves == [1, 2, None, 1, 2, 1, 2]
    assert (spec.num_nodes, spec.num_leaves, spec.num_children, spec.type) == (14, 7, 3, dict)
    assert repr(spec) == TEXT
    assert pytree.tree_unflatten(leaves, spec) == tree()
    assert pytree.tree_unflatten(iter(leaves), spec)["c"]["k"].maxlen == 3
    assert pickle.loads(pickle.dumps(spec)) == spec == copy.deepcopy(spec)


def test_structures_are_compared_by_kind_context_and_order_of_keys():
    assert pytree.tree_structure([1]) == pytree.tree_structure(["x"])
    assert hash(pytree.tree_structure({"a": 1})) == hash(pytree.tree_structure({"a": 2}))
    assert pytree.tree_structure([1]) != pytree.tree_structure((1,))
    assert pytree.tree_structure({"b": 1, "a": 2}) != pytree.tree_structure({"a": 1, "b": 2})
    assert pytree.tree_structure(3).is_leaf() and not pytree.tree_structure([]).is_leaf()
    with pytest.warns(FutureWarning, match="LeafSpec"):
        assert pytree.LeafSpec() == pytree.tree_structure(3)
    assert isinstance(pytree.tree_structure(3), pytree.LeafSpec)


def test_what_is_no_container_of_pythons_own_is_a_leaf():
    class Dictionary(dict):
        pass

    class Row(tuple):
        pass

    for leaf in (None, "ab", {1}, Dictionary(a=1), Row((1,)), slice(1)):
        assert pytree.tree_is_leaf(leaf)
        assert pytree.tree_leaves(leaf) == [leaf]
    assert pytree.tree_structure(torch.Size([1])).type is torch.Size
    found = pytree.tree_map(lambda x: x * 0, torch.ones(2, 2).max(0))
    assert type(found) is torch.return_types.max and found.indices.tolist() == [0, 0]
    assert pytree.is_structseq(found) and not pytree.is_namedtuple(found)
    assert pytree.is_namedtuple(Point) and pytree.is_namedtuple_instance(Point(1, 2))


def test_functions_are_mapped_over_several_trees():
    assert pytree.tree_map(lambda x, y: (x, y), [1, 2], [1, [2, 3]]) == [(1, 1), (2, [2, 3])]
    assert pytree.tree_map(lambda x, y: x + y, {"a": 1, "b": 2}, OrderedDict(b=3, a=4)) == {"a": 5, "b": 5}
    assert pytree.tree_map_only((int, str), lambda x: x * 2, [1, "a", 2.0]) == [2, "aa", 2.0]
    assert pytree.tree_map_only(lambda x: x == 1, lambda x: 5, [1, 2]) == [5, 2]
    seen = []
    given = [[1], "a"]
    assert pytree.tree_map_only_(int, seen.append, given) is given
    assert seen == [1]
    assert pytree.tree_all_only(int, lambda x: x > 0, [1, "a"]) and pytree.tree_all(bool, [])
    assert pytree.tree_any_only(int, lambda x: x > 0, [1, "a"]) and not pytree.tree_any(bool, [0])
    assert pytree.tree_map(str, [1, [2, 3]], is_leaf=lambda x: x == [2, 3]) == ["1", "[2, 3]"]
    assert pytree.arg_tree_leaves(1, [2], a=(3,)) == [1, 2, 3]


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        ([1, 2], [1], "Node arity mismatch; expected 2, but got 1."),
        ([1, 2], (1, 2), "Node type mismatch; expected <class 'list'>, but got <class 'tuple'>."),
        ([1, [2]], [1, 2], "Node type mismatch; expected <class 'list'>, but got <class 'int'>."),
        ({"a": 1}, {"b": 2}, "Node keys mismatch; missing key(s): {'a'}; extra key(s): {'b'}."),
        ({"a": 1}, [2], "Node type mismatch; expected <class 'dict'>, but got <class 'list'>."),
        (Point(1, 2), Other(1, 2), f"expected {Point!r}, but got {Other!r}."),
    ],
)
def test_trees_that_differ_are_refused_in_pytorchs_words(left, right, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        pytree.tree_map(lambda x, y: x, left, right)


def test_the_wrong_number_of_leaves_is_refused():
    spec = pytree.tree_structure([1, 2])
    words = "treespec.unflatten(leaves): `leaves` has length 1 but the spec refers to a pytree that holds 2 items (TreeSpec(list, None, [*,"
    with pytest.raises(ValueError, match=re.escape(words)):
        spec.unflatten([1])
    with pytest.raises(
        TypeError, match="Expected `treespec` to be an instance of PyTreeSpec but got item of type <class 'int'>"
    ):
        pytree.tree_unflatten([1], 3)  # pyright: ignore[reportArgumentType]


def test_a_class_of_the_users_is_a_node_once_it_is_registered(box):
    assert pytree.tree_map(lambda x, y: x + y, box([1, [2]]), box([1, [3]])).items == [2, [5]]
    with pytest.raises(ValueError, match="is already registered as pytree node"):
        pytree.register_pytree_node(box, lambda b: ([], None), lambda items, _: box(items))
    with pytest.raises(ValueError, match="is already registered as pytree node"):
        pytree.register_pytree_node(list, lambda b: (b, None), lambda items, _: items)
    with pytest.raises(ValueError, match="Node context mismatch for custom node type"):
        pytree.tree_map(lambda x, y: x, box([1]), box([1], 5))
    spec = pytree.tree_structure(box([1], 4))
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    assert pytree.tree_leaves_with_path(box([3]))[0] == ((pytree.SequenceKey(0),), 3)


def test_paths_lead_to_leaves():
    pairs = pytree.tree_leaves_with_path(tree())
    assert [pytree.keystr(path) for path, _ in pairs] == [
        "['b'][0]", "['b'][1][0]", "['b'][1][1]", "['a']['z'].x", "['a']['z'].y", "['c']['k'][0]", "['c']['k'][1]",
    ]  # fmt: skip
    assert [pytree.key_get(tree(), path) for path, _ in pairs] == pytree.tree_leaves(tree())
    found = pytree.tree_map_with_path(lambda path, x: (pytree.keystr(path), x), [1, {"a": 2}])
    assert found == [("[0]", 1), {"a": ("[1]['a']", 2)}]


class Colour(enum.Enum):
    RED = 1


def test_structures_are_written_in_pytorchs_format():
    spec = pytree.tree_structure({"a": [1, (2,)], "b": deque([3], maxlen=2)})
    text = pytree.treespec_dumps(spec)
    leaf = '{"type": null, "context": null, "children_spec": []}'
    assert text == (
        '[1, {"type": "builtins.dict", "context": "[\\"a\\", \\"b\\"]", "children_spec": [{"type": "builtins.list", "context": "null", '
        f'"children_spec": [{leaf}, {{"type": "builtins.tuple", "context": "null", "children_spec": [{leaf}]}}]}}, '
        f'{{"type": "collections.deque", "context": "2", "children_spec": [{leaf}]}}]}}]'
    )
    assert pytree.treespec_loads(text) == spec
    others = [OrderedDict(a=1), defaultdict(list, a=[1]), {Colour.RED: 1}, torch.Size([1]), 3]
    for spec in map(pytree.tree_structure, others):
        assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    with pytest.raises(NotImplementedError, match="because we didn't register a serializated_type_name"):
        pytree.treespec_dumps(pytree.tree_structure(Other(1, 2)))
    with pytest.raises(ValueError, match=re.escape("Unknown protocol 7. Available protocols: [1]")):
        pytree.treespec_dumps(pytree.tree_structure(1), 7)
    assert pytree.treespec_pprint(pytree.tree_structure([1, {"a": 2}])) == "[*, {'a': *}]"


@dataclass
class Pair:
    first: object
    second: object = None


@dataclass(frozen=True)
class Setting:
    value: int


def test_dataclasses_and_constants():
    pytree.register_dataclass(Pair)
    assert pytree.tree_map(lambda x: x + 1, Pair(1, [2])) == Pair(2, [3])
    assert pytree.tree_map(lambda x: x + 1, Pair(1)) == Pair(2)
    assert pytree.tree_leaves_with_path(Pair(1, 2))[1][0] == (pytree.GetAttrKey("second"),)
    with pytest.raises(ValueError, match="Unexpected fields in `field_names`: {'third'}"):
        pytree.register_dataclass(Pair, field_names=["first", "second", "third"])
    pytree.register_constant(Setting)
    leaves, spec = pytree.tree_flatten([Setting(1), 2])
    assert leaves == [2]
    assert spec != pytree.tree_structure([Setting(2), 2]) and pytree.is_constant_class(Setting)
    with pytest.raises(TypeError, match="expects `cls` to have a non-default `__eq__` implementation"):
        pytree.register_constant(Box)


def test_a_short_tree_is_spread_over_a_longer_one():
    spread = pytree._broadcast_to_and_flatten
    assert spread([1, 2], pytree.tree_structure([[1, 2], 3])) == [1, 1, 2]
    assert spread([1, 2], pytree.tree_structure([1, 2, 3])) is None
    assert spread(7, pytree.tree_structure({"a": 1, "b": 2})) == [7, 7]


def test_vmap_and_grad_take_registered_classes(box):
    result = torch.vmap(lambda b: b.items[0] + b.items[1])(box([torch.ones(3), torch.arange(3)]))
    assert result.tolist() == [1.0, 2.0, 3.0]
    grads = torch.func.grad(lambda b: (b.items[0] ** 2).sum())(box([torch.tensor([1.0, 2.0])]))
    assert grads.items[0].tolist() == [2.0, 4.0]


def test_former_names_warn():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        spec = pytree.tree_structure([1])
        assert pytree.str_to_pytree(pytree.pytree_to_str(spec)) == spec
        assert pytree._is_leaf(3) and spec.children_specs == [pytree.tree_structure(1)]
    assert {w.category for w in caught} == {FutureWarning}
    assert len(caught) == 4
