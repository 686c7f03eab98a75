"""Chooses the items of a program from its seed, and makes its text."""

from typing import NamedTuple

from . import gradients, modules, tensors, threads, training, transforms
from .maker import TENSORS, Maker

TABLES = tensors.TABLES | training.TABLES | threads.TABLES | transforms.TABLES
ENGINE = tensors.ITEMS + gradients.ITEMS
TRAINING = [
    *training.ITEMS,
    *modules.ITEMS,
    tensors.of(tensors.READS),
    gradients.hook,
    tensors.of(tensors.SEEDS),
    tensors.assign,
    gradients.leaf_step,
]
KINDS = {
    "engine": ENGINE,
    "training": TRAINING,
    "modules": [*training.ITEMS[:5], *modules.ITEMS * 2],
    "threads": [*threads.ITEMS * 2, *training.ITEMS[:3], tensors.assign, tensors.write, gradients.backward],
    "transforms": [*transforms.ITEMS * 2, tensors.assign, gradients.backward],
    "mixed": ENGINE + TRAINING + threads.ITEMS + transforms.ITEMS,
}

ALWAYS = [
    "kept, loss, waiting = [], None, []",
    "xb = yb = y = y2 = q = w = g = torch.ones(2)",
    "d0, d1 = torch.randn(3, 4), torch.randn(3, 4)",
    "p0, p1 = (torch.randn(3, 4) * 0.5).requires_grad_(), torch.randn(3, 4, requires_grad=True)",
    "x0, y0 = torch.randn(6, 4), torch.randn(6, 2)",
    "i0, i1 = torch.tensor([[3, 0, 1, 2], [0, 0, 1, 1], [2, 2, 2, 3]]), torch.tensor([2, 0, 0])",
    "perm = torch.arange(6)",
    "n0 = np.array([0.5, 1.5, -0.5]); s0 = torch.from_numpy(n0); n1 = np.ones((3, 4), np.float32)",
    "gen = torch.Generator().manual_seed(1); state = torch.get_rng_state()",
    "crit = nn.CrossEntropyLoss(label_smoothing=0.1)",
    "a0 = torch.full((2,), 0.5)",
    "a4, w4, f = torch.tensor([0.5, 1.0, -1.0, 2.0]), torch.eye(4) + 0.5, torch.tanh",
]


class Program(NamedTuple):
    """Lines that run once, items of lines that run in each round, lines that run at the end."""

    setup: list[str]
    items: list[list[str]]
    ending: list[str]

    def __str__(self) -> str:
        lines = ["def program():", *("    " + line for line in self.setup), "    for r in range(R):"]
        for number, item in enumerate(self.items):
            lines += [f"        with guard({number}):", *("            " + line for line in item)]
        return "\n".join([*lines, "        pass", *("    " + line for line in self.ending), ""])


def program_of(seed: int, kind: str | None = None, most_rounds: int = 12) -> Program:
    """Returns the program of a seed."""
    m = Maker(seed, TABLES)
    kind = (
        m.pick("engine", "training", "training", "modules", "modules", "threads", "transforms", "transforms", "mixed")
        if kind is None
        else kind
    )
    begin = [f"R = {m.rng.randint(3, most_rounds)}", *ALWAYS]
    begin += [f"{t} = {m.pick('d0.clone()', 'd1 * 1', 'p0 * 1', 'torch.zeros(3, 4)', 'd0[:]')}" for t in TENSORS]
    begin.append("v0, v1 = t0[1:], t1.t()")
    for k in range(m.models):
        model, optimizer = m.pick(*training.MODELS), m.pick(*training.OPTIMIZERS).replace("<q>", f"m{k}.parameters()")
        begin += [f"m{k} = {model}", f"o{k} = torch.optim.{optimizer}"]
        begin.append(
            f"sd = m{k}.state_dict(); od = o{k}d = o{k}.state_dict(); ema = [p.detach().clone() for p in m{k}.parameters()]"
        )
    items = []
    if kind != "training":
        items += [[f"{t} = {m.pick(*tensors.FRESH)}"] for t in TENSORS if m.chance(0.5)]
    for _ in range(m.rng.randint(3, 11)):
        lines, head = m.item(m.pick(*KINDS[kind])), m.condition()
        items.append([head, *("    " + line for line in lines)] if head else lines)
    items.append([m.pick("late(loss)", "out(p0.grad, loss)")])
    return Program(begin + m.setup, items, ["late(p0, p1, p0.grad, p1.grad, *m0.parameters())", "late(*kept)"])
