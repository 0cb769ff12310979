/**
 * Arithmetic in fewer bits, on an accelerator whose tensor cores have it. Its forecast stands on published rates; what
 * is not known is how much of the accelerator's time is products of matrices, which alone get faster at these rates.
 */
import { arithmeticRates, computeCapability } from '@tidewheel/catalog/speeds.ts';
import type { Arithmetic } from '@tidewheel/contract/evidence.ts';
import type { Evidence } from './evidence.ts';
import type { DoctorFinding, Option } from './gain.ts';
import type { HostMeasures, Measures } from './measures.ts';
import type { Change } from './verdict.ts';

/** NVIDIA's Volta and later multiply float16 in tensor cores; Ampere and later bfloat16 and TF32 as well. */
const LEAST_CAPABILITY = 7;
/** Of their published rate, what tensor cores reach at the least where CUDA cores reach all of theirs. */
const REACHED = 0.5;
/** A process that computes less of its operations in more than 16 bits does so on purpose. */
const LEAST_SHARE = 0.5;
/** More than this share of waiting for loader workers: faster steps would wait longer instead. */
const WAITING = 0.05;

type Kind = Exclude<keyof Arithmetic, 'line'>;
type NarrowChange = Extract<Change, { readonly kind: 'bf16' | 'fp16' }>;
type Seconds = Readonly<Record<Kind, number>>;

/** A step of an accelerator that multiplies, for the time that it is busy. */
interface Work {
  readonly seconds: number;
  /** Without TF32 such operations are those of float32. */
  readonly rates: Record<Kind, number>;
  readonly narrow: 'bf16' | 'fp16';
}

function workOf({ instance }: Evidence, { gpuBusy, stepSeconds }: HostMeasures): Work | undefined {
  const { accelerator } = instance.facts;
  if (accelerator === undefined || gpuBusy === undefined) return undefined;
  const rates = arithmeticRates(accelerator);
  if (rates === undefined || (computeCapability(accelerator) ?? 0) < LEAST_CAPABILITY) return undefined;
  const narrow = rates.tf32 === undefined ? 'fp16' : 'bf16';
  return { seconds: gpuBusy * stepSeconds, rates: { ...rates, tf32: rates.tf32 ?? rates.float32 }, narrow };
}

/** What multiplies in more than 16 bits, and does little else; undefined where nothing shows it. */
export function precisionFinding(evidence: Evidence, { pace }: Measures): DoctorFinding | undefined {
  const { arithmetic } = pace;
  const work = workOf(evidence, pace);
  if (work === undefined || arithmetic === undefined || isIn16Bits(arithmetic)) return undefined;
  if (pace.workers > 0 && pace.wait > WAITING * pace.stepSeconds) return undefined;
  const operations = arithmetic.float32 + arithmetic.tf32 + arithmetic.bits16;
  const change: NarrowChange = { kind: work.narrow, line: arithmetic.line ?? undefined };
  const toTf32 = option(pace, work, arithmetic, { kind: 'tf32' });
  return {
    cause: 'compute-bound-in-float32',
    evidence: {
      float32Share: arithmetic.float32 / operations,
      tf32Share: arithmetic.tf32 / operations,
      teraflopsPerStep: operations / 1e12,
      gpuBusy: pace.gpuBusy ?? 0,
      matrixShareAtLeast: sumOf(least(work, arithmetic)) / work.seconds,
      rateRatio: work.rates.bits16 / work.rates.float32,
    },
    ...option(pace, work, arithmetic, change),
    others: work.narrow === 'bf16' && arithmetic.float32 > LEAST_SHARE * operations ? [toTf32] : [],
    next: 'the accelerator',
  };
}

const isIn16Bits = ({ float32, tf32, bits16 }: Arithmetic): boolean =>
  float32 + tf32 < LEAST_SHARE * (float32 + tf32 + bits16);

const sumOf = ({ float32, tf32, bits16 }: Seconds): number => float32 + tf32 + bits16;

/** Seconds of a step that the observed operations take at the published rates: they take no less. */
function least({ seconds, rates }: Work, { float32, tf32, bits16 }: Arithmetic): Seconds {
  const each = { float32: float32 / rates.float32, tf32: tf32 / rates.tf32, bits16: bits16 / rates.bits16 };
  const scale = Math.min(1, seconds / sumOf(each));
  return { float32: each.float32 * scale, tf32: each.tf32 * scale, bits16: each.bits16 * scale };
}

/** The gain lies between that of the least time that the operations take, and that of all the time. */
function option(
  { stepSeconds }: HostMeasures,
  work: Work,
  arithmetic: Arithmetic,
  change: NarrowChange | Extract<Change, { readonly kind: 'tf32' }>,
): Option {
  const known = least(work, arithmetic);
  const whole = work.seconds / sumOf(known);
  const kinds: readonly Kind[] = change.kind === 'tf32' ? ['float32'] : ['float32', 'tf32'];
  const target = work.rates[change.kind === 'tf32' ? 'tf32' : 'bits16'];
  const saved = (seconds: number, kind: Kind, reached: number): number =>
    seconds * Math.max(0, 1 - work.rates[kind] / (reached * target));
  const low = kinds.reduce((sum, kind) => sum + saved(known[kind], kind, REACHED), 0);
  const high = kinds.reduce((sum, kind) => sum + saved(whole * known[kind], kind, 1), 0);
  return between(stepSeconds, low, high, {
    change,
    unknown: ['how much of the work is products of matrices', 'what it does to the loss'],
  });
}

function between(
  stepSeconds: number,
  low: number,
  high: number,
  rest: Pick<Option, 'change' | 'unknown'>,
): Option {
  const expected = (low + high) / 2;
  return {
    ...rest,
    stepSeconds: stepSeconds - expected,
    modelError: expected === 0 ? 0 : (high - low) / (high + low),
  };
}

/** Where nothing tells in what a script computes. @returns undefined without such an accelerator, or in 16 bits */
export function halfPrecision(evidence: Evidence, { pace }: Measures): Option | undefined {
  const work = workOf(evidence, pace);
  if (work === undefined || pace.arithmetic !== undefined) return undefined;
  const { float32, bits16 } = work.rates;
  return between(pace.stepSeconds, 0, work.seconds * (1 - float32 / bits16), {
    change: { kind: work.narrow, line: undefined },
    unknown: [
      'whether the script computes in 16 bits already: then it brings nothing',
      'what it does to the loss',
    ],
  });
}

/** Whether 16 bits are another arithmetic than today's, and a faster one: not on a CPU. */
export const gainsBy16Bits = (evidence: Evidence, { pace }: Measures): boolean =>
  workOf(evidence, pace) !== undefined && (pace.arithmetic === undefined || !isIn16Bits(pace.arithmetic));
