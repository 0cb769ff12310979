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
