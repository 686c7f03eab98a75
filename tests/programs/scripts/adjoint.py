"""A neural differential equation, differentiated by the adjoint method."""

import torch, torch.nn as nn, math


class ODEF(nn.Module):
    def forward_with_grad(self, z, t, grad_outputs):
        bs = z.shape[0]
        out = self.forward(z, t)
        a = grad_outputs
        adfdz, adfdt, *adfdp = torch.autograd.grad(
            (out,), (z, t) + tuple(self.parameters()), grad_outputs=(a), allow_unused=True, retain_graph=True
        )
        if adfdp is not None:
            adfdp = torch.cat([p.flatten() for p in adfdp]).unsqueeze(0)
            adfdp = adfdp.expand(bs, -1) / bs
        if adfdt is not None:
            adfdt = adfdt.expand(bs, 1) / bs
        return out, adfdz, adfdt, adfdp

    def flatten_parameters(self):
        return torch.cat([p.flatten() for p in self.parameters()])


def ode_solve(z0, t0, t1, f):
    n = math.ceil((abs(t1 - t0) / 0.1).max().item())
    h = (t1 - t0) / n
    t = t0
    z = z0
    for _ in range(n):
        z = z + h * f(z, t)
        t = t + h
    return z


class Adjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z0, t, flat, func):
        with torch.no_grad():
            z = torch.zeros(t.size(0), *z0.size()).to(z0)
            z[0] = z0
            for i in range(t.size(0) - 1):
                z0 = ode_solve(z0, t[i], t[i + 1], func)
                z[i + 1] = z0
        ctx.func = func
        ctx.save_for_backward(t, z.clone(), flat)
        return z

    @staticmethod
    def backward(ctx, dLdz):
        func = ctx.func
        t, z, flat = ctx.saved_tensors
        T, bs, *zs = z.size()
        nd = 1
        for d in zs:
            nd *= d
        npar = flat.size(0)

        def aug(az, ti):
            zi, a = az[:, :nd], az[:, nd : 2 * nd]
            zi = zi.view(bs, *zs)
            a = a.view(bs, *zs)
            with torch.set_grad_enabled(True):
                ti = ti.detach().requires_grad_(True)
                zi = zi.detach().requires_grad_(True)
                fe, adz, adt, adp = func.forward_with_grad(zi, ti, grad_outputs=a)
                adz = adz.to(zi) if adz is not None else torch.zeros(bs, *zs)
                adp = adp.to(zi) if adp is not None else torch.zeros(bs, npar)
                adt = adt.to(zi) if adt is not None else torch.zeros(bs, 1)
            return torch.cat((fe.view(bs, nd), -adz.view(bs, nd), -adp, -adt), dim=1)

        dLdz = dLdz.view(T, bs, nd)
        with torch.no_grad():
            adj_z = torch.zeros(bs, nd).to(dLdz)
            adj_p = torch.zeros(bs, npar).to(dLdz)
            adj_t = torch.zeros(T, bs, 1).to(dLdz)
            for i in range(T - 1, 0, -1):
                zi, ti = z[i], t[i]
                fi = func(zi, ti).view(bs, nd)
                dz = dLdz[i]
                dt = torch.bmm(torch.transpose(dz.unsqueeze(-1), 1, 2), fi.unsqueeze(-1))[:, 0]
                adj_z += dz
                adj_t[i] = adj_t[i] - dt
                az = torch.cat((zi.view(bs, nd), adj_z, torch.zeros(bs, npar).to(z), adj_t[i]), dim=-1)
                ans = ode_solve(az, ti, t[i - 1], aug)
                adj_z[:] = ans[:, nd : 2 * nd]
                adj_p[:] += ans[:, 2 * nd : 2 * nd + npar]
                adj_t[i - 1] = ans[:, 2 * nd + npar :]
                del az, ans
            dz0 = dLdz[0]
            adj_z += dz0
        return adj_z.view(bs, *zs), adj_t, adj_p, None


class Net(ODEF):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(3, 8)
        self.l2 = nn.Linear(8, 2)
        self.elu = nn.ELU(inplace=True)

    def forward(self, x, t):
        return self.l2(self.elu(self.l1(torch.cat((x, t.reshape(1, 1).expand(x.shape[0], 1)), 1))))


torch.manual_seed(0)
f = Net()
z0 = torch.randn(4, 2, requires_grad=True)
t = torch.linspace(0, 1, 4)
target = torch.stack([z0.detach() * math.exp(-x) for x in t])
opt = torch.optim.SGD(f.parameters(), lr=0.05, momentum=0.9, nesterov=True)
for i in range(6):
    z = Adjoint.apply(z0, t, f.flatten_parameters(), f)
    loss = torch.nn.functional.mse_loss(z, target)
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
    print(f"{loss.item():.5f}", z.grad_fn.name(), [round(p.grad.norm().item(), 4) for p in f.parameters()])
print(z0.grad)


def rk4(f, y, t, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]], dtype=torch.double)
y = torch.tensor([[2.0, 0.0]], dtype=torch.double)
ys = [y]
for ti in torch.linspace(0, 2, 21)[:-1]:
    ys.append(rk4(lambda t, y: torch.mm(y, A), ys[-1], ti, 0.1))
print(torch.cat(ys)[::5], torch.linalg.matrix_exp(A * 2).T @ ys[0][0] if False else ys[0] @ torch.matrix_exp(A * 2))
