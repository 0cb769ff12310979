/** How fast one accelerator trains beside another, until an attempt has measured it, and which CUDA it understands. */
import data from './data/accelerators.json' with { type: 'json' };

type Row = readonly [string, number | null, number, number, number | null];
const rows = data.rows as unknown as readonly Row[];

export const acceleratorKinds = (): readonly string[] => [...new Set(rows.map(([kind]) => kind))];

/**
 * The geometric mean of 16-bit tensor throughput (TFLOP/s) and memory bandwidth (GB/s): training is bound by one or the
 * other. Only ratios mean anything. undefined for a kind that no source names.
 */
export function acceleratorSpeed(kind: string, memoryMib: number | undefined): number | undefined {
  const row = rows.find(([name, memory]) => name === kind && (memory === null || memory === memoryMib));
  return row && Math.sqrt(row[2] * row[3]);
}

/** NVIDIA's compute capability, such as 7.5; undefined for a kind without CUDA and for one that no source names. */
export const computeCapability = (kind: string): number | undefined =>
  rows.find(([name]) => name === kind)?.[4] ?? undefined;

/**
 * {@link acceleratorSpeed} of one vCPU: about 0.05 TFLOP/s with AVX-512 and 2 GB/s of the host's memory bandwidth. A stated prior: a
 * convolutional network trains some 650 times slower on a vCPU than on an A10G.
 */
export const VCPU_SPEED = Math.sqrt(0.05 * 2);
