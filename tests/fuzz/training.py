"""Lines about training: steps in their usual forms, evaluation, schedules."""

from .maker import Maker, blocks, indented
from .tensors import of

MODELS = [  # from 4 numbers to 2
    "nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))",
    "nn.Sequential(nn.Linear(4, 6), nn.LayerNorm(6), nn.GELU(), nn.Linear(6, 2))",
    "nn.Sequential(nn.Linear(4, 4, bias=False), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2))",
    "nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Dropout(0.3), nn.Linear(5, 2))",
    "nn.Sequential(nn.Sequential(nn.Linear(4, 4), nn.LeakyReLU(0.1)), nn.Sequential(nn.Linear(4, 4), nn.ELU()), nn.Linear(4, 2))",
    "nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True), nn.Linear(4, 4), nn.LeakyReLU(0.2, inplace=True), nn.Linear(4, 2))",
    "nn.Sequential(nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(9, 2))",
    "nn.Sequential(nn.Linear(4, 4, bias=False), nn.BatchNorm1d(4, momentum=None), nn.PReLU(), nn.Linear(4, 2))",
    "Tied()", "Own()", "Recurrent()", "Scaled()", "Counting()",
]  # fmt: skip

OPTIMIZERS = [
    "SGD(<q>, lr=0.05)", "SGD(<q>, lr=0.05, momentum=0.9)", "SGD(<q>, lr=0.05, momentum=0.8, nesterov=True, weight_decay=0.01)",
    "SGD(<q>, lr=0.05, momentum=0.9, dampening=0.5)", "Adam(<q>, lr=0.02)", "AdamW(<q>, lr=0.02)", "Adam(<q>, lr=0.02, amsgrad=True)",
    "RMSprop(<q>, lr=0.01)", "RMSprop(<q>, lr=0.01, momentum=0.5, centered=True)", "Adagrad(<q>, lr=0.05)", "Adamax(<q>, lr=0.01)",
    "NAdam(<q>, lr=0.01)", "RAdam(<q>, lr=0.01)", "Adadelta(<q>)", "ASGD(<q>, lr=0.05)",
]  # fmt: skip

BATCHES = [
    "x0, y0", "x0, y0", "x0, y0", "x0[: 2 + r % 3], y0[: 2 + r % 3]", "torch.randn(4, 4), y0[:4]", "x0[r % 2 :], y0[r % 2 :]", "t0, y0[:3]",
    "x0 * (1 + 0.1 * r), y0", "x0[perm], y0[perm]", "x0.clone().requires_grad_(), y0",
]  # fmt: skip

LOSSES = [
    "F.mse_loss(<M>(xb), yb)", "(<M>(xb) - yb).abs().mean()", "F.cross_entropy(<M>(xb), yb.argmax(1))", "nn.MSELoss()(<M>(xb), yb)",
    "crit(<M>(xb), yb.argmax(1))", "(<M>(xb) * yb).sum().tanh()", "F.mse_loss(<M>(xb), yb) * (r + 1)", "F.mse_loss(<M>(xb), yb) * 0.5",
    "F.smooth_l1_loss(<M>(xb), yb) + 0.01 * sum(p.pow(2).sum() for p in <M>.parameters())",
    "F.mse_loss(ck.checkpoint(<M>, xb, use_reentrant=False), yb)",
]  # fmt: skip

CLIPS = [
    "", "", "", "torch.nn.utils.clip_grad_norm_(<M>.parameters(), 0.1)", "torch.nn.utils.clip_grad_norm_(<M>.parameters(), 0.05 * (r + 1))",
    "torch.nn.utils.clip_grad_value_(<M>.parameters(), 0.01)",
]  # fmt: skip

BREAKS = [
    "",
    "",
    "",
    "",
    "if r == 3: raise ValueError",
    "if r == 4: torch.ones(2) + torch.ones(3)",
    "if r % 4 == 2: raise KeyError",
]

AFTER = [
    "out(loss)", "late(loss)", "late(loss.detach())", "kept.append(loss)", "out(loss) if r % 3 == 2 else None", "out(*<M>.parameters())",
    "late([p.grad for p in <M>.parameters()])", "kept.append([*<M>.parameters()][0].detach())",
    "kept.append([*<M>.parameters()][0].data[0])",
    "late([*<M>.parameters()][-1].clone())", "kept.append([*<M>.parameters()][0].grad)", "late(*<M>.buffers())",
    "kept.append([*<M>.parameters()][0].detach().numpy().copy())", "pass",
]  # fmt: skip

INPUTS = ["x0", "x0[:2]", "t0.detach()", "x0[: 1 + r % 4]", "x0 * 2"]

EVALUATIONS = blocks("""
    <M>.eval()
    with torch.no_grad():
        y = <M>(<i>)
    <M>.train()
    out(y)

    <M>.eval()
    with torch.no_grad():
        y = <M>(<i>)
    <M>.train()
    late(y)

    <M>.eval()
    y = <M>(<i>)
    <M>.train()
    y.sum().backward()

    with torch.inference_mode():
        y = <M>(<i>) + 1
    out(y)

    with torch.no_grad():
        y = <M>(<i>)
        y.mul_(2)
    late(y)

    with torch.autocast('cpu', dtype=torch.bfloat16), torch.no_grad():
        y = <M>(<i>)
    out('rough', y.float())

    y = <M>(<I>)
    y2 = <M>(<I>)
    late(y, y2)

    y = torch.func.functional_call(<M>, {k: v.detach() * <n> for k, v in <M>.named_parameters()}, (<i>,))
    late(y)

    for mode in (r % 2 == 0, r % 3 == 0):
        <M>.train(mode)
        late(<M>(<i>))
    <M>.train()
""")

SCHEDULES = [
    "ExponentialLR(o0, 0.9)", "StepLR(o0, 2, 0.5)", "CosineAnnealingLR(o0, 5)", "LambdaLR(o0, lambda e: 1 / (1 + e))",
    "OneCycleLR(o0, 0.1, total_steps=20, cycle_momentum=False)",
]  # fmt: skip

TABLES = {"i": INPUTS}


def train(m: Maker) -> str:
    loss, clip, broken = m.pick(*LOSSES), m.pick(*CLIPS), m.pick(*BREAKS)
    zero = f"<O>.zero_grad({m.pick('', '', 'set_to_none=False')})"
    form = m.pick("plain", "zero last", "accumulated", "now and then", "closure")
    if form == "plain":
        lines = [zero, f"loss = {loss}", "loss.backward()", clip, broken, "<O>.step()"]
    elif form == "zero last":
        lines = [f"loss = {loss}", broken, "loss.backward()", clip, "<O>.step()", zero]
    elif form == "accumulated":
        inner = "\n".join(filter(None, [f"loss = {loss} / 2", "loss.backward()", broken]))
        lines = [indented(inner, f"for j in range({m.pick('2', '1 + r % 3')}):"), clip, "<O>.step()", zero]
    elif form == "now and then":
        lines = [
            f"loss = {loss}",
            "loss.backward()",
            indented(f"<O>.step()\n{zero}", f"if r % {m.pick(2, 3)} == 1:"),
            broken,
        ]
    else:
        inner = "\n".join([zero, f"loss = {loss}", "loss.backward()", "return loss"])
        lines = [indented(inner, "def closure():"), "loss = <O>.step(closure)", broken]
    return "\n".join(filter(None, [f"xb, yb = {m.pick(*BATCHES)}", *lines, m.pick(*AFTER)]))


def schedule(m: Maker) -> str:
    m.setup.append(f"sch = torch.optim.lr_scheduler.{m.pick(*SCHEDULES)}")
    return "sch.step()\nout(o0.param_groups[0]['lr'])"


evaluate = of(EVALUATIONS)
ITEMS = [train, train, train, train, evaluate, evaluate, schedule]
