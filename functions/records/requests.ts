/** What a person's request for a run, a stop or a retry means for the run's record. */
import { isSameOnRecord } from '@tidewheel/kit/same-on-record.ts';
import {
  FINISHED,
  type ListedRun,
  type RunRecord,
  type RunRequest,
  type StopRequest,
} from './run-records.ts';

/** Of one run; a person repeats a call a few times at most. */
const MOST_TOKENS = 20;

/** `same`: the request is on record. `other`: one of another shape is, so one of the two would be lost. */
export type Requested =
  | { readonly kind: 'write'; readonly request: RunRequest }
  | { readonly kind: 'same' | 'other' | 'closed' | 'stopping' };

/** The first request holds. Others that ask for the same join it. */
export function requestToRecord(
  { closedAt, stop, request: before }: Pick<RunRecord, 'closedAt' | 'stop' | 'request'>,
  request: RunRequest,
): Requested {
  if (before !== undefined && request.tokens.some((token) => before.tokens.includes(token)))
    return { kind: 'same' };
  if (closedAt !== undefined) return { kind: 'closed' };
  if (stop !== undefined) return { kind: 'stopping' };
  if (before === undefined) return { kind: 'write', request };
  if (!isSameShape(before, request)) return { kind: 'other' };
  if (request.tokens.length === 0) return { kind: 'same' };
  const tokens = [...before.tokens, ...request.tokens].slice(-MOST_TOKENS);
  return { kind: 'write', request: { ...before, tokens } };
}

const isSameShape = (one: RunRequest, other: RunRequest): boolean =>
  one.source === other.source && one.again === other.again && isSameOnRecord(one.parts, other.parts);

/** Whether the run trains otherwise than its pipeline declares. */
export const isChanged = ({ request }: Pick<RunRecord, 'request'>): boolean =>
  request !== undefined && (request.changed.length > 0 || request.again !== undefined);

/** As its readers see it. */
export const shownRun = ({ request, ...run }: RunRecord | ListedRun) => {
  if (request === undefined) return run;
  const { parts: _parts, tokens: _tokens, ...shown } = request;
  return { ...run, request: shown };
};

/** As it is kept from the close on, whose declaration holds the parts. */
export function closedRequest({ parts: _parts, ...request }: RunRequest): RunRequest {
  return request;
}

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
export type ReopenChange = Required<Pick<RunRecord, 'retry' | 'declaration' | 'source'>> &
  Pick<RunRecord, 'git'> & {
    readonly generations?: undefined;
    readonly reads?: undefined;
  };

/** What changes on the record of an ended run that goes on. */
export const reopened = (execution: number, change: ReopenChange) => ({
  ...change,
  status: 'placing' as const,
  execution: execution + 1,
  updatedAt: change.retry?.at ?? '',
  stop: undefined,
  need: undefined,
  failure: undefined,
  modelUri: undefined,
  result: undefined,
  checkpointDeletion: undefined,
  acknowledgement: undefined,
  expired: undefined,
});
