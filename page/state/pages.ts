/** A long list, page by page: the first page is read again and again, later ones once, when the reader comes near. */
import { useSignal } from '@preact/signals';
import { useCallback, useRef } from 'preact/hooks';
import { type AnswerOf, client, type ParametersOf } from './api.ts';
import { type PollInterval, useReading } from './readings.ts';

export type RunItem = AnswerOf<'listRuns'>['runs'][number];

export type RunPages = ReturnType<typeof useRuns>;

type Later = Readonly<{ name: string; runs: readonly RunItem[]; token: string | undefined }>;

/** Runs, newest first. `unreadable` says why some were left out; `again` reads the first page, `more` the next one. */
export function useRuns(parameters: ParametersOf<'listRuns'>, interval: PollInterval<AnswerOf<'listRuns'>>) {
  const { body, refusal, again } = useReading('listRuns', parameters, interval);
  const later = useSignal<Later | undefined>(undefined);
  const isReading = useRef(false);
  const name = JSON.stringify(parameters);
  const own = later.value?.name === name ? later.value : undefined;
  const { runs: first = [], nextToken, unreadable = [] }: Partial<AnswerOf<'listRuns'>> = body ?? {};
  const token = own === undefined ? nextToken : own.token;
  const held = useRef<readonly RunItem[]>([]);
  held.current = own?.runs ?? first;
  const more = useCallback(() => {
    if (token === undefined || isReading.current) return;
    isReading.current = true;
    void client.call('listRuns', { ...parameters, nextToken: token }).then((answer) => {
      isReading.current = false;
      if (answer.kind !== 'ok') return;
      const { runs, nextToken } = answer.body;
      later.value = { name, runs: [...held.current, ...runs], token: nextToken };
    });
  }, [name, token]);
  const all = body && (own === undefined ? first : joined(first, own.runs));
  return { body: all, refusal, unreadable, hasMore: token !== undefined, more, again };
}

/** New runs come first, and what the first page holds is the newest word. */
function joined(first: readonly RunItem[], all: readonly RunItem[]): readonly RunItem[] {
  const known = new Set(first.map(({ runId }) => runId));
  return [...first, ...all.filter(({ runId }) => !known.has(runId))];
}
