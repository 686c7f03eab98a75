"""Lines about several threads, and about steps that are interrupted."""

from .maker import Maker, blocks, indented
from .tensors import assign

# Tensors that a worker computes from tensors of the program, pending or not. Meanwhile the program does not write to them.
WORK = [
    "lambda a=<a>, b=<a>: a.detach() * b.detach() + 1", "lambda a=<a>: float(a.sum())", "lambda a=<a>: a.detach().clone().add_(1)",
    "lambda a=<a>: a.tolist()", "lambda a=<a>: (a.softmax(-1).sum(), a)[0]", "lambda a=<a>, b=<a>: torch.cat([a, b]).detach()",
    "lambda a=<a>: backward_alone(a)", "lambda a=<v>: a.detach() * 2", "lambda m=copy.deepcopy(<M>): m.eval()(x0).detach()",
    "lambda: [float((d0 * k).sum()) for k in range(5)]",
]  # fmt: skip

# Meanwhile the program makes new tensors, and writes only to these.
MEANWHILE = [
    "w = <e>\nw = w * 2",
    "w = [d0 * k for k in range(4)]\nout(w[3])",
    "w = (<a> * <a>).detach()\nw.add_(1)\nlate(w)",
    "out(<a>.sum())",
    "pass",
]

# An event is a call that torchlike makes or returns from: KeyboardInterrupt is raised at this one. Seconds: a signal raises it.
MOMENTS = ["events=<k>", "events=<k>", "events=<k>", "events=<k>", "seconds=<f>"]
STEPS = blocks("""
    o.zero_grad()
    F.mse_loss(m(x0), y0).backward()
    o.step()

    o.zero_grad()
    F.cross_entropy(m(x0), y0.argmax(1)).backward()
    torch.nn.utils.clip_grad_norm_(m.parameters(), 0.1)
    o.step()

    o.zero_grad()
    loss = (m(x0) - y0).abs().mean()
    float(loss)
    loss.backward()
    o.step()
""")

TABLES = {
    "k": [str(k) for step in (1, 7, 40, 200) for k in range(step, 20 * step, step)],
    "f": ["0.0002", "0.001", "0.003", "0.01", "0.03", "0.1"],
}


def alone(m: Maker) -> str:
    """Runs lines in a thread of its own, and the program waits for it."""
    from .gradients import backward
    from .training import evaluate, train

    inner = m.pick(backward, train, assign, evaluate)(m)
    return "\n".join([
        "def work():", "    nonlocal loss, xb, yb, y, y2, kept, t0, t1, t2, t3",
        *indented(inner, "    with guard('thread'):").replace("\n", "\n    ").splitlines(),
        "th = threading.Thread(target=work)", "th.start()", "th.join()",
    ])  # fmt: skip


def exchange(m: Maker) -> str:
    """A worker computes from the program's tensors while the program records; its result is pending in its thread."""
    after = m.pick(
        "late(f.result())",
        "out(f.result())",
        "t0 = t0 + torch.as_tensor(f.result()).mean()",
        "late(f.result()); kept.append(f.result())",
    )
    return f"f = worker.submit({m.pick(*WORK)})\n{m.pick(*MEANWHILE)}\n{after}"


def handed_on(m: Maker) -> str:
    """The worker's result is pending in its thread until a later round reads it."""
    return (
        f"waiting.append(worker.submit({m.pick(*WORK)}))\nwaiting[-1].exception()\n"
        "if r % 3 == 2: late(*[f.result() for f in waiting]); waiting.clear()"
    )


def interrupted(m: Maker) -> str:
    """KeyboardInterrupt may end this step anywhere: it has happened completely or not at all, and training goes on."""
    step = indented(m.pick(*STEPS), "def step(m, o):")
    return f"{step}\nsurvive(<M>, <O>, step, {m.pick(*MOMENTS)})\nout(*<M>.parameters())"


def interrupted_reading(m: Maker) -> str:
    """Pending values after an interrupted read still exist."""
    return "w = <e>\nw2 = <e>\nwith interrupts(<z>):\n    w.tolist()\nlate(w, w2)\nout(w2)"


TABLES["z"] = MOMENTS
ITEMS = [alone, exchange, exchange, handed_on, interrupted, interrupted, interrupted_reading]
