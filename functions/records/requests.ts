/** What a person's request for a run means for the run of the open batch. */
import { isSameOnRecord } from '@tidewheel/kit/same-on-record.ts';
import type { RunRecord, RunRequest } from './run-records.ts';

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
export const shownRun = ({ request, ...run }: RunRecord) => {
  if (request === undefined) return run;
  const { parts: _parts, tokens: _tokens, ...shown } = request;
  return { ...run, request: shown };
};

/** As it is kept from the close on, whose declaration holds the parts. */
export function closedRequest({ parts: _parts, ...request }: RunRequest): RunRequest {
  return request;
}
