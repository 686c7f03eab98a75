"""FullyShardedDataParallel in a world of one: which modules become units, what they show, and what is refused."""

# pyright: reportAttributeAccessIssue=false
# (the names are found when they are asked for, since modules are in a layer above)

import functools
from collections.abc import Iterator
from typing import Any

import pytest

import torchlike as torch
import torchlike.distributed as dist
from torchlike import nn
from torchlike.distributed.fsdp import (
    FullStateDictConfig,
    FullyShardedDataParallel as FSDP,
    MixedPrecision,
    ShardingStrategy,
    StateDictType,
)
from torchlike.distributed.fsdp.wrap import (
    CustomPolicy,
    ModuleWrapPolicy,
    always_wrap_policy,
    enable_wrap,
    lambda_auto_wrap_policy,
    size_based_auto_wrap_policy,
    transformer_auto_wrap_policy,
    wrap,
)

pytestmark = [pytest.mark.recorded, pytest.mark.filterwarnings("ignore:FSDP is switching to use `NO_SHARD`")]


@pytest.fixture(autouse=True)
def world() -> Iterator[None]:
    dist.init_process_group("gloo", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def network() -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Sequential(nn.Linear(8, 8), nn.Tanh()), nn.Linear(8, 2))


def units(model: Any) -> list[str]:
    return [
        name.replace("_fsdp_wrapped_module.", "").replace("_fsdp_wrapped_module", "")
        for name, module in model.named_modules()
        if isinstance(module, FSDP)
    ]


# What PyTorch's policies give for this network.
@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (None, [""]),
        (ModuleWrapPolicy({nn.Linear}), ["", "0", "2.0", "3"]),
        (always_wrap_policy, ["", "0", "1", "2", "2.0", "2.1", "3"]),
        (functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={nn.Sequential}), ["", "2"]),
        (
            functools.partial(lambda_auto_wrap_policy, lambda_fn=lambda each: isinstance(each, nn.Tanh)),
            ["", "1", "2.1"],
        ),
        (functools.partial(size_based_auto_wrap_policy, min_num_params=60), ["", "2.0"]),
        (CustomPolicy(lambda each: isinstance(each, nn.Linear) and each.out_features == 8), ["", "0", "2.0"]),
    ],
)
def test_a_policy_says_which_modules_become_units(policy: Any, expected: list[str]) -> None:
    model = FSDP(network(), auto_wrap_policy=policy)
    assert units(model) == expected
    assert torch.equal(model(torch.ones(3, 4)), network()(torch.ones(3, 4)))


def test_a_custom_policy_may_give_arguments_and_nothing_else() -> None:
    policy = CustomPolicy(lambda each: {"use_orig_params": True} if isinstance(each, nn.Linear) else False)
    model = FSDP(network(), auto_wrap_policy=policy)
    assert units(model) == ["", "0", "2.0", "3"] and isinstance(model[3].module.weight, nn.Parameter)
    with pytest.raises(
        ValueError, match="The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict"
    ):
        FSDP(network(), auto_wrap_policy=CustomPolicy(lambda each: 3))  # pyright: ignore[reportArgumentType]


def test_one_process_spreads_nothing_and_says_so() -> None:
    words = r"FSDP is switching to use `NO_SHARD` instead of ShardingStrategy.FULL_SHARD since the world size is 1\."
    with pytest.warns(UserWarning, match=words):
        model = FSDP(nn.Linear(2, 2))
    assert model.sharding_strategy is ShardingStrategy.NO_SHARD


def test_modules_are_wrapped_by_hand_where_it_is_enabled() -> None:
    layer = nn.Linear(2, 2)
    assert wrap(layer) is layer
    with enable_wrap(wrapper_cls=FSDP, sharding_strategy=ShardingStrategy.NO_SHARD):
        wrapped = wrap(layer, use_orig_params=True)
    assert isinstance(wrapped, FSDP) and wrapped.sharding_strategy is ShardingStrategy.NO_SHARD
    assert [name for name, _ in wrapped.named_parameters()] == [f"_fsdp_wrapped_module.{n}" for n in ("weight", "bias")]


@pytest.mark.parametrize("original", [False, True])
def test_training_gives_the_losses_of_the_module_alone(original: bool) -> None:
    found = []
    for around in (lambda module: module, lambda module: FSDP(module, use_orig_params=original)):
        model = around(network())
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        torch.manual_seed(1)
        losses = []
        for inputs in torch.randn(5, 6, 4):
            loss = model(inputs).square().mean()
            loss.backward()
            norm = (
                model.clip_grad_norm_(0.1)
                if model.__class__ is FSDP
                else nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            )
            optimizer.step()
            optimizer.zero_grad()
            losses.append((loss.item(), norm.item()))
        found.append((losses, [value.tolist() for value in model.state_dict().values()]))
    for mine, theirs in zip(found[1][0], found[0][0], strict=True):
        assert mine == pytest.approx(theirs, rel=1e-6)
    assert all(torch.allclose(torch.tensor(a), torch.tensor(b)) for a, b in zip(found[1][1], found[0][1], strict=True))


def test_what_is_ignored_stays_as_it_is() -> None:
    module = network()
    model = FSDP(module, ignored_states=[module[0].weight], auto_wrap_policy=ModuleWrapPolicy({nn.Linear}))
    assert module[0].module.weight.shape == (8, 4) and "0.weight" in model.state_dict()
    module = network()
    model = FSDP(module, ignored_modules=[module[2]], auto_wrap_policy=ModuleWrapPolicy({nn.Linear}))
    assert units(model) == ["", "0", "3"] and isinstance(module[2][0].weight, nn.Parameter)


def test_modules_on_the_meta_device_are_filled() -> None:
    with torch.device("meta"):
        module = network()
    model = FSDP(module)
    assert not next(model.parameters()).is_meta and model(torch.ones(1, 4)).isfinite().all()
    with torch.device("meta"):
        module = network()

    def fill(each: Any) -> None:
        each.to_empty(device="cpu", recurse=False)
        for parameter in each.parameters(recurse=False):
            nn.init.constant_(parameter, 0.5)

    assert set(FSDP(module, param_init_fn=fill)._flat_param.tolist()) == {0.5}


def test_shared_parameters_are_flattened_once_and_functions_see_whole_ones() -> None:
    module = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    module[1].weight = module[0].weight
    model = FSDP(module)
    assert sum(each.numel() for each in model.parameters()) == 15
    seen = []
    model.apply(lambda each: seen.extend(tuple(p.shape) for p in each.parameters(recurse=False)))
    assert seen == [(3, 3), (3,), (3, 3), (3,)]
    model(torch.ones(1, 3)).sum().backward()
    assert model._flat_param.grad.shape == (15,)


def test_modules_inside_of_other_modules_save_and_load_under_their_own_names() -> None:
    outer = nn.ModuleDict({"wrapped": FSDP(network()), "plain": nn.Linear(2, 2)})
    state = outer.state_dict()
    assert list(state)[:2] == ["wrapped.0.weight", "wrapped.0.bias"] and "plain.weight" in state
    other = nn.ModuleDict({"wrapped": network(), "plain": nn.Linear(2, 2)})
    other.load_state_dict({name: value + 1 for name, value in state.items()})
    assert str(outer.load_state_dict(other.state_dict())) == "<All keys matched successfully>"
    assert torch.equal(outer.state_dict()["wrapped.3.bias"], state["wrapped.3.bias"] + 1)
    # The names of the pieces are there again, for an optimizer that was made before.
    assert [tuple(p.shape) for p in outer["wrapped"].parameters()] == [(40 + 72 + 18,)]


def test_names_that_are_flattened_keep_shape_and_dtype() -> None:
    model = FSDP(network())
    assert model[0].weight.shape == (8, 4) and model[0].weight.dtype == torch.float32
    assert FSDP(nn.Linear(4, 2)).in_features == 4


def test_what_is_wrong_or_missing_is_named() -> None:
    model = FSDP(network(), auto_wrap_policy=ModuleWrapPolicy({nn.Linear}))
    for kind in (StateDictType.LOCAL_STATE_DICT, StateDictType.SHARDED_STATE_DICT):
        with pytest.raises(NotImplementedError, match=rf"{kind}"), FSDP.state_dict_type(model, kind):
            pass
    with pytest.raises(RuntimeError, match="Expected optim_state_dict_config of type .*FullOptimStateDictConfig"):
        FSDP.set_state_dict_type(
            model,
            StateDictType.FULL_STATE_DICT,
            FullStateDictConfig(),
            FullStateDictConfig(),  # pyright: ignore[reportArgumentType]
        )
    with pytest.raises(NotImplementedError, match="with_grads"), FSDP.summon_full_params(model, with_grads=True):
        pass
    with pytest.raises(NotImplementedError, match="register_comm_hook"):
        model.register_comm_hook(None, lambda state, grad: None)
    with pytest.raises(NotImplementedError, match="sharded_optim_state_dict"):
        FSDP.sharded_optim_state_dict(model, None)
    with pytest.raises(NotImplementedError, match="keep_low_precision_grads"):
        FSDP(nn.Linear(2, 2), mixed_precision=MixedPrecision(torch.bfloat16, keep_low_precision_grads=True))
    with pytest.raises(NotImplementedError, match="BatchNorm"):
        FSDP(
            nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)),
            auto_wrap_policy=always_wrap_policy,
            mixed_precision=MixedPrecision(torch.bfloat16),
        )
    with pytest.raises(AttributeError, match="nothing"):
        model.nothing
