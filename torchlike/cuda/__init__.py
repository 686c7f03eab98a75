"""torch.cuda: the NVIDIA (or ROCm) devices that JAX sees, under PyTorch's names."""

from typing import TYPE_CHECKING

from ..engine import OutOfMemoryError as OutOfMemoryError
from . import amp as amp, memory as memory, random as random, streams as streams
from .devices import (
    _DeviceGuard as _DeviceGuard,
    can_device_access_peer as can_device_access_peer,
    current_device as current_device,
    device as device,
    device_count as device_count,
    device_of as device_of,
    get_arch_list as get_arch_list,
    get_device_capability as get_device_capability,
    get_device_name as get_device_name,
    get_device_properties as get_device_properties,
    init as init,
    is_available as is_available,
    is_bf16_supported as is_bf16_supported,
    is_initialized as is_initialized,
    set_device as set_device,
    synchronize as synchronize,
)
from .graphs import (
    CUDAGraph as CUDAGraph,
    graph as graph,
    graph_pool_handle as graph_pool_handle,
    is_current_stream_capturing as is_current_stream_capturing,
    make_graphed_callables as make_graphed_callables,
)
from .memory import (
    empty_cache as empty_cache,
    ipc_collect as ipc_collect,
    max_memory_allocated as max_memory_allocated,
    max_memory_cached as max_memory_cached,
    max_memory_reserved as max_memory_reserved,
    mem_get_info as mem_get_info,
    memory_allocated as memory_allocated,
    memory_cached as memory_cached,
    memory_reserved as memory_reserved,
    memory_stats as memory_stats,
    memory_summary as memory_summary,
    reset_max_memory_allocated as reset_max_memory_allocated,
    reset_peak_memory_stats as reset_peak_memory_stats,
    set_per_process_memory_fraction as set_per_process_memory_fraction,
)
from .queries import (
    clock_rate as clock_rate,
    default_generators as default_generators,
    device_memory_used as device_memory_used,
    get_gencode_flags as get_gencode_flags,
    get_sync_debug_mode as get_sync_debug_mode,
    has_half as has_half,
    host_memory_stats as host_memory_stats,
    host_memory_stats_as_nested_dict as host_memory_stats_as_nested_dict,
    list_gpu_processes as list_gpu_processes,
    memory_stats_as_nested_dict as memory_stats_as_nested_dict,
    memory_usage as memory_usage,
    power_draw as power_draw,
    set_sync_debug_mode as set_sync_debug_mode,
    temperature as temperature,
    utilization as utilization,
)
from .random import (
    get_rng_state as get_rng_state,
    get_rng_state_all as get_rng_state_all,
    initial_seed as initial_seed,
    manual_seed as manual_seed,
    manual_seed_all as manual_seed_all,
    seed as seed,
    seed_all as seed_all,
    set_rng_state as set_rng_state,
    set_rng_state_all as set_rng_state_all,
)
from .streams import (
    Event as Event,
    Stream as Stream,
    StreamContext as StreamContext,
    current_stream as current_stream,
    default_stream as default_stream,
    set_stream as set_stream,
    stream as stream,
)
from .tensors import (
    BFloat16Tensor as BFloat16Tensor,
    BoolTensor as BoolTensor,
    ByteTensor as ByteTensor,
    CharTensor as CharTensor,
    DoubleTensor as DoubleTensor,
    FloatTensor as FloatTensor,
    HalfTensor as HalfTensor,
    IntTensor as IntTensor,
    LongTensor as LongTensor,
    ShortTensor as ShortTensor,
)

if TYPE_CHECKING:  # imported when they are first asked for
    from . import graphs as graphs, nccl as nccl, nvtx as nvtx, profiler as profiler
