"""torch.profiler: the steps that are recorded, the tables and traces, and options that are refused."""

import gzip
import json
from typing import Any

import pytest

import torchlike as torch
from torchlike.autograd.profiler_util import EventList, FunctionEvent, events_of_xla, with_self_times
from torchlike.engine.recorder import recorder
from torchlike.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule


@record_function("decorated")
def work(depth=1):
    return work(depth - 1) if depth else torch.ones(4) * 2


def test_ranges_and_what_xla_ran_are_told(tmp_path):
    before = record_function("begun before")
    before.__enter__()
    with profile() as prof:
        with record_function("outer"):
            with record_function("inner"):
                kept = work()
    before.__exit__(None, None, None)
    sums = {event.key: event for event in prof.key_averages()}
    assert sums["decorated"].count == 2 and sums["outer"].count == 1 and "begun before" not in sums
    assert sums["outer"].cpu_time_total >= sums["inner"].cpu_time_total > 0
    assert len(sums) > 3, "XLA's operations are there as well: what was pending ran before the end"
    assert kept.tolist() == [2, 2, 2, 2]
    head, _, *lines = prof.key_averages().table(sort_by="cpu_time_total", row_limit=2, header="HEAD").splitlines()
    assert head == "HEAD" and lines[-1].startswith("Self CPU time total: ") and len(lines) == 6
    prof.add_metadata_json("rank", "[1]")
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert trace["rank"] == [1] and "outer" in {event.get("name") for event in trace["traceEvents"]}


def test_a_schedule_picks_the_steps(tmp_path):
    seen = []

    def ready(prof):
        seen.append((prof.step_num, [(event.key, event.count) for event in prof.key_averages() if "Step" in event.key]))
        torch.profiler.tensorboard_trace_handler(str(tmp_path), "me", use_gzip=True)(prof)

    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=1), on_trace_ready=ready) as prof:
        for _ in range(6):
            prof.step()
    assert seen == [(4, [("ProfilerStep*", 2)])]
    (file,) = tmp_path.iterdir()
    assert file.name.startswith("me.") and file.name.endswith(".pt.trace.json.gz")
    assert "traceEvents" in json.loads(gzip.decompress(file.read_bytes()))


def test_the_actions_of_a_schedule():
    def names(steps, count):
        return [steps(number) for number in range(count)]

    none, warm, record, save = (ProfilerAction(number) for number in range(4))
    assert names(schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=1), 7) == [
        none,
        none,
        warm,
        record,
        save,
        none,
        none,
    ]
    assert names(schedule(wait=1, warmup=1, active=1, skip_first_wait=1), 5) == [warm, save, none, warm, save]
    with pytest.warns(UserWarning, match="Profiler won't be using warmup, this can skew profiler results"):
        assert names(schedule(wait=0, warmup=0, active=1), 2) == [save, save]
    with pytest.raises(AssertionError, match=r"Got wait=-1 \(need >= 0\), warmup=0"):
        schedule(wait=-1, warmup=0, active=1)


def test_own_times_leave_out_what_lies_within():
    events = with_self_times(
        [
            FunctionEvent(1, "child", "a", 2, 5),
            FunctionEvent(2, "parent", "a", 0, 10),
            FunctionEvent(3, "grandchild", "a", 3, 4),
            FunctionEvent(4, "elsewhere", "b", 0, 10, device="device"),
        ]
    )
    assert {event.name: event.self_time for event in events} == {
        "parent": 7,
        "child": 2,
        "grandchild": 1,
        "elsewhere": 10,
    }
    table = EventList(events).key_averages().table(sort_by="self_cuda_time_total")
    assert "Self device time total: 10.000us" in table and table.splitlines()[3].split()[0] == "elsewhere"
    assert "Self CPU time total: 10.000us" in table


def test_a_device_tells_its_operations_once():
    def line(pid, tid, name):
        return {"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": name}}

    def run(pid, tid, name, **args):
        return {"ph": "X", "pid": pid, "tid": tid, "name": name, "ts": 1.0, "dur": 2.0, "args": args}

    names = {1: "/host:CPU", 2: "/device:GPU:0", 3: "/device:TPU:0"}
    events = [{"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}} for pid, name in names.items()]
    events += [
        line(1, 1, "python"),
        line(2, 1, "Stream #1"),
        line(2, 2, "XLA Ops"),
        line(3, 1, "XLA Ops"),
        line(3, 2, "Steps"),
    ]
    events += [run(1, 1, "dot", hlo_op="dot"), run(1, 1, "end: dot", hlo_op="dot"), run(1, 1, "ExecuteHelper")]
    events += [run(2, 1, "kernel"), run(2, 2, "kernel"), run(3, 1, "fusion"), run(3, 2, "1")]
    found = [
        (event.name, event.device, event.end_us - event.start_us) for event in events_of_xla({"traceEvents": events})
    ]
    assert found == [("dot", "cpu", 2), ("kernel", "device", 2), ("fusion", "device", 2)]


def test_one_profile_is_made_at_a_time():
    with profile(), pytest.raises(RuntimeError, match="Only one profile may be run at a time"):
        profile().start()


def test_shapes_and_memory_are_told_of_operations_that_run_one_by_one(tmp_path):
    a, b = torch.ones(4, 8, requires_grad=True), torch.ones(8, 2)
    with profile(record_shapes=True, profile_memory=True) as prof:
        with record_function("forward"):
            loss = (a @ b).sum()
        loss.backward()
        (torch.ones(3, 8) @ b).sum()
    by_name = {event.key: event for event in prof.key_averages()}
    assert by_name["mm"].count == 2 and by_name["mm"].cpu_memory_usage == 4 * 2 * 4 + 3 * 2 * 4
    assert by_name["forward"].cpu_time_total > by_name["sum"].cpu_time_total / 2 > 0
    by_shape = prof.key_averages(group_by_input_shape=True)
    shapes = sorted(event.input_shapes for event in by_shape if event.key == "mm")
    assert shapes == [((3, 8), (8, 2)), ((4, 8), (8, 2))]
    assert any("Backward" in event.key for event in by_shape)
    table = by_shape.table(sort_by="cpu_memory_usage")
    assert "[[4, 8], [8, 2]]" in table and "CPU Mem" in table and "Input Shapes" in table
    assert "Input Shapes" not in prof.key_averages().table()
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    assert a.grad.tolist() == [[2] * 8] * 4


def test_after_such_a_profile_operations_are_recorded_again():
    before = recorder().op_by_op
    with profile(record_shapes=True):
        assert recorder().op_by_op
    assert recorder().op_by_op == before


def test_what_is_not_supported_is_named():
    for name in ("with_flops", "with_modules"):
        wanted: dict[str, Any] = {name: True}
        with pytest.raises(NotImplementedError, match=rf"torch.profiler.profile\({name}=\) yet"):
            profile(**wanted)
    with pytest.raises(NotImplementedError, match=r"ProfilerActivity.XPU yet"):
        profile(activities=[ProfilerActivity.XPU])
    with pytest.raises(TypeError, match="unexpected keyword argument 'shapes'"):
        profile(shapes=True)
    with pytest.raises(AssertionError, match="No valid profiler activities found"):
        profile(activities=[])
    with pytest.raises(AssertionError, match="Profiler must be initialized before getting key averages"):
        profile().key_averages()
    if not torch.cuda.is_available():
        with pytest.warns(UserWarning, match="CUDA is not available, disabling CUDA profiling"):
            profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])


def test_the_profile_of_old():
    with torch.autograd.profiler.profile() as prof:
        with pytest.raises(RuntimeError, match="Profiler didn't finish running"):
            prof.key_averages()
        (torch.ones(3) + 1).tolist()
    assert prof.total_average().count > 0 and prof.self_cpu_time_total > 0
    with pytest.raises(NotImplementedError, match=r"key_averages\(group_by_stack_n=\) yet"):
        prof.key_averages(group_by_stack_n=2)
    with torch.autograd.profiler.profile(enabled=False) as nothing:
        assert nothing is None


@pytest.mark.parametrize("use_kineto", [True, False])
def test_either_of_pytorchs_recorders_can_be_asked_for(use_kineto):
    with torch.autograd.profiler.profile(use_kineto=use_kineto) as prof, record_function("mine"):
        torch.ones(2) + 1
    assert "mine" in [event.name for event in prof.function_events]


def test_events_know_what_lies_within_them():
    spans = [("a", 0, 2), ("a", 1, 3), ("b", 1, 2), ("a", 1, 2), ("a", 2, 3)]
    events = EventList(
        FunctionEvent(id=i, name="", thread=t, start_us=s, end_us=e) for i, (t, s, e) in enumerate(spans)
    )
    events._populate_cpu_children()
    assert [[child.id for child in event.cpu_children] for event in events] == [[], [3, 4], [], [], []]
    assert [event.self_cpu_time_total for event in events] == [2, 0, 1, 1, 1]
    assert events[1].time_range.elapsed_us() == 2


def test_ranges_by_operators_and_what_the_table_leaves_out():
    operators: Any = torch.ops.profiler  # pyright: ignore[reportAttributeAccessIssue]
    with torch.autograd.profiler.profile() as prof:
        outer = operators._record_function_enter("outer", None)
        inner = operators._record_function_enter_new("inner")
        operators._record_function_exit(inner)
        operators._record_function_exit(outer)
    sums = prof.key_averages()
    whole = sums.table(row_limit=-1, time_unit="s", max_src_column_width=5)
    assert "outer" in whole and "inner" in whole and "us " not in whole
    top = sums.table(row_limit=-1, top_level_events_only=True, max_name_column_width=4)
    assert "o..." in top and "i..." not in top
    with pytest.raises(ValueError, match="time_unit"):
        sums.table(time_unit="h")
