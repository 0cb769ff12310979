/** Declarations and data in the bucket that belong to no pipeline. The service ignores them and notes it in its logs only. */

import { sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  bucketKeys,
  PIPELINES_PREFIX,
  pipelineOfDeclaration,
  testObjectKey,
} from '@tidewheel/contract/bucket-keys.ts';
import { pipelineName } from '@tidewheel/declaration/pipeline.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { quoted, shownKey } from '@tidewheel/kit/quoted.ts';
import type { Session } from './session.ts';

const LOOK_MILLISECONDS = 5_000;
/** A listing of the emulator sorts all keys of the bucket: a large bucket is looked at less often. */
const PAUSES_PER_LOOK = 30;
const INCOMING = 'incoming';
/** That of the test object of tidewheel check. */
const [CHECK_FOLDER] = testObjectKey('').split('/');

interface BucketLook {
  /** Keys under pipelines/. */
  readonly declarations: readonly string[];
  /** Folders that hold an incoming/. */
  readonly folders: readonly string[];
}

/** Ends with the session; each file is on the screen once. */
export async function watchUnclaimedFiles({
  store,
  screen,
  signal,
}: Pick<Session, 'store' | 'signal'> & {
  readonly screen: Pick<Session['screen'], 'problem'>;
}): Promise<void> {
  const shown = new Set<string>();
  while (!signal.aborted) {
    const began = performance.now();
    const look = await lookAt(store).catch(() => undefined);
    const pause = Math.max(LOOK_MILLISECONDS, PAUSES_PER_LOOK * (performance.now() - began));
    for (const text of look === undefined ? [] : unclaimedTexts(look)) {
      if (!shown.has(text)) screen.problem(text);
      shown.add(text);
    }
    await sleep(pause, undefined, { signal }).catch(() => undefined);
  }
}

function unclaimedTexts({ declarations, folders }: BucketLook): string[] {
  const declared = declaredIn(declarations);
  return [
    ...declarations.flatMap((key) => {
      const name = pipelineOfDeclaration(key);
      if (name === undefined)
        return [
          `${shownKey(key)} declares nothing: the name of a declaration is ${bucketKeys.pipeline('<pipeline>')}`,
        ];
      const reason = whyNoName(name);
      return reason === undefined ? [] : [`${shownKey(key)} declares nothing: ${reason}`];
    }),
    ...folders
      .filter((folder) => !declared.has(folder) && folder !== CHECK_FOLDER)
      .map((folder) => {
        const reason = whyNoName(folder);
        return reason === undefined
          ? `${bucketKeys.incoming(folder)} waits for a pipeline: declare it at ${bucketKeys.pipeline(folder)}`
          : `${shownKey(bucketKeys.incoming(folder))} is ignored: ${reason}`;
      }),
  ];
}

const declaredIn = (declarations: readonly string[]): ReadonlySet<string> =>
  new Set(
    declarations
      .flatMap((key) => pipelineOfDeclaration(key) ?? [])
      .filter((name) => whyNoName(name) === undefined),
  );

/** undefined for a name that a pipeline can have */
function whyNoName(name: string): string | undefined {
  const parsed = pipelineName.safeParse(name);
  if (parsed.success) return undefined;
  const remedy = parsed.error.issues.map(({ message }) => message).join('; ');
  return `${quoted(name)} cannot name a pipeline: ${remedy}`;
}

async function lookAt(store: ObjectStore): Promise<BucketLook> {
  const declarations: string[] = [];
  for await (const { key } of store.list(PIPELINES_PREFIX)) if (!key.endsWith('/')) declarations.push(key);
  const declared = declaredIn(declarations);
  const folders: string[] = [];
  for (const folder of await store.listFolders('')) {
    if (declared.has(folder)) continue;
    if ((await store.listFolders(`${folder}/`)).includes(INCOMING)) folders.push(folder);
  }
  return { declarations, folders };
}

/** Where a file of the drop folder goes, or why it goes nowhere. */
type DropTarget =
  | { readonly kind: 'data'; readonly key: string }
  /** `place` is the file or the folder that cannot be taken. */
  | { readonly kind: 'ignored'; readonly place: string; readonly remedy: string };

/** @param path relative to the drop folder */
export function dropTarget(path: string): DropTarget {
  const [folder = '', ...rest] = path.split(sep);
  if (rest.length === 0)
    return {
      kind: 'ignored',
      place: `drop/${folder}`,
      remedy: 'it belongs to no pipeline; move it to drop/<pipeline>/',
    };
  const reason = whyNoName(folder);
  if (reason !== undefined) return { kind: 'ignored', place: `drop/${folder}/`, remedy: reason };
  return { kind: 'data', key: bucketKeys.incoming(folder) + rest.join('/') };
}
