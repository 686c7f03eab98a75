"""Deep Q-learning with noisy layers, replay and a sum tree."""

import math, random
from collections import namedtuple, deque
from itertools import count
import numpy as np
import torch, torch.nn as nn, torch.optim as optim, torch.nn.functional as F

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class ReplayMemory(object):
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, n):
        return random.sample(self.memory, n)

    def __len__(self):
        return len(self.memory)


class SumTree:
    def __init__(self, n):
        self.t = torch.zeros(2 * n, dtype=torch.float64)
        self.n = n

    def set(self, i, v):
        i += self.n
        self.t[i] = v
        i //= 2
        while i:
            self.t[i] = self.t[2 * i] + self.t[2 * i + 1]
            i //= 2

    def find(self, s):
        i = 1
        while i < self.n:
            i *= 2
            if s > self.t[i]:
                s -= self.t[i]
                i += 1
        return i - self.n


class NoisyLinear(nn.Module):
    def __init__(self, i, o, s=0.5):
        super().__init__()
        self.i, self.o, self.s = i, o, s
        self.wm = nn.Parameter(torch.empty(o, i))
        self.ws = nn.Parameter(torch.empty(o, i))
        self.register_buffer("we", torch.empty(o, i))
        self.bm = nn.Parameter(torch.empty(o))
        self.bs = nn.Parameter(torch.empty(o))
        self.register_buffer("be", torch.empty(o))
        r = 1 / math.sqrt(i)
        self.wm.data.uniform_(-r, r)
        self.bm.data.uniform_(-r, r)
        self.ws.data.fill_(s / math.sqrt(i))
        self.bs.data.fill_(s / math.sqrt(o))
        self.reset_noise()

    def _scale(self, n):
        x = torch.randn(n)
        return x.sign().mul_(x.abs().sqrt_())

    def reset_noise(self):
        a, b = self._scale(self.i), self._scale(self.o)
        self.we.copy_(b.ger(a))
        self.be.copy_(b)

    def forward(self, x):
        return (
            F.linear(x, self.wm + self.ws * self.we, self.bm + self.bs * self.be)
            if self.training
            else F.linear(x, self.wm, self.bm)
        )


class Dueling(nn.Module):
    def __init__(self, n=4, a=2):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(n, 32), nn.ReLU())
        self.v = NoisyLinear(32, 1)
        self.a = NoisyLinear(32, a)

    def forward(self, x):
        h = self.f(x)
        a = self.a(h)
        return self.v(h) + a - a.mean(1, keepdim=True)

    def reset_noise(self):
        for n, m in self.named_children():
            if isinstance(m, NoisyLinear):
                m.reset_noise()


random.seed(0)
np.random.seed(0)
torch.manual_seed(0)
policy, target = Dueling(), Dueling()
target.load_state_dict(policy.state_dict())
target.eval()
opt = optim.AdamW(policy.parameters(), lr=1e-3, amsgrad=True)
mem = ReplayMemory(200)
rng = np.random.default_rng(2)
steps = 0


def select(state):
    global steps
    eps = 0.05 + 0.85 * math.exp(-1.0 * steps / 50)
    steps += 1
    if random.random() > eps:
        with torch.no_grad():
            return policy(state).max(1).indices.view(1, 1)
    return torch.tensor([[rng.integers(2)]], dtype=torch.long)


def optimize():
    if len(mem) < 16:
        return None
    b = Transition(*zip(*mem.sample(16)))
    mask = torch.tensor(tuple(map(lambda s: s is not None, b.next_state)), dtype=torch.bool)
    nf = torch.cat([s for s in b.next_state if s is not None])
    q = policy(torch.cat(b.state)).gather(1, torch.cat(b.action))
    nv = torch.zeros(16)
    with torch.no_grad():
        nv[mask] = target(nf).max(1).values
    loss = nn.SmoothL1Loss()(q, ((nv * 0.9) + torch.cat(b.reward)).unsqueeze(1))
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy.parameters(), 100)
    opt.step()
    return loss.item()


for ep in range(4):
    s = torch.tensor(rng.standard_normal(4), dtype=torch.float32).unsqueeze(0)
    tot = 0
    l = None
    for t in count():
        a = select(s)
        ns = s.numpy()[0] * 0.9
        ns[a.item()] += 0.2
        r = torch.tensor([float(-abs(ns[0]))])
        tot += r.item()
        done = t >= 14 or abs(ns[0]) > 1.4
        n2 = None if done else torch.tensor(ns, dtype=torch.float32).unsqueeze(0)
        mem.push(s, a, n2, r)
        s = n2
        l = optimize()
        policy.reset_noise()
        td, pd = target.state_dict(), policy.state_dict()
        for k in pd:
            td[k] = pd[k] * 0.05 + td[k] * 0.95
        target.load_state_dict(td)
        if done:
            break
    print(ep, t, f"{tot:.4f}", None if l is None else f"{l:.5f}")
st = SumTree(8)
for i in range(8):
    st.set(i, (i + 1) * 0.5)
print(st.t, [st.find(torch.tensor(v, dtype=torch.float64)) for v in (0.1, 3.0, 9.0, 17.9)])
