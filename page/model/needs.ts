/** What waits for a person, and not for the service. */
import type { AnswerOf } from '../../client/operations.ts';
import { causeOf } from './format.ts';
import { decidedText } from './lineage.ts';

type Pipeline = AnswerOf<'listPipelines'>['pipelines'][number];
type Run = AnswerOf<'listRuns'>['runs'][number];
export type Models = AnswerOf<'listModels'>['models'][number];

/** `run` is the one that failed. */
export type Need = Readonly<{ kind: Kind; pipeline: string; run?: Run; text: string; more?: string }>;
type Kind = 'run' | 'declaration' | 'model';

/** The newest run of a pipeline where it failed and no person knows, wrong declarations, and newest models that are candidates. */
export function needsOf(
  pipelines: readonly Pipeline[],
  runs: readonly Run[],
  models: readonly Models[] = [],
): readonly Need[] {
  const newest = [...Map.groupBy(runs, ({ pipeline }) => pipeline).values()].flatMap(([run]) => run ?? []);
  const failed = newest.filter(({ status, acknowledgement }) => status === 'failed' && !acknowledgement);
  const invalid = pipelines.filter(({ valid }) => !valid);
  return [
    ...failed.map((run): Need => {
      const { cause: text, ...more } = causeOf(run.failure ?? 'it gives no reason');
      return { kind: 'run', pipeline: run.pipeline, run, text, ...more };
    }),
    ...invalid.map(({ name: pipeline, problems = [] }): Need => {
      const all = problems.map(({ path, message }) => `${path}: ${message}`).join('; ');
      return { kind: 'declaration', pipeline, text: `is declared wrongly: ${all}` };
    }),
    ...models.flatMap(({ pipeline, waiting }): readonly Need[] => {
      if (waiting === undefined) return [];
      const text = `has a model that waits for you: ${waiting.runId}, ${decidedText(waiting)}`;
      return [{ kind: 'model', pipeline, text }];
    }),
  ];
}
