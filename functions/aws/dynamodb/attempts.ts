import { RunNotFoundError } from '@tidewheel/kit/errors.ts';
import { attemptRecordSchema } from '../../core/runs/run-records.ts';
import { recordOf } from '../../core/runs/stored-records.ts';
import type { AttemptStore } from '../../core/runs/stores.ts';
import { listOpen } from './runs.ts';
import { type Key, type StoredTable } from './table.ts';

const numbered = (attempt: number) => String(attempt).padStart(4, '0');
const attemptKey = (runId: string, attempt: number): Key => ({
  pk: `RUN#${runId}`,
  sk: `ATTEMPT#${numbered(attempt)}`,
});
/** Names the attempt that a job belongs to. */
const namedSchema = attemptRecordSchema.pick({ runId: true, attempt: true });
const jobKey = (jobName: string): Key => ({ pk: `JOB#${jobName}`, sk: 'JOB' });

export function attemptStore(table: StoredTable): AttemptStore {
  const get = async (runId: string, attempt: number) => {
    const item = await table.get(attemptKey(runId, attempt));
    return item && recordOf(attemptRecordSchema, item);
  };
  return {
    // The item that maps the job's name to the attempt comes first, so that every attempt can be found by its job.
    create: async (attempt) => {
      const { runId, attempt: number, jobName } = attempt;
      await table.put({ ...jobKey(jobName), runId, attempt: number });
      return table.create({ ...attemptKey(runId, number), open: 'ATTEMPT', ...attempt });
    },
    get,
    update: async (runId, attempt, change) => {
      const ended = change.outcome !== undefined;
      const item = await table.update(attemptKey(runId, attempt), {
        ...change,
        ...(ended && { open: undefined }),
      });
      if (item === undefined) throw new RunNotFoundError(`${runId}, attempt ${attempt}`);
      return recordOf(attemptRecordSchema, item);
    },
    list: async (runId) => table.queryPrefix(attemptRecordSchema, `RUN#${runId}`, 'ATTEMPT#'),
    findByJob: async (jobName) => {
      const job = await table.get(jobKey(jobName));
      if (job === undefined) return undefined;
      const { runId, attempt } = recordOf(namedSchema, job);
      return get(runId, attempt);
    },
    listOpen: async (tell) => listOpen(table, attemptRecordSchema, 'ATTEMPT', tell),
  };
}
