/** ListTrainingJobs over records: filters, order, pages. Pure. */
import type { JobRecord } from '../model/job-record.ts';

export interface ListInput {
  readonly NextToken?: string;
  readonly MaxResults?: number;
  /** Epoch seconds, as the protocol sends them. */
  readonly CreationTimeAfter?: number;
  readonly CreationTimeBefore?: number;
  readonly LastModifiedTimeAfter?: number;
  readonly LastModifiedTimeBefore?: number;
  readonly NameContains?: string;
  readonly StatusEquals?: string;
  readonly SortBy?: 'Name' | 'CreationTime' | 'Status';
  readonly SortOrder?: 'Ascending' | 'Descending';
  readonly WarmPoolStatusEquals?: string;
  readonly TrainingPlanArnEquals?: string;
}

export interface JobsPage {
  readonly records: readonly JobRecord[];
  readonly nextToken: string | undefined;
}

const DEFAULT_PAGE = 10;

/** undefined: the token is none of ours. */
export function listJobs(all: readonly JobRecord[], input: ListInput): JobsPage | undefined {
  const sortBy = input.SortBy ?? 'CreationTime';
  const direction = input.SortOrder === 'Descending' ? -1 : 1;
  const sorted = all
    .filter((record) => isWanted(record, input))
    .map((record) => ({ record, position: positionOf(record, sortBy) }))
    .toSorted((left, right) => direction * compare(left.position, right.position));
  const start = input.NextToken === undefined ? undefined : readToken(input.NextToken);
  if (input.NextToken !== undefined && start === undefined) return undefined;
  // The token names the last one shown, not a number: jobs that come or go between pages shift nothing.
  const rest = start ? sorted.filter(({ position }) => direction * compare(position, start) > 0) : sorted;
  const page = rest.slice(0, input.MaxResults ?? DEFAULT_PAGE);
  const last = page.at(-1);
  return {
    records: page.map(({ record }) => record),
    nextToken: last && page.length < rest.length ? writeToken(last.position) : undefined,
  };
}

function isWanted(record: JobRecord, input: ListInput): boolean {
  return (
    isBetween(record.createdAt, input.CreationTimeAfter, input.CreationTimeBefore) &&
    isBetween(record.modifiedAt, input.LastModifiedTimeAfter, input.LastModifiedTimeBefore) &&
    (input.NameContains === undefined || record.name.includes(input.NameContains)) &&
    (input.StatusEquals === undefined || record.status === input.StatusEquals) &&
    // There are no warm pools here, and no capacity reserved by a plan.
    input.WarmPoolStatusEquals === undefined &&
    (input.TrainingPlanArnEquals === undefined ||
      record.request.ResourceConfig?.TrainingPlanArn === input.TrainingPlanArnEquals)
  );
}

const isBetween = (time: number, after: number | undefined, before: number | undefined): boolean =>
  (after === undefined || time > after * 1000) && (before === undefined || time < before * 1000);

type Position = readonly [string, string];

const positionOf = (record: JobRecord, sortBy: 'Name' | 'CreationTime' | 'Status'): Position => {
  switch (sortBy) {
    case 'Name':
      return [record.name, record.name];
    case 'CreationTime':
      return [String(record.createdAt).padStart(16, '0'), record.name];
    case 'Status':
      return [record.status, record.name];
  }
};

const compare = (left: Position, right: Position): number =>
  left[0] === right[0] ? compareText(left[1], right[1]) : compareText(left[0], right[0]);

const compareText = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0);

const writeToken = (position: Position): string =>
  Buffer.from(JSON.stringify(position)).toString('base64url');

function readToken(token: string): Position | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(token, 'base64url').toString('utf8'));
    if (!Array.isArray(value)) return undefined;
    const items: unknown[] = value;
    const [first, second] = items;
    return typeof first === 'string' && typeof second === 'string' ? [first, second] : undefined;
  } catch {
    return undefined;
  }
}
