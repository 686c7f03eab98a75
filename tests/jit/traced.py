"""Calls whose graphs PyTorch's tracer has made, and their nodes: kinds, scopes, and the sizes of the tensors that go in and out."""

from typing import Any

# By name: a function of x (2, 3, 8, 8), y (4, 6), w (6,) and t (2, 4) of integers, and its nodes without those of numbers and sizes.
CALLS = """
picture: F.linear(F.relu(F.conv2d(x, k, b, 2, padding=1)).flatten(1), torch.ones(3, 80))
in place: F.relu_(F.hardtanh(F.silu(y * 2, inplace=True), inplace=True)).add_(1).exp_()
norms: F.group_norm(F.batch_norm(x, w[:3], w[3:]), 3) + F.instance_norm(x) + F.layer_norm(x, (8, 8))
pools: F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, (2, 2)), F.adaptive_avg_pool1d(y, 3)
transposed: F.conv_transpose2d(x, k[:3, :2], stride=2), F.conv1d(y[None, :3], k[:, :, 0])
larger: F.interpolate(x, scale_factor=2), F.interpolate(x, size=(4, 4), mode="bilinear"), F.interpolate(x[0], size=5, mode="linear")
words: F.embedding(t, y), F.embedding(t, y, padding_idx=0), F.dropout(y, 0.1, False), F.dropout2d(x, 0.1, False)
attention: F.softmax(y @ y.T / 2, -1) @ y, F.scaled_dot_product_attention(x, x, x), F.log_softmax(y, 1), torch.softmax(y, 0)
products: torch.einsum("ij,kj->ik", y, y), torch.einsum("ij,kj->ik", [y, y]), torch.bmm(x[0], x[0]), torch.matmul(y, w), torch.outer(w, w)
indices: y[0, 1:], y[..., None], y[:, 2], x[:, [0, 1]], x[1], y[None, ::2], y[t[0]], y[-1]
parts: y.split(2), y.split([1, 3]), y.chunk(2), torch.cat([y, y], 1), torch.stack((y, y)), torch.unbind(y, 1)
other names: y.swapaxes(0, 1), torch.moveaxis(x, 1, 2), torch.multiply(y, y), torch.ger(w, w), y.double(), torch.clip(y, 0), ~t, y.T
numbers: y ** 2, 1 - y, 2 * y, y / 3, y + 1, -y, y.mean(), y.sum(1), y > 1, y.view(6, 4), y.reshape(-1), y.permute(1, 0)
modules: model(x)
function: Own.apply(y) * 2
"""


def calls() -> dict[str, str]:
    found = (line.partition(": ") for line in CALLS.strip().splitlines())
    return {name: call for name, _, call in found}


def nodes(torch: Any, name: str) -> list[str]:
    F, nn = torch.nn.functional, torch.nn
    names = {
        "torch": torch, "F": F, "x": torch.rand(2, 3, 8, 8), "y": torch.rand(4, 6), "w": torch.rand(6), "t": torch.ones(2, 4).long(),
        "k": torch.rand(5, 3, 3, 3), "b": torch.rand(5),
    }  # fmt: skip

    class Own(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, value: Any) -> Any:
            return value.exp() * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    model = nn.Sequential(
        nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Dropout(0.1), nn.Flatten(),
        nn.Linear(36, 5), nn.GELU(), nn.Unflatten(1, (5, 1)), nn.LSTM(1, 2),
    ).eval()  # fmt: skip

    def push(module: Any, inputs: object) -> None:
        torch._C._get_tracing_state().push_scope(type(module).__name__)

    def pop(*_: object) -> None:
        torch._C._get_tracing_state().pop_scope()

    for module in model.modules():
        if name == "modules" and not isinstance(module, nn.Unflatten):
            module.register_forward_pre_hook(push)
            module.register_forward_hook(pop)
    arguments = tuple(value for key, value in names.items() if key not in ("torch", "F"))

    def program(x: Any, y: Any, w: Any, t: Any, k: Any, b: Any) -> Any:
        return eval(calls()[name], {**names, "x": x, "y": y, "w": w, "t": t, "k": k, "b": b, "Own": Own})

    graph, _ = torch.jit._get_trace_graph(*((model, (names["x"],)) if name == "modules" else (program, arguments)))
    numbers = ("aten::size", "aten::Int")
    kinds = [(node, node.kind()) for node in graph.nodes() if node.kind() not in numbers]
    return [shown(node) for node, kind in kinds if not kind.startswith("prim::") or "Python" in kind]


def shown(node: Any) -> str:
    kind = node.kind() + (f".{node.pyname()}" if "Python" in node.kind() else "")
    taken, made = (
        [value.type().sizes() for value in each if value.isCompleteTensor()] for each in (node.inputs(), node.outputs())
    )
    return f"{node.scopeName()} {kind} {taken} {made}".strip()
