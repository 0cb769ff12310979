/** What waits for a person, and not for the service. */
import type { Operations } from '../../client/operations.ts';
import { causeOf } from './format.ts';

type Pipeline = Operations['listPipelines']['answer']['pipelines'][number];
type Run = Operations['listRuns']['answer']['runs'][number];

/** @field run absent: the declaration is not valid */
export interface Need {
  readonly pipeline: string;
  readonly run?: Run;
  readonly text: string;
  readonly more?: string;
}

/** The newest run of a pipeline where it failed and no person knows, and declarations that are not valid. */
export function needsOf(pipelines: readonly Pipeline[], runs: readonly Run[]): readonly Need[] {
  const newest = [...Map.groupBy(runs, ({ pipeline }) => pipeline).values()].flatMap(([run]) => run ?? []);
  const failed = newest.filter(({ status, acknowledgement }) => status === 'failed' && !acknowledgement);
  return [
    ...failed.map((run) => {
      const { cause, ...more } = causeOf(run.failure ?? 'it gives no reason');
      return { pipeline: run.pipeline, run, text: cause, ...more };
    }),
    ...pipelines
      .filter(({ valid }) => !valid)
      .map(({ name, problems = [] }) => ({
        pipeline: name,
        text: problems.map(({ path, message }) => `${path}: ${message}`).join('; '),
      })),
  ];
}
