"""Lines that must raise, grouped by what is wrong with them, and the objects that they use."""

from types import ModuleType
from typing import Any

import numpy as np

SNIPPETS = {
    "shapes": """
        a + b
        a * b
        a.add_(b)
        b.add_(torch.ones(2, 4))
        n.mul_(a)
        a.copy_(b)
        a @ b
        a @ a
        torch.mm(a, b)
        torch.bmm(a, a)
        torch.dot(b, n.float())
        F.linear(a, torch.ones(4, 5))
        F.linear(a, torch.ones(4, 3), torch.ones(5))
        a.view(4)
        a.view(-1, 4)
        a.view(-1, -1)
        a.reshape(7)
        a.T.view(6)
        a.expand(4, 3)
        a.expand(2)
        a.split([1, 2])
        a.split(0)
        a.chunk(0)
        a.repeat(2)
        a.unflatten(1, (2, 2))
        a.flatten(1, 0)
        torch.cat([a, b])
        torch.cat([a, torch.ones(2, 4)])
        torch.cat([])
        torch.stack([a, b])
        torch.stack([])
        torch.ones(2, 2, 2).t()
        torch.tril(b)
        b.mT
        z.max()
        z.argmax()
        a.topk(5)
        a.narrow(0, 1, 4)
        torch.where(t, a, a)
        torch.matmul(a, b, out=b)
        torch.einsum('ij,jk', a, a)
        a.fill_(torch.ones(2))
        torch.where(t, torch.ones(3), b)
        torch.where(torch.ones(3) > 0, 1.0, torch.ones(2))
        torch.conv_tbc(torch.ones(1, 4, 4), torch.ones(3, 4, 4), b)
    """,
    "dimensions": """
        a.sum(2)
        a.sum((0, 0))
        a.argmax(3)
        a.size(2)
        a.size(-3)
        a.stride(2)
        o.size(0)
        a.squeeze(5)
        a.unsqueeze(4)
        a.transpose(0, 2)
        a.permute(0, 0)
        a.permute(0)
        a.softmax(2)
        a.sort(4)
        a.cumsum(3)
        a.flip(2)
        a.movedim(0, 5)
        a.diagonal(0, 0, 0)
    """,
    "indices": """
        a[2]
        a[0, 3]
        a[-3]
        a[0, 0, 0]
        a[0][0][0]
        a[1.0]
        a['x']
        a[::-1]
        a[0:1:0]
        a[torch.tensor([2])]
        a[torch.tensor([-3])]
        a[torch.tensor([0, 1]), torch.tensor([0, 1, 2])]
        a[torch.tensor([0.5])]
        a[torch.tensor([True])]
        a[torch.ones(3, 3, dtype=torch.bool)]
        a[0] = torch.ones(4)
        a[2] = 1
        a[torch.tensor([5])] = 1.0
        a[t] = torch.ones(2, 3)
        a[0] = 'x'
        o[0]
        o[0] = 1.0
        a.select(0, 4)
        a.index_select(0, torch.tensor([2]))
        a.index_select(0, torch.tensor([0.0]))
        a.gather(1, torch.tensor([[3]]))
        a.gather(1, torch.tensor([0]))
        torch.take(a, torch.tensor([6]))
        a.scatter_(1, torch.tensor([[3]]), 1.0)
        a.index_add_(0, torch.tensor([2]), torch.ones(1, 3))
        a.masked_fill(n, 0.0)
        a.masked_fill_(torch.ones(5, dtype=torch.bool), 0.0)
    """,
    "labels": """
        F.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 3]))
        F.cross_entropy(torch.zeros(2, 3), torch.tensor([0, -1]))
        F.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 1, 2]))
        F.cross_entropy(torch.zeros(2, 3), torch.tensor([0.0, 1.0]))
        F.cross_entropy(torch.zeros(2, 3), torch.tensor([[0], [1]]))
        F.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 1], dtype=torch.int32))
        F.cross_entropy(torch.zeros(2, 3), [0, 1])
        F.cross_entropy([0.0], torch.tensor(0))
        F.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 1]), [1.0, 1.0, 1.0])
        F.multi_margin_loss(a, n)
        F.multi_margin_loss(a, torch.tensor([[0], [1]]))
        F.multi_margin_loss(a[0], torch.tensor([[1]]))
        F.multi_margin_loss(a[None], n)
        F.multi_margin_loss(a, torch.tensor([0, 1]), weight=torch.ones(2))
        F.multi_margin_loss(a, torch.tensor([0, 1]), weight=torch.ones(3).double())
        F.cosine_embedding_loss(a, a, torch.ones(3))
        F.linear([1.0, 2.0, 3.0], a)
        F.linear(a, None)
    """,
    "layers": """
        nn.Linear(4, 2)(a)
        nn.Linear(3, 2)(torch.ones(2, 3, dtype=torch.int64))
        nn.Linear(3, 2)(d)
        nn.Conv2d(1, 2, 3)(torch.ones(1, 3, 8, 8))
        nn.Conv2d(1, 2, 3)(torch.ones(8, 8))
        nn.Conv2d(1, 2, 5)(torch.ones(1, 1, 3, 3))
        nn.MaxPool2d(4)(torch.ones(1, 1, 2, 2))
        nn.MaxPool2d(2)(torch.ones(4))
        nn.Dropout(-0.1)
        F.dropout(a, 1.5)
        F.group_norm(torch.ones(1, 2), 2)
        torch.renorm(a, -1, 0, 1)
    """,
    "linear algebra": """
        torch.linalg.det(torch.eye(2).bfloat16())
        torch.linalg.slogdet(torch.eye(2).bfloat16())
        torch.linalg.inv(torch.eye(2).bfloat16())
        torch.linalg.cholesky(torch.eye(2).bfloat16())
        torch.linalg.cholesky_ex(torch.eye(2).bfloat16())
        torch.linalg.lu_factor(torch.eye(2).bfloat16())
        torch.linalg.lu_factor_ex(torch.eye(2).bfloat16())
        torch.linalg.lu(torch.eye(2).bfloat16())
        torch.linalg.qr(torch.eye(2).bfloat16())
        torch.linalg.svd(torch.eye(2).bfloat16())
        torch.linalg.svdvals(torch.eye(2).bfloat16())
        torch.linalg.eigh(torch.eye(2).bfloat16())
        torch.linalg.eigvalsh(torch.eye(2).bfloat16())
        torch.linalg.eig(torch.eye(2).bfloat16())
        torch.linalg.eigvals(torch.eye(2).bfloat16())
        torch.linalg.matrix_rank(torch.eye(2).bfloat16())
        torch.linalg.cond(torch.eye(2).bfloat16())
        torch.linalg.ldl_factor(torch.eye(2).bfloat16())
        torch.linalg.solve(torch.eye(2).half(), torch.ones(2).half())
        torch.linalg.lstsq(torch.eye(2).half(), torch.ones(2, 1).half())
        torch.linalg.lstsq(torch.eye(2).long(), torch.ones(2, 1).long())
        torch.linalg.matrix_rank(torch.eye(2).long())
        torch.linalg.solve_triangular(torch.eye(2).half(), torch.ones(2, 1).half(), upper=True)
        torch.triangular_solve(torch.ones(2, 1).half(), torch.eye(2).half())
        torch.triangular_solve(torch.ones(2, 1).long(), torch.eye(2).long())
        torch.logdet(torch.eye(2).half())
        torch.logdet(torch.eye(2).long())
        torch.linalg.cholesky(torch.eye(2).long())
        torch.cholesky(torch.eye(2).long())
        torch.cholesky_solve(torch.ones(2, 1).long(), torch.eye(2).long())
        torch.cholesky_inverse(torch.eye(2).half())
        torch.orgqr(torch.eye(2).long(), torch.ones(2).long())
        torch.ormqr(torch.eye(2).half(), torch.ones(2).half(), torch.eye(2).half())
        torch.geqrf(torch.eye(2).half())
        torch.linalg.lu_solve(torch.eye(2).half(), torch.ones(2, dtype=torch.int32), torch.ones(2, 1).half())
    """,
    "dtypes": """
        a @ d.T
        a @ n
        torch.dot(b, n)
        n.mean()
        n.add_(1.5)
        n.div_(2)
        n.sqrt_()
        n.pow_(0.5)
        t.add_(1)
        n ** -1
        n % 0
        n // 0
        a & a
        a << 1
        ~a
        -t
        t - t
        1 - t
        c < c
        c.max()
        torch.floor(c)
        torch.where(a, a, a)
        torch.add(a, a, out=n)
        n.softmax(0)
        a.clamp()
        n.uniform_()
        n.normal_()
        torch.rand(2, dtype=torch.int64)
        torch.randn(2, dtype=torch.int64)
    """,
    "overlapping memory": """
        torch.ones(1).expand(3).add_(1)
        torch.add(a, a, out=torch.ones(3).expand(2, 3))
    """,
    "conversions": """
        a.item()
        z.item()
        bool(a)
        bool(z)
        int(a)
        float(a)
        complex(a)
        float(c)
        int(c)
        range(a)
        [1, 2][o]
        len(o)
        list(o)
        'x' in a
        w.numpy()
        h.numpy()
        np.asarray(w)
        torch.from_numpy([1])
        torch.from_numpy(np.array(['a']))
        torch.from_numpy(np.ones(3)[::-1])
        torch.tensor([[1, 2], [3]])
        torch.tensor(['a'])
        torch.tensor('a')
        torch.tensor([1, None])
        torch.as_tensor('a')
    """,
    "creation": """
        torch.ones(-1)
        torch.ones(2.5)
        torch.ones(2, dtype='float32')
        torch.arange(0, 1, 0)
        torch.arange(1, 0)
        torch.linspace(0, 1, -1)
        torch.full((2,), 'x')
        torch.eye(-1)
        torch.randint(5, 5, (2,))
        torch.randperm(-1)
        torch.normal(0.0, -1.0, (2,))
        torch.Tensor('a')
        a.uniform_(1, 0)
        a.normal_(0, -1)
        a.bernoulli_(1.5)
    """,
    "arguments": """
        a + 'x'
        a + None
        a + [1]
        a.add('x')
        a.add(a, foo=1)
        a.copy_('x')
        a.reshape('x')
        a.mean(0, keepdim=1)
        torch.relu()
        torch.relu('x')
        torch.relu(a, a)
        torch.sum('x')
        torch.cat(a)
        torch.cat([a, 1])
        a.foo
    """,
    "devices": """
        a.to('nowhere')
        torch.device('nowhere')
        torch.device('cuda:x')
        torch.device(-1)
    """,
    "gradients": """
        a.backward()
        h.backward()
        h.backward(torch.ones(2))
        w.sum().backward(torch.ones(2))
        s.backward(gradient='x')
        s.backward(); s.backward()
        e.sum().backward(); e.sum().backward()
        s.backward(); torch.autograd.grad(s, w)
        torch.autograd.grad(s, a)
        torch.autograd.grad(s, h)
        torch.autograd.grad(h, w)
        torch.autograd.grad(a.sum(), w)
        torch.autograd.grad(s, w, materialize_grads=True, allow_unused=False)
        torch.autograd.backward([s, s], [None])
        torch.autograd.backward(s, inputs=[])
        w.grad = torch.ones(2)
        w.grad = torch.ones(3, dtype=torch.float64)
        w.grad = n
        w.grad = 'x'
        w.grad = w
        w.data = 'x'
        w.data = n
        a.retain_grad()
        a.register_hook(print)
        a.register_post_accumulate_grad_hook(print)
        h.register_post_accumulate_grad_hook(print)
        h.requires_grad_(False)
        h.requires_grad = False
        n.requires_grad_()
        n.requires_grad = True
        torch.tensor([1, 2], requires_grad=True)
        torch.zeros(2, dtype=torch.bool, requires_grad=True)
        torch.mul(w, w, out=n.float())
    """,
    "in place": """
        w.add_(1)
        w.zero_()
        w[0] = 1.0
        w[:2].mul_(2)
        e.add_(1); e.sum().backward()
        q.mul_(2); s.backward()
        h.unbind()[0].add_(1)
        u.add_(1)
    """,
}


def rows() -> list[tuple[str, str]]:
    """Returns every line with its group."""
    return [(group, line.strip()) for group, lines in SNIPPETS.items() for line in lines.strip().splitlines()]


def objects(torch: ModuleType) -> dict[str, Any]:
    """Returns new objects for each line, so that a change by the line can be seen."""
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)  # a leaf
    h = w * 2
    q = w * 3
    with torch.no_grad():
        u = h[:2]  # a view made under no_grad
    return {
        "torch": torch, "F": torch.nn.functional, "nn": torch.nn, "np": np,
        "a": torch.ones(2, 3), "b": torch.ones(4), "d": torch.ones(2, 3, dtype=torch.float64), "o": torch.tensor(2.5),
        "z": torch.zeros(0), "n": torch.tensor([1, 2, 3]), "t": torch.tensor([True, False]), "c": torch.tensor([1 + 2j]),
        "w": w, "h": h, "q": q, "u": u, "e": torch.exp(w), "s": (q * q).sum(),
    }  # fmt: skip


def failure(torch: ModuleType, line: str) -> list[str]:
    """Returns type and text of the exception that the line raises."""
    try:
        exec(line, objects(torch))
    except Exception as error:
        return [type(error).__name__, str(error)]
    raise AssertionError(f"{line!r} does not fail")
