import { FINISHED, type RunRecord, type StopRequest } from './run-records.ts';

/** The first request holds. A later `now` replaces `afterSave` and keeps the execution of the first. */
export function stopToRecord(
  { status, stop, execution }: Pick<RunRecord, 'status' | 'stop' | 'execution'>,
  request: Omit<StopRequest, 'execution'>,
): StopRequest | undefined {
  if (FINISHED.includes(status)) return undefined;
  if (stop === undefined) return { ...request, execution };
  const sharpens = stop.mode === 'afterSave' && request.mode === 'now';
  return sharpens ? { ...request, execution: stop.execution } : undefined;
}

/** `generations` absent: the same data as before; undefined: they are chosen again. */
export type ReopenChange = Required<Pick<RunRecord, 'retry' | 'declaration' | 'source'>> & {
  readonly generations?: undefined;
};

/** What changes on the record of an ended run that goes on. */
export const reopened = (execution: number, change: ReopenChange) => ({
  ...change,
  status: 'placing' as const,
  execution: execution + 1,
  updatedAt: change.retry?.at ?? '',
  stop: undefined,
  failure: undefined,
  modelUri: undefined,
  result: undefined,
  checkpointDeletion: undefined,
  expired: undefined,
});
