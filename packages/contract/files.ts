/**
 * The names of the documents, below the checkpoints of a run; of `completion`, below its checkpoint.
 *
 * In: what a name contains, or the key of an object. Out: the name, or what the key contains. No errors. `keys.ts` of the
 * service and all that read host files call it; apart from the schemas, which a function that needs only names does not load.
 */

export const DOCUMENT_FILES = {
  progress: 'tidewheel-progress.json',
  kept: 'tidewheel-kept/generation-{slot}.json',
  resume: 'tidewheel-resume/attempt-{attempt}.json',
  automatic: 'tidewheel-automatic.json',
  points: 'tidewheel-evidence/{attempt}-{host}.jsonl',
  hostStart: 'tidewheel-evidence/{attempt}-{host}-phases.json',
  stepBlocks: 'tidewheel-evidence/{attempt}-{host}-steps.json',
  hangs: 'tidewheel-hangs/{host}.json',
  series: 'tidewheel-series/attempt-{attempt}.jsonl',
  scores: 'tidewheel-scores/attempt-{attempt}.jsonl',
  currentScores: 'tidewheel-scores/current-{attempt}.jsonl',
  finished: 'tidewheel-finished/attempt-{attempt}.json',
  finishedModel: 'tidewheel-finished/attempt-{attempt}.tar.gz',
  completion: 'COMPLETE.json',
} as const;
export type DocumentName = keyof typeof DOCUMENT_FILES;

/** With its slash; empty for a file that lies in no folder of its own. */
export const folderOf = (name: DocumentName): string => /^.*\/|/.exec(DOCUMENT_FILES[name])?.[0] ?? '';

type AttemptFile = 'resume' | 'scores' | 'currentScores' | 'finished' | 'finishedModel' | 'series';

export const attemptFile = (name: AttemptFile, attempt: number): string =>
  DOCUMENT_FILES[name].replace('{attempt}', String(attempt));

export interface NameParts {
  readonly attempt: number;
  readonly host: string;
}

const PARTS: Readonly<Record<string, string>> = {
  attempt: '(?<attempt>[1-9]\\d{0,4})',
  host: '(?<host>[\\w.-]{1,100}?)',
  slot: '[ab]',
};

const PATTERNS: ReadonlyMap<string, RegExp> = new Map(
  Object.entries(DOCUMENT_FILES).map(([name, file]) => {
    const pattern = file.replaceAll('.', '\\.').replace(/\{(\w+)\}/g, (_, part) => PARTS[part] ?? '');
    return [name, new RegExp(`(?:^|/)${pattern}$`)];
  }),
);

/** @returns undefined for the key of another file; a name without an attempt or a host gives 0 or '' */
export function namePartsOf(name: DocumentName, key: string): NameParts | undefined {
  const match = PATTERNS.get(name)?.exec(key);
  return match
    ? { attempt: Number(match.groups?.['attempt'] ?? 0), host: match.groups?.['host'] ?? '' }
    : undefined;
}
