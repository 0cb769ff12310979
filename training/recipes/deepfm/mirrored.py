"""The strategies whose devices hold the same variables, and how they sum gradients."""

from typing import Any

import tensorflow as tf

ON_ONE_HOST = {
    "nccl": tf.distribute.NcclAllReduce,
    "hierarchical-copy": tf.distribute.HierarchicalCopyAllReduce,
    "reduction-to-one-device": tf.distribute.ReductionToOneDevice,
}
_Implementation = tf.distribute.experimental.CommunicationImplementation
ON_SEVERAL = {"nccl": _Implementation.NCCL, "ring": _Implementation.RING}


def mirrored_strategy(cross_device_ops: str, workers: int) -> Any:  # noqa: ANN401
    """Mirrors over the hosts of TF_CONFIG, or on one host over its GPUs or its CPU's devices."""
    choices = ON_SEVERAL if workers > 1 else ON_ONE_HOST
    if cross_device_ops != "auto" and cross_device_ops not in choices:
        hosts = "one host" if workers == 1 else f"{workers} hosts"
        raise ValueError(
            f"cross_device_ops={cross_device_ops}: on {hosts} choose one of "
            f"auto, {', '.join(choices)}"
        )
    # Logical devices start TensorFlow, and the strategy of several hosts must come before.
    if cross_device_ops == "nccl" and not tf.config.list_physical_devices("GPU"):
        raise ValueError("cross_device_ops=nccl needs GPUs: leave it out")
    if workers > 1:
        implementation = ON_SEVERAL.get(cross_device_ops, _Implementation.RING)
        return tf.distribute.MultiWorkerMirroredStrategy(
            communication_options=tf.distribute.experimental.CommunicationOptions(
                implementation=implementation
            )
        )
    devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
    make = ON_ONE_HOST.get(cross_device_ops)
    return tf.distribute.MirroredStrategy(
        [device.name for device in devices], make() if make else None
    )
