/** How fast one accelerator trains beside another, until an attempt has measured it, and which CUDA it understands. */
import data from '../data/accelerators.json' with { type: 'json' };

type Row = readonly [
  kind: string,
  memoryMib: number | null,
  tensorTflops: number,
  memoryGigabytesPerSecond: number,
  computeCapability: number | null,
  float32Tflops: number | null,
  tf32Tflops: number | null,
];
const rows = data.rows as unknown as readonly Row[];

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

/** Floating-point operations a second at the most, as published. */
export interface ArithmeticRates {
  readonly float32: number;
  /** undefined for a kind without TF32. */
  readonly tf32: number | undefined;
  readonly bits16: number;
}

const TERA = 1e12;

/** undefined for a kind of which a rate is not known. */
export function arithmeticRates(kind: string): ArithmeticRates | undefined {
  const row = rows.find(([name]) => name === kind);
  if (row === undefined) return undefined;
  const [, , bits16, , , float32, tf32] = row;
  if (float32 === null) return undefined;
  return {
    float32: float32 * TERA,
    tf32: tf32 === null ? undefined : tf32 * TERA,
    bits16: bits16 * TERA,
  };
}

/**
 * {@link acceleratorSpeed} of one vCPU: about 0.05 TFLOP/s with AVX-512 and 2 GB/s of the host's memory bandwidth. A stated prior: a
 * convolutional network trains some 650 times slower on a vCPU than on an A10G.
 */
export const VCPU_SPEED = Math.sqrt(0.05 * 2);
