"""Run in several processes, of which one fails in a given way: `python failing.py WAY`. The others print their error."""

import os
import sys
import time
from datetime import timedelta

import torchlike as torch
from torchlike import distributed as dist

way = sys.argv[1]
seconds = 2 if way == "stalls" else 100
dist.init_process_group("gloo", timeout=timedelta(seconds=seconds))
rank = dist.get_rank()
x = torch.ones(2) * rank
dist.all_reduce(x)
assert x.tolist() == [1.0, 1.0]
dist.barrier()
begin = time.monotonic()
if way == "raises" and rank == 1:
    raise ValueError("mine")
if way == "raises first" and rank == 0:
    raise ValueError("mine")
if way == "raises before the other calls" and rank == 1:
    raise ValueError("mine")
if way == "raises before the other calls":
    time.sleep(1.0)
if way in ("is killed", "is killed and the other sleeps") and rank == 1:
    os.kill(os.getpid(), 9)
if way == "is killed first" and rank == 0:
    os.kill(os.getpid(), 9)
if way == "is killed and the other sleeps":
    time.sleep(50)
if way == "stalls" and rank == 1:
    time.sleep(8)
    os._exit(0)
if way == "leaves" and rank == 1:
    sys.exit(0)
try:
    if way == "calls something else" and rank == 1:
        dist.broadcast(x, 0)
    else:
        dist.all_reduce(x)
    print(x)
except dist.DistBackendError as error:
    print(f"{time.monotonic() - begin:.2f} {error}", flush=True)
    sys.exit(5)
