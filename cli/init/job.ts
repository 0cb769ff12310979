/** A SageMaker training job that was found: in a launch script, or as DescribeTrainingJob has it. */
import { isTable } from '@tidewheel/kit/tables.ts';

export type Table = Readonly<Record<string, unknown>>;

export const asTable = (value: unknown): Table => (isTable(value) ? value : {});
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const asText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
/** A float may stand as `{ $number: '1.0' }`, in the form in which it was written. */
export const numberOf = (value: unknown): number | undefined => {
  const written = asText(asTable(value)['$number']);
  const number = written === undefined ? value : Number(written);
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
};

/** A table that cannot be read has one entry, which says so. */
export const entriesOf = (value: unknown): Table =>
  unreadAt(value) === undefined ? asTable(value) : { '**': value };

/** Part of the script that has a value only when it runs. */
export const unreadAt = (value: unknown): { text: string; line: string } | undefined => {
  const table = asTable(value);
  const text = asText(table['$unread']) ?? asText(table['text']);
  return text !== undefined && ('$unread' in table || '$call' in table)
    ? { text, line: asText(table['line']) ?? '' }
    : undefined;
};

/** For one line of the difference. */
const shown = (value: unknown): string => {
  const unread = unreadAt(value);
  const text = unread?.text ?? (typeof value === 'string' ? value : plain(value));
  const short = text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN - 1)}…` : text;
  return unread === undefined ? short : `${short} (${unread.line})`;
};

const MOST_SHOWN = 60;
/** As JSON, with floats as they were written. */
export const plain = (value: unknown): string =>
  (JSON.stringify(value) ?? '').replaceAll(/\{"\$number":"([^"]*)"\}/g, '$1');

/** How a declaration has what a job had: as it was, better, or not at all; or the value could not be read. */
type Verdict = 'same' | 'better' | 'cannot' | 'unread';

/** `ours` is empty where nothing is written. */
export interface Line {
  readonly verdict: Verdict;
  readonly ours: string;
  readonly why: string;
}
export const same = (ours: string, why = ''): Line => ({ verdict: 'same', ours, why });
export const better = (ours: string, why: string): Line => ({ verdict: 'better', ours, why });
export const cannot = (why: string, ours = ''): Line => ({ verdict: 'cannot', ours, why });

/** Where the declaration has the value, one that could not be read is missing. */
export const verdictOf = ({ verdict, ours }: Line, value: unknown): Verdict =>
  unreadAt(value) !== undefined && /^(training\.|compute\.|limits\.|x-local\.|tags$)/.test(ours)
    ? 'unread'
    : verdict;

/** A line of the difference. */
export interface JobRow extends Line {
  /** In the words of where it was found. */
  readonly theirs: string;
  readonly value: string;
}

export const rowOf = (theirs: string, value: unknown, line: Line): JobRow => ({
  ...line,
  theirs,
  value: shown(value),
});

export interface FoundJob {
  /** `launch.py`, or the name of the job. */
  readonly origin: string;
  /** As in CreateTrainingJob, without hyperparameters. */
  readonly request: Table;
  /** Decoded, and without the SDK's own. */
  readonly hyperparameters: Table;
  /** What the SDK calls a field, by its path. */
  readonly words: ReadonlyMap<string, string>;
  readonly framework:
    | { readonly name: string; readonly argument: string; readonly version: string | undefined }
    | undefined;
  readonly entryPoint: string | undefined;
  /** A folder, relative to the project's, or s3://…/sourcedir.tar.gz. */
  readonly source: string | undefined;
  /** What it imports beside the source. */
  readonly dependencies: readonly string[];
  /** As the argument `distribution` of the SDK. */
  readonly distribution: Table;
  /** Instead of a script. */
  readonly command: readonly string[] | undefined;
  /** More of `training`. */
  readonly settings?: Table;
  /** Lines that its set-up installs. */
  readonly requirements?: readonly string[];
  /** Arguments for which the API has no field. */
  readonly rows: readonly JobRow[];
}
