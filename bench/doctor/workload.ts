/** A training as it is simulated: what its batches, steps, hosts and start cost. */

/** Processes of a host that compute on its CPUs; `gpuSeconds` is their step with a thread for each vCPU. */
interface Threads {
  readonly processes: number;
  readonly perProcess: number;
  /** A step takes this power of the threads for each vCPU as long, where they are more than one. */
  readonly exponent: number;
  /** What the second vCPU of a physical core does, as a share of the first. */
  readonly second: number;
}

/** Products of matrices in float32, a part of the accelerator's work. */
interface Products {
  readonly operations: number;
  /** The hooks see this share of them. */
  readonly seen: number;
  /** Of the published rates, in float32 and in tensor cores. */
  readonly reached: { readonly float32: number; readonly tensor: number };
}

export interface Workload {
  readonly seed: string;
  readonly type: string;
  readonly alternatives: readonly string[];
  readonly steps: number;
  /** The compute time of each host, as a factor. */
  readonly hosts: readonly number[];
  readonly workers: number;
  readonly batch: {
    readonly cpuSeconds: number;
    readonly bytes: number;
    /** Spread of the CPU time from batch to batch, as a share. */
    readonly jitter: number;
  };
  readonly mainCpuSeconds: number;
  readonly gpuSeconds: number;
  /** What the training process reads or decodes itself, before each step; one core's seconds. */
  readonly loopSeconds: number;
  /** Seconds that no hook accounts for, such as a validation, after every so many steps. */
  readonly pause: { readonly seconds: number; readonly everySteps: number };
  /** One worker of every host that needs longer, as a factor of CPU time; 1: none. */
  readonly lateWorker: number;
  readonly inOrder: boolean;
  /** Seconds of the one thread that brings each batch from the workers to the step, and how much of it bytes cost. */
  readonly handOver: { readonly seconds: number; readonly ofBytes: number };
  readonly threads: Threads | undefined;
  readonly products: Products | undefined;
  readonly memory: {
    readonly baseBytes: number;
    readonly workerBytes: number;
    readonly faultSeconds: number;
  };
  /** Of the accelerator's memory, with the batch as it is. */
  readonly gpuMemoryUsed: number;
  /** Of the workers' CPU time; null: not measured. */
  readonly decodeShare: number | null;
  readonly diskBytesPerSecond: number;
  /** Bytes that the network carries at its burst rate before it falls to its baseline. */
  readonly burstBytes: number;
  readonly save: { readonly seconds: number; readonly everySteps: number };
  /** Bytes on the wire of each host and step, and the share of the accelerator's time that hides them. */
  readonly exchange: { readonly bytes: number; readonly hidden: number };
  readonly data: { readonly bytes: number; readonly files: number };
  readonly inputMode: 'File' | 'FastFile';
  readonly installSeconds: number;
  readonly scriptSeconds: number;
  /** Cores of helper hosts, by what they are worth beside local ones. */
  readonly helperCores: number;
  /** How well a kernel written for one accelerator fits another. */
  readonly fit: number;
  /** The share of a batch's CPU time that can be spent when packing. */
  readonly preparable: number;
}
