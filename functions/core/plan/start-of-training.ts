/** When a training would begin: after the arrivals have settled and are packed, as former runs took for it. */
import type { ForecastInterval } from '../attempts/forecast.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { RunRecord } from '../runs/run-records.ts';
import type { Stores } from '../runs/stores.ts';

export interface StartOfTraining {
  readonly finishAt: { readonly low: string; readonly expected: string; readonly high: string };
}

interface Start {
  /** Of the batch. */
  readonly closeAt: Date;
  readonly notes: readonly string[];
  /** @param seconds from the decision to the end */
  of(seconds: ForecastInterval): StartOfTraining;
}

const FORMER_RUNS = 20;

export async function startOfTraining(
  { runs }: Pick<Stores, 'runs'>,
  {
    pipeline,
    now,
    isPacking,
  }: { readonly pipeline: Pipeline; readonly now: Date; readonly isPacking: boolean },
): Promise<Start> {
  const took = isPacking ? (await runs.list(pipeline.name, FORMER_RUNS)).flatMap(packingSeconds) : [];
  const settle = isPacking ? pipeline.settle.quietSeconds : 0;
  const sorted = took.toSorted((one, other) => one - other);
  const low = sorted[0] ?? 0;
  const before: ForecastInterval = {
    // They may have been quiet for long.
    low,
    expected: settle + (sorted[Math.floor(sorted.length / 2)] ?? 0),
    high: settle + (sorted.at(-1) ?? 0),
  };
  const at = (seconds: number): string => new Date(now.getTime() + seconds * 1_000).toISOString();
  return {
    closeAt: new Date(now.getTime() + settle * 1_000),
    notes:
      isPacking && took.length === 0
        ? ['no run of this pipeline has packed yet: the finish holds no time for packing']
        : [],
    of: (seconds) => ({
      finishAt: {
        low: at(before.low + seconds.low),
        expected: at(before.expected + seconds.expected),
        high: at(before.high + seconds.high),
      },
    }),
  };
}

/** From the close to the seal. A retry counts its own. */
function packingSeconds({ closedAt, sealedAt }: RunRecord): readonly number[] {
  const seconds = (Date.parse(sealedAt ?? '') - Date.parse(closedAt ?? '')) / 1_000;
  return seconds > 0 ? [seconds] : [];
}
