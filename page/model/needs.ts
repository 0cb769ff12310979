/** What waits for a person, and not for the service. */
import type { Operations } from '../../client/operations.ts';
import { causeOf } from './format.ts';

type Pipeline = Operations['listPipelines']['answer']['pipelines'][number];
type Run = Operations['listRuns']['answer']['runs'][number];

export type Need =
  | { readonly kind: 'declaration'; readonly pipeline: string; readonly text: string }
  | { readonly kind: 'failure'; readonly run: Run; readonly text: string; readonly more?: string };

/** Declarations that are not valid, and the newest run of a pipeline where it failed and nobody knows. */
export function needsOf(pipelines: readonly Pipeline[], runs: readonly Run[]): readonly Need[] {
  const newest = new Map<string, Run>();
  for (const run of runs) if (!newest.has(run.pipeline)) newest.set(run.pipeline, run);
  const failed = [...newest.values()].filter(
    ({ status, acknowledgement }) => status === 'failed' && acknowledgement === undefined,
  );
  return [
    ...failed.map((run): Need => {
      const { cause, ...more } = causeOf(run.failure ?? 'it gives no reason');
      return { kind: 'failure', run, text: cause, ...more };
    }),
    ...pipelines
      .filter(({ valid }) => !valid)
      .map(({ name, problems }): Need => ({ kind: 'declaration', pipeline: name, text: textOf(problems) })),
  ];
}

const textOf = (problems: Pipeline['problems'] = []): string =>
  problems.map(({ path, message }) => `${path}: ${message}`).join('; ');
