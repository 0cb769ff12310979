/** The message for a run that is not there, with the run that was probably meant. */
import type { Stores } from '../../functions/core/runs/stores.ts';
import { nearest } from '../../functions/core/shared/nearest.ts';

const MOST_NAMES = 200;

export async function absentRunText(
  { runs, pipelines }: Pick<Stores, 'runs' | 'pipelines'>,
  runId: string,
  table: string,
): Promise<string> {
  // The number may be what was mistyped.
  const typed = runId.replace(/-\d*$/, '');
  const names = (await pipelines.list({ limit: MOST_NAMES })).map(({ name }) => name);
  const pipeline = names.includes(typed) ? typed : nearest(typed, names);
  const known = pipeline === undefined ? [] : (await runs.list(pipeline, MOST_NAMES)).map((run) => run.runId);
  const meant = nearest(runId, known) ?? known[0];
  const hint = meant === undefined ? 'GET /pipelines/NAME/runs lists them' : `did you mean ${meant}?`;
  return `there is no run "${runId}" in ${table}: ${hint}`;
}
