"""One of several processes that run functions of ``scenarios.py`` and its neighbours together.

It is started as `python member.py FRAMEWORK RANK SIZE STORE DESCRIPTOR`.
"""

import importlib
import os
import pickle
import sys
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def main(framework: str, rank: int, size: int, store: str, answers_to: int) -> None:
    sys.path.insert(0, str(ROOT))
    torch: Any = importlib.import_module(framework)
    importlib.import_module(f"{framework}.distributed.nn")
    from tests.distributed import checkpoint_scenarios, dtensor_scenarios, fully_sharded, parallel_scenarios, scenarios

    torch.set_num_threads(1)
    dist = torch.distributed
    dist.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=size, timeout=timedelta(seconds=40)
    )
    requests, answers = sys.stdin.buffer, os.fdopen(answers_to, "wb")
    while True:
        try:
            name, arguments = pickle.load(requests)
        except EOFError:
            return
        try:
            modules = scenarios, fully_sharded, dtensor_scenarios, parallel_scenarios, checkpoint_scenarios
            scenario: Any = next(getattr(module, name) for module in modules if hasattr(module, name))
            answer: Any = True, scenario(torch, *arguments)
        except Exception:
            answer = False, traceback.format_exc()
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
