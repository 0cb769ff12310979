/** Pipelines and the newest runs: for the bar of every screen, and for the screen "Now". */
import { useEffect } from 'preact/hooks';
import { address } from './address.ts';
import { useRuns } from './pages.ts';
import { useReading } from './readings.ts';

const PIPELINES = 100;
const RUNS = 200;
const POLL_SECONDS = 5;
const PIPELINES_POLL_SECONDS = 15;
const MODELS_POLL_SECONDS = 60;
/** Beside another screen. */
const BESIDE_SECONDS = 300;

export type Overview = ReturnType<typeof useOverview>;

export function useOverview() {
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
