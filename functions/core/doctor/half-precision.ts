/** 16-bit arithmetic on an accelerator that has it. Nothing measured tells whether a script computes so already. */
import { computeCapability } from '../catalog/accelerators.ts';
import type { Evidence } from './evidence.ts';
import type { Option } from './gain.ts';
import type { Measures } from './measures.ts';

/** NVIDIA's Ampere and later multiply bfloat16 in their tensor cores. */
const LEAST_CAPABILITY = 8;
/** What it brings at most: tensor cores do twice the operations, and memory moves half of the bytes. */
const HALVED = 0.5;

/** @returns undefined without an accelerator that was measured and has bfloat16 */
export function halfPrecision({ instance }: Evidence, { pace }: Measures): Option | undefined {
  const { accelerator } = instance.facts;
  const capability = accelerator === undefined ? undefined : computeCapability(accelerator);
  if (pace.gpuBusy === undefined || capability === undefined || capability < LEAST_CAPABILITY)
    return undefined;
  const work = pace.gpuBusy * pace.stepSeconds;
  return {
    change: { kind: 'bf16' },
    // Halfway between nothing, for a script that computes in 16 bits, and all of it.
    stepSeconds: pace.stepSeconds - (HALVED * work) / 2,
    modelError: 1,
    unknown: [
      'whether the script computes in 16 bits already: then it brings nothing',
      'what it does to the loss',
    ],
  };
}
