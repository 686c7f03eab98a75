"""torch.utils.benchmark: measurements and tables. The texts are those of PyTorch 2.13."""

import pytest

import torchlike as torch
from torchlike.utils.benchmark import Compare, Language, Measurement, TaskSpec, Timer, select_unit

pytestmark = pytest.mark.recorded


def measured(times, **task):
    return Measurement(10, times, TaskSpec(**{"stmt": "x + y", "setup": "pass", **task}))


SEVERAL = [
    Measurement(100, [0.001, 0.0011, 0.00105, 0.0012], TaskSpec("x", "pass", "", "L", "S", "D")),
    measured([1e-4, 3e-4, 2e-4, 9e-4, 5e-4], stmt="x", label="L", sub_label="S2", description="D"),
    measured([1e-4, 3e-4], stmt="x", label="L", sub_label="S2", description="D2", num_threads=4),
    measured([2.1e-4, 2e-4], stmt="x", label="L", sub_label="S", description="D2", num_threads=4),
]


def test_a_measurement_sums_up_its_times():
    one = SEVERAL[0]
    assert (one.median, one.mean, one.significant_figures) == (1.075e-05, 1.0875e-05, 1)
    assert one.iqr == pytest.approx(8.75e-07) and one.meets_confidence() and not one.has_warnings
    assert (one.title, one.as_row_name, one.description, one.num_threads) == ("L: S", "S", "D", 1)
    assert repr(one).splitlines()[1:] == [
        "L: S",
        "D",
        "  Median: 10.75 us",
        "  IQR:    0.88 us (10.38 to 11.25)",
        "  4 measurements, 100 runs per measurement, 1 thread",
    ]


def test_a_measurement_warns_of_times_that_differ():
    assert repr(SEVERAL[1]).splitlines()[-2:] == [
        "  WARNING: Interquartile range is 100.0% of the median measurement.",
        "           This suggests significant environmental influence.",
    ]
    once = Measurement(1, [1.5], TaskSpec("x\ny", "import torch\nx=1", num_threads=2))
    assert repr(once).splitlines()[1:] == [
        "stmt:", "  x", "  y", "", "setup:", "  import torch", "  x=1", "", "  1.50 s", "  1 measurement, 1 runs , 2 threads",
    ]  # fmt: skip
    assert select_unit(3e-5) == ("us", 1e-06)


def test_measurements_are_compared_in_a_table():
    assert str(Compare(SEVERAL)) == (
        "[---------- L -----------]\n"
        "          |   D    |   D2 \n"
        "1 threads: ---------------\n"
        "      S   |  10.8  |      \n"
        "      S2  |  30.0  |      \n"
        "4 threads: ---------------\n"
        "      S2  |        |  20.0\n"
        "      S   |        |  20.5\n"
        "\n"
        "Times are in microseconds (us).\n"
    )
    table = Compare(SEVERAL)
    table.trim_significant_figures()
    table.colorize()
    best, end = "\033[92m\033[1m", "\033[0m\033[0m"
    assert f"      S   |  {best}10{end}  |    \n" in str(table)


def test_a_timer_measures_until_tensors_are_computed():
    x = torch.ones(50, 50)
    found = Timer("y = x @ x", globals={"x": x}).blocked_autorange(min_run_time=0.01)
    assert found.median > 0 and len(found.times) >= 1
    assert Timer("torch.ones(1)").timeit(3).number_per_run == 3
    assert Timer("pass").adaptive_autorange(min_run_time=0.001, max_run_time=0.05).raw_times
    with pytest.raises(NotImplementedError, match=r"in C\+\+"):
        Timer("x", language=Language.CPP)
    with pytest.raises(NotImplementedError, match="Callgrind"):
        Timer("pass").collect_callgrind()
