"""What torchlike does on the accelerator that JAX finds, beside hand-written JAX and PyTorch, in nine minutes.

    python -m benchmarks.accelerator [--minutes 9] [--parts operators,steps,rest] [--folder DIR] [--made-up]

`operators`: as many recorded calls of operators as the time allows, others each day. `steps`: training steps of six models in float32 and
bfloat16. `rest`: attention over 4,096 tokens, random numbers, reading results, copies, small models. Each part has a bounded share of the
time, and none needs another. Everything is written to the folder, which the variable OUT can name too, and the last lines are a table.
``--made-up`` lets JAX's second CPU device serve as an accelerator and makes everything small, which shows that all of it runs.

Nothing is installed: jax with the accelerator's plugin, flax, optax, opt-einsum, numpy, pytest and hypothesis must be there; PyTorch takes
part where it sees the accelerator.
"""
