/** Pipelines and the newest runs: for the bar of every screen, and for the screen "Now". */
import { useEffect } from 'preact/hooks';
import { address } from './address.ts';
import type { AnswerOf } from './api.ts';
import { type RunPages, useRuns } from './pages.ts';
import { type PageReading, useReading } from './readings.ts';

const PIPELINES = 100;
const RUNS = 200;
const POLL_SECONDS = 5;
const PIPELINES_POLL_SECONDS = 15;
/** Beside another screen. */
const BESIDE_SECONDS = 300;

export interface Overview {
  readonly pipelines: PageReading<AnswerOf<'listPipelines'>>;
  readonly runs: RunPages;
}

export function useOverview(): Overview {
  const isNow = address.value.path.length === 0;
  const after = address.value.query.get('after') ?? undefined;
  const pipelines = useReading('listPipelines', { limit: PIPELINES, nextToken: after }, () =>
    isNow ? PIPELINES_POLL_SECONDS : BESIDE_SECONDS,
  );
  const runs = useRuns({ limit: RUNS }, () => (isNow ? POLL_SECONDS : BESIDE_SECONDS));
  useEffect(() => {
    if (!isNow || pipelines.body === undefined) return;
    pipelines.again();
    runs.again();
  }, [isNow]);
  return { pipelines, runs };
}
