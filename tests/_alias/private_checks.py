"""Private names of PyTorch's that libraries call: each gives what PyTorch 2.13 gives. `tests/_alias/test_alias.py` runs this file."""

import torch
from torch._guards import active_fake_mode, detect_fake_mode
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributions.multivariate_normal import _batch_mahalanobis, _precision_to_scale_tril
from torch.nn import _reduction
from torch.nn.modules.module import _addindent, _global_forward_hooks, register_module_forward_hook
from torch.nn.utils._named_member_accessor import NamedMemberAccessor, swap_tensor
from torch.optim.optimizer import _get_value, _use_grad_for_differentiable, _view_as_real
from torch.utils._foreach_utils import _group_tensors_by_device_and_dtype
from torch.utils._mode_utils import all_same_mode, no_dispatch
from torch.utils.data._utils.collate import collate_tensor_fn, np_str_obj_array_pattern
from torch.utils.data._utils.worker import _generate_state

C, F = torch._C, torch.nn.functional
x = torch.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 2.0]])


def error(action):
    try:
        action()
    except Exception as raised:
        return f"{type(raised).__name__}: {raised}"
    raise AssertionError("nothing was raised")


# functions of tensors
assert torch._shape_as_tensor(x).tolist() == [2, 3] and torch._cast_Long(x).dtype is torch.int64
grad, soft = torch.tensor([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]), x.softmax(1)
backward = torch._softmax_backward_data(grad, soft, 1, torch.float32)
assert torch.allclose(backward, torch.autograd.functional.vjp(lambda v: v.softmax(1), x, grad)[1], atol=1e-6)
backward = torch._log_softmax_backward_data(grad, x.log_softmax(1), 1, torch.float32)
assert torch.allclose(backward, torch.autograd.functional.vjp(lambda v: v.log_softmax(1), x, grad)[1], atol=1e-6)
torch._assert_async(torch.tensor(2))
assert error(lambda: torch._assert_async(torch.tensor(0.0))) == (
    "RuntimeError: Expected Tensor with single nonzero value, but got zero"
)
assert error(lambda: torch._assert_async(torch.tensor(0.0), "no")) == "RuntimeError: no"
small, other = torch.arange(-6, 6).reshape(3, 4).to(torch.int8) * 20, torch.arange(8).reshape(4, 2).to(torch.int8) * 15
product = torch._int_mm(small, other)
assert product.tolist() == [[-13200, -18600], [1200, 600], [15600, 19800]] and product.dtype is torch.int32
assert torch._int_mm(small, other, out=product.clone()).equal(product)
assert error(lambda: torch._int_mm(small, other.int())) == (
    "RuntimeError: int_mm_out_cpu: Expected mat2 dtype to be of type int8 but got int"
)
assert error(lambda: torch._int_mm(small.long(), other)) == (
    "RuntimeError: int_mm_out_cpu: Expected self dtype to be int8 or uint8 but got long int"
)
assert error(lambda: torch._int_mm(small, small)) == (
    "RuntimeError: int_mm_out_cpu: self.size(1) needs to match mat2.size(0) but got 4 and 3"
)
indices, places = torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 1, 2])
assert torch._validate_sparse_coo_tensor_args(indices, torch.ones(2), (2, 2)) is None
assert error(lambda: torch._validate_sparse_coo_tensor_args(indices, torch.ones(2), (1, 2))) == (
    "RuntimeError: size is inconsistent with indices: for dim 0, size is 1 but found index 1"
)
assert torch._validate_sparse_csc_tensor_args(places, indices[0], torch.ones(2), (2, 2)) is None
assert error(
    lambda: torch._validate_sparse_compressed_tensor_args(
        places, indices[0] * 5, torch.ones(2), (2, 2), torch.sparse_csr
    )
) == ("RuntimeError: `0 <= col_indices < ncols` is not satisfied.")
assert all_same_mode([1, 1]) and not all_same_mode([1, 2])
precision = torch.tensor([[2.0, 0.5], [0.5, 1.0]])
L = _precision_to_scale_tril(precision)
assert torch.allclose(L @ L.T, precision.inverse()) and _batch_mahalanobis(L, torch.ones(3, 2)).shape == (3,)

# what is in progress
assert not C._are_functorch_transforms_active() and C._current_graph_task_id() == -1
seen = []
torch.func.vmap(
    lambda v: (seen.append(C._are_functorch_transforms_active() and C._functorch.is_batchedtensor(v)), v)[1]
)(x)
torch.func.grad(lambda v: (seen.append(C._are_functorch_transforms_active()), v.sum())[1])(x)
for _ in range(2):
    leaf = x.clone().requires_grad_()
    double = leaf * 2
    double.register_hook(lambda g: seen.append(C._current_graph_task_id()))
    double.sum().backward()
assert seen[:2] == [True, True] and 0 <= seen[2] < seen[3]
assert active_fake_mode() is None and detect_fake_mode(x) is None
with FakeTensorMode() as mode:
    assert active_fake_mode() is mode
    fake = torch.ones(1)
assert detect_fake_mode([fake]) is mode
with FakeTensorMode() as mode, no_dispatch():
    assert type(torch.ones(1)) is torch.Tensor

# modules
assert F._canonical_mask(torch.tensor([True, False]), "m", None, "", torch.float32).tolist() == [-float("inf"), 0.0]
assert error(lambda: F._canonical_mask(torch.tensor([1]), "m", None, "", torch.float32)) == (
    "AssertionError: only bool and floating types of m are supported"
)
flags = (None, True, False)
assert [_reduction.legacy_get_string(a, b, emit_warning=False) for a in flags for b in flags] == [
    "mean", "mean", "none", "mean", "mean", "none", "sum", "sum", "none",
]  # fmt: skip
assert _reduction.get_enum("sum") == 2 and error(lambda: _reduction.get_enum("x")) == (
    "ValueError: x is not a valid value for reduction"
)
assert _addindent("a\nb\nc", 2) == "a\n  b\n  c" and len(_global_forward_hooks) == 0
handle = register_module_forward_hook(lambda *args: None)
assert len(_global_forward_hooks) == 1
handle.remove()
model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
weight, members = model[0].weight, NamedMemberAccessor(model)
assert swap_tensor(model[0], "weight", torch.ones(2, 2)) is weight and members.get_tensor("0.weight").sum() == 4
members.set_tensor("0.weight", weight)
assert error(lambda: swap_tensor(model, "0.weight", weight)) == "KeyError: 'tensor name can\\'t contain \".\"'"
own = ["0.bias", "1.bias", "1.num_batches_tracked", "1.running_mean", "1.running_var", "1.weight"]
assert members.check_keys(["0.weight", "z"]) == (own, ["z"])

# optimizers, data, modes


class Own(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {"differentiable": False})
        self._patch_step_function()

    @_use_grad_for_differentiable
    def step(self, closure=None):
        return torch.is_grad_enabled()


assert Own([x.clone().requires_grad_()]).step() is False and _get_value(torch.tensor(2.0)) == 2.0
params, grads = [torch.ones(2, dtype=torch.complex64)], [torch.ones(2, dtype=torch.complex64)]
_view_as_real(params, grads)
assert params[0].shape == grads[0].shape == (2, 2)
a, b = torch.ones(1), torch.ones(2, dtype=torch.float64)
groups = _group_tensors_by_device_and_dtype([[a, b], [], [None, b]], with_indices=True)
assert groups[torch.device("cpu"), torch.float64] == ([[b], [], [b]], [1])
assert _generate_state(123456789012, 3) == [769313048, 1460814176, 2980110427, 1364817390]
assert collate_tensor_fn([x, x]).shape == (2, 2, 3) and np_str_obj_array_pattern.search("<U3")
with getattr(torch.backends, "__allow_nonbracketed_mutation")(), torch._tensor_str.printoptions(precision=1):
    assert str(torch.tensor([1.234])) == "tensor([1.2])"
keys = C.DispatchKeySet(C.DispatchKey.AutocastCPU)
with torch.autocast("cpu", dtype=torch.bfloat16), C._ExcludeDispatchKeyGuard(keys):
    assert (x @ x.T).dtype is torch.float32
