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
const MODELS_POLL_SECONDS = 60;
/** Beside another screen. */
const BESIDE_SECONDS = 300;

export interface Overview {
  readonly models: PageReading<AnswerOf<'listModels'>>;
  readonly pipelines: PageReading<AnswerOf<'listPipelines'>>;
  readonly runs: RunPages;
}

export function useOverview(): Overview {
  const [screen] = address.value.path;
  const [isNow, isModels] = [screen === undefined, screen === 'models'];
  const page = { limit: PIPELINES, nextToken: address.value.query.get('after') ?? undefined };
  const every = (seconds: number) => () => (isNow ? seconds : BESIDE_SECONDS);
  const pipelines = useReading('listPipelines', page, every(PIPELINES_POLL_SECONDS));
  const shown = () => (isNow || isModels ? MODELS_POLL_SECONDS : BESIDE_SECONDS);
  const models = useReading('listModels', page, shown);
  const runs = useRuns({ limit: RUNS }, every(POLL_SECONDS));
  useEffect(() => {
    if (pipelines.body === undefined) return;
    if (isNow || isModels) models.again();
    if (isNow) for (const each of [pipelines, runs]) each.again();
  }, [isNow, isModels]);
  return { models, pipelines, runs };
}
