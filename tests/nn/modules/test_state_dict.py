"""state_dict and load_state_dict: names, messages, hooks, metadata, assignment."""

import pickle
import weakref
from typing import Any

import pytest

import torchlike as torch
from torchlike import nn


def pair():
    return nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))


def test_a_state_dict_is_cut_off_from_the_graph_but_not_from_memory():
    model = pair()
    state = model.state_dict()
    assert list(state) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert not state["0.weight"].requires_grad
    assert model.state_dict(keep_vars=True)["0.weight"] is model[0].weight
    state["0.bias"].fill_(3.0)
    assert model[0].bias.tolist() == [3.0, 3.0, 3.0]
    assert next(iter(model.state_dict(prefix="x."))) == "x.0.weight"
    assert nn.BatchNorm1d(2).state_dict()._metadata == {"": {"version": 2}}  # pyright: ignore[reportAttributeAccessIssue]


def test_all_that_does_not_fit_is_said_at_once_and_the_rest_is_loaded():
    model = pair()
    with pytest.raises(RuntimeError) as caught:
        model.load_state_dict(
            {"0.weight": torch.ones(2, 2), "foo": torch.ones(1), "0.bias": 4, "1.bias": torch.ones(2)}
        )
    assert str(caught.value) == (
        "Error(s) in loading state_dict for Sequential:\n"
        '\tMissing key(s) in state_dict: "1.weight". \n'
        '\tUnexpected key(s) in state_dict: "foo". \n'
        "\tsize mismatch for 0.weight: copying a param with shape torch.Size([2, 2]) from checkpoint, the shape in current model "
        "is torch.Size([3, 2]).\n"
        '\tWhile copying the parameter named "0.bias", expected torch.Tensor or Tensor-like object from checkpoint but received '
        "<class 'int'>"
    )
    assert model[1].bias.tolist() == [1.0, 1.0]


def test_without_strict_the_names_are_returned():
    result = pair().load_state_dict({"0.weight": torch.ones(3, 2), "foo": torch.ones(1)}, strict=False)
    assert result.missing_keys == ["0.bias", "1.weight", "1.bias"]
    assert result.unexpected_keys == ["foo"]
    assert repr(result) == ("_IncompatibleKeys(missing_keys=['0.bias', '1.weight', '1.bias'], unexpected_keys=['foo'])")
    assert repr(pair().load_state_dict(pair().state_dict())) == "<All keys matched successfully>"
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got <class 'int'>."):
        pair().load_state_dict(3)  # pyright: ignore[reportArgumentType]


def test_loading_copies_into_the_parameter_and_assigning_replaces_it():
    model = nn.Linear(1, 1, bias=False)
    given = torch.full((1, 1), 2.0, dtype=torch.float64)
    weight = model.weight
    model.load_state_dict({"weight": given})
    assert model.weight is weight
    assert weight.dtype is torch.float32
    assert weight.item() == 2.0
    model.load_state_dict({"weight": given}, assign=True)
    assert model.weight is not weight
    assert isinstance(model.weight, nn.Parameter)
    assert model.weight.dtype is torch.float64


def test_what_cannot_be_assigned_is_named():
    given = {"weight": torch.ones(3, 2, dtype=torch.int64), "bias": torch.ones(3)}
    with pytest.raises(
        RuntimeError, match='\tWhile copying the parameter named "weight", whose dimensions .* an exception occurred'
    ):
        nn.Linear(2, 3).load_state_dict(given, assign=True)


def test_the_old_positional_way_still_works():
    with pytest.warns(FutureWarning, match="^Positional args are being deprecated, use kwargs instead"):
        assert list(nn.Linear(2, 3).state_dict({}, "layer.")) == ["layer.weight", "layer.bias"]


def test_buffers_that_do_not_persist_are_not_expected():
    model = nn.Module()
    model.register_buffer("kept", torch.ones(1))
    model.register_buffer("passing", torch.ones(1), persistent=False)
    model.register_buffer("absent", None)
    assert list(model.state_dict()) == ["kept"]
    result = model.load_state_dict({"kept": torch.ones(1), "passing": torch.ones(1)}, strict=False)
    assert result.unexpected_keys == ["passing"]


def test_extra_state_travels_along():
    class Counting(nn.Module):
        count = 3

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    model, other = nn.Sequential(Counting()), nn.Sequential(Counting())
    model[0].count = 7
    assert model.state_dict() == {"0._extra_state": {"count": 7}}
    other.load_state_dict(model.state_dict())
    assert other[0].count == 7
    assert other.load_state_dict({}, strict=False).missing_keys == ["0._extra_state"]


def test_hooks_run_around_saving_and_loading():
    model, calls = nn.Linear(1, 1), []
    model.register_state_dict_pre_hook(lambda m, prefix, keep: calls.append(("before saving", prefix)))
    model.register_state_dict_post_hook(lambda m, state, prefix, meta: state.pop("bias") and None)
    model._register_load_state_dict_pre_hook(lambda state, *rest: state.setdefault("bias", torch.ones(1)) and None)
    model.register_load_state_dict_post_hook(lambda m, keys: calls.append(("after loading", keys.missing_keys)))
    state = model.state_dict()
    assert list(state) == ["weight"]
    handle = model.register_load_state_dict_pre_hook(lambda m, state, prefix, *rest: calls.append(m is model))
    model.load_state_dict(state)
    handle.remove()
    assert model.bias.item() == 1.0
    assert calls == [("before saving", ""), True, ("after loading", [])]


def test_an_old_batch_norm_has_no_count():
    state = nn.BatchNorm1d(2).state_dict()
    del state["num_batches_tracked"]
    state._metadata[""]["version"] = 1  # pyright: ignore[reportAttributeAccessIssue]
    assert repr(nn.BatchNorm1d(2).load_state_dict(state)) == "<All keys matched successfully>"


def test_a_hook_for_loading_keeps_no_module_alive():
    layer = nn.Linear(1, 1)
    layer.register_load_state_dict_pre_hook(_note_module)
    copied = pickle.loads(pickle.dumps(layer))
    reference = weakref.ref(layer)
    del layer
    assert reference() is None
    copied.load_state_dict(copied.state_dict())
    assert _noted == [copied]
    _noted.clear()


_noted = []


def _note_module(module, *_):
    _noted.append(module)


def test_assignment_may_keep_the_tensors_of_the_module_as_objects():
    conversion: Any = torch.__future__  # pyright: ignore[reportAttributeAccessIssue]
    conversion.set_swap_module_params_on_conversion(True)
    try:
        model, other = nn.BatchNorm1d(2), nn.BatchNorm1d(2).double()
        weight, mean = model.weight, model.running_mean
        model(torch.ones(3, 2)).sum().backward()
        other.weight.data.fill_(3.0)
        model.load_state_dict(other.state_dict(), assign=True)
    finally:
        conversion.set_swap_module_params_on_conversion(False)
    assert model.weight is weight and model.running_mean is mean and weight.requires_grad
    assert (weight.tolist(), weight.dtype, weight.grad, mean.dtype) == ([3.0, 3.0], torch.float64, None, torch.float64)
    assert other.weight is not weight and other.weight.tolist() == [3.0, 3.0]
