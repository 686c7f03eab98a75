"""torch.distributed.distributed_c10d: process groups, collectives, and what processes send each other."""

from ._buckets import GradBucket as GradBucket
from ._groups import (
    Backend as Backend,
    GroupMember as GroupMember,
    ProcessGroup as ProcessGroup,
    ReduceOp as ReduceOp,
    destroy_process_group as destroy_process_group,
    get_backend as get_backend,
    get_default_backend_for_device as get_default_backend_for_device,
    get_global_rank as get_global_rank,
    get_group_rank as get_group_rank,
    get_node_local_rank as get_node_local_rank,
    get_process_group_ranks as get_process_group_ranks,
    get_rank as get_rank,
    get_world_size as get_world_size,
    group as group,
    init_process_group as init_process_group,
    is_available as is_available,
    is_backend_available as is_backend_available,
    is_gloo_available as is_gloo_available,
    is_initialized as is_initialized,
    is_mpi_available as is_mpi_available,
    is_nccl_available as is_nccl_available,
    is_torchelastic_launched as is_torchelastic_launched,
    is_ucc_available as is_ucc_available,
    is_xccl_available as is_xccl_available,
    new_group as new_group,
    new_subgroups as new_subgroups,
    reduce_op as reduce_op,
    split_group as split_group,
)
from ._objects import (
    all_gather_object as all_gather_object,
    broadcast_object_list as broadcast_object_list,
    gather_object as gather_object,
    scatter_object_list as scatter_object_list,
)
from ._p2p import (
    P2POp as P2POp,
    batch_isend_irecv as batch_isend_irecv,
    irecv as irecv,
    isend as isend,
    recv as recv,
    recv_object_list as recv_object_list,
    send as send,
    send_object_list as send_object_list,
)
from ._stores import (
    FileStore as FileStore,
    HashStore as HashStore,
    PrefixStore as PrefixStore,
    Store as Store,
    TCPStore as TCPStore,
)
from ._tensors import (
    _all_gather_base as _all_gather_base,
    _reduce_scatter_base as _reduce_scatter_base,
    all_gather as all_gather,
    all_gather_coalesced as all_gather_coalesced,
    all_gather_into_tensor as all_gather_into_tensor,
    all_reduce as all_reduce,
    all_reduce_coalesced as all_reduce_coalesced,
    all_to_all as all_to_all,
    all_to_all_single as all_to_all_single,
    barrier as barrier,
    broadcast as broadcast,
    gather as gather,
    monitored_barrier as monitored_barrier,
    reduce as reduce,
    reduce_scatter as reduce_scatter,
    reduce_scatter_tensor as reduce_scatter_tensor,
    scatter as scatter,
)
from ._works import (
    Work as Work,
)
from .errors import (
    DistBackendError as DistBackendError,
    DistError as DistError,
    DistNetworkError as DistNetworkError,
    DistStoreError as DistStoreError,
)

for _value in list(globals().values()):
    # The public address of these objects is this module, whichever file defines them.
    if getattr(_value, "__module__", "").startswith("torchlike.distributed._"):
        _value.__module__ = __name__
