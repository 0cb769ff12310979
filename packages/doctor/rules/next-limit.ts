/** What limits the steps once a cause is gone: the largest part of a step that is left. */
import type { HostMeasures, Measures } from './measures.ts';
import type { Cause } from './verdict.ts';

type Part = 'wait' | 'compute' | 'save' | 'exchange';

const NAMES: Readonly<Record<Part, string>> = {
  wait: 'the input: steps wait for batches',
  compute: 'the accelerator',
  save: 'saving',
  exchange: 'the exchange of gradients',
};

/** The part of a step that each cause takes; the start of a job takes none. */
const PART_OF: Readonly<Partial<Record<Cause, Part>>> = {
  'checkpoint-stall': 'save',
  'gradient-exchange': 'exchange',
  'scaled-out': 'exchange',
};

/** Less than this share of a step is no limit. */
const LEAST = 0.05;

export function nextAfter(cause: Cause, { pace }: Measures): string {
  const gone = PART_OF[cause];
  const parts: readonly (readonly [Part, number])[] = [
    ['wait', pace.wait],
    ['save', pace.save],
    ['exchange', pace.exchange],
  ];
  const [first] = parts
    .filter(([part, seconds]) => part !== gone && seconds >= LEAST * pace.stepSeconds)
    .toSorted((a, b) => b[1] - a[1]);
  if (first !== undefined) return NAMES[first[0]];
  return pace.gpuBusy === undefined ? 'computing' : computing(pace, pace.gpuBusy);
}

/** From this share of the computing time on, the accelerator is the limit of it. */
const BUSY = 0.5;

const computing = ({ compute, stepSeconds }: HostMeasures, gpuBusy: number): string =>
  gpuBusy >= (BUSY * compute) / stepSeconds ? NAMES.compute : 'the training process, whose accelerator idles';
