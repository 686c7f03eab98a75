"""onnx2torch: an ONNX model made by onnx becomes a module that trains."""

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from onnx2torch import convert

random = np.random.default_rng(0)
constants = {
    "w": random.normal(size=(4, 3, 3, 3)).astype("float32"),
    "b": random.normal(size=4).astype("float32"),
    "v": random.normal(size=(4, 2)).astype("float32"),
    "c": np.zeros(2, "float32"),
}
nodes = [
    helper.make_node("Conv", ["x", "w", "b"], ["h"], pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
    helper.make_node("Relu", ["h"], ["r"]),
    helper.make_node("GlobalAveragePool", ["r"], ["p"]),
    helper.make_node("Flatten", ["p"], ["f"]),
    helper.make_node("Gemm", ["f", "v", "c"], ["y"]),
]
graph = helper.make_graph(
    nodes,
    "g",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3, 6, 6])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 2])],
    [numpy_helper.from_array(value, name) for name, value in constants.items()],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
onnx.checker.check_model(model)
module = convert(model)
torch.manual_seed(0)
x = torch.randn(2, 3, 6, 6)
print([f"{v:.5f}" for v in module(x).flatten().tolist()])
optimizer = torch.optim.SGD(module.parameters(), lr=0.01)
for _ in range(3):
    loss = module(x).square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}")
