"""`--run data_server DISPATCHER [--dispatch] --worker HOST:PORT`: a helper's part of tf.data
service, which runs until it is killed."""

from __future__ import annotations

import argparse
import os
import threading

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("dispatcher")
    parser.add_argument("--dispatch", action="store_true")
    parser.add_argument("--worker", required=True)
    arguments = parser.parse_args()
    import tensorflow as tf

    service = tf.data.experimental.service
    dispatcher = None
    if arguments.dispatch:
        port = int(arguments.dispatcher.rsplit(":", 1)[1])
        dispatcher = service.DispatchServer(service.DispatcherConfig(port=port))
    worker = service.WorkerServer(
        service.WorkerConfig(
            dispatcher_address=arguments.dispatcher,
            worker_address=arguments.worker,
            port=int(arguments.worker.rsplit(":", 1)[1]),
        )
    )
    print(
        f"data service: worker {arguments.worker} of dispatcher {arguments.dispatcher}", flush=True
    )
    threading.Event().wait()
    del dispatcher, worker


if __name__ == "__main__":
    main()
