/** A long list, page by page: the first page is read again and again, later ones once, when the reader comes near. */
import { useSignal } from '@preact/signals';
import { useCallback, useRef } from 'preact/hooks';
import { read } from './api.ts';
import { useReading } from './readings.ts';

interface Page {
  readonly nextToken?: string | undefined;
}

export interface Pages<T> {
  readonly items: readonly T[];
  readonly isKnown: boolean;
  readonly hasMore: boolean;
  readonly more: () => void;
}

interface PagesOptions<P extends Page, T> {
  /** With a query, such as `/runs?limit=200`. */
  readonly path: string;
  readonly itemsOf: (page: P) => readonly T[];
  readonly keyOf: (item: T) => string;
  readonly pollSeconds: number;
}

interface Later<T> {
  readonly path: string;
  readonly items: readonly T[];
  readonly token: string | undefined;
}

export function usePages<P extends Page, T>({
  path,
  itemsOf,
  keyOf,
  pollSeconds,
}: PagesOptions<P, T>): Pages<T> {
  const { body } = useReading<P>(path, () => pollSeconds);
  const later = useSignal<Later<T> | undefined>(undefined);
  const isReading = useRef(false);
  const own = later.value?.path === path ? later.value : undefined;
  const first = body === undefined ? [] : itemsOf(body);
  const token = own === undefined ? body?.nextToken : own.token;
  const more = useCallback(() => {
    if (token === undefined || isReading.current) return;
    isReading.current = true;
    void read<P>(`${path}&nextToken=${encodeURIComponent(token)}`).then((answer) => {
      isReading.current = false;
      if (answer.kind !== 'ok') return;
      const items = [...(own?.items ?? first), ...itemsOf(answer.body)];
      later.value = { path, items, token: answer.body.nextToken };
    });
  }, [path, token]);
  return {
    items: own === undefined ? first : joined(first, own.items, keyOf),
    isKnown: body !== undefined,
    hasMore: token !== undefined,
    more,
  };
}

/** New items come first, and what the first page holds is the newest word. */
function joined<T>(first: readonly T[], all: readonly T[], keyOf: (item: T) => string): readonly T[] {
  const held = new Set(first.map(keyOf));
  return [...first, ...all.filter((item) => !held.has(keyOf(item)))];
}
