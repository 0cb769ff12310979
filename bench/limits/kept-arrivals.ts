/** A bucket whose arrivals are sealed in one generation, all but the last: what its planner and its audit wrote. */

import { hash } from 'node:crypto';
import { bucketKeys, runIdOf } from '@tidewheel/contract/bucket-keys.ts';
import { DEFAULT_FORMAT } from '@tidewheel/declaration/packing-settings.ts';
import { DOCUMENT_VERSION, type Manifest, packingKeys, type SealedLine } from '@tidewheel/packing/dataset.ts';
import { compress, LineBuffer } from '../../packages/packing/documents/compressed-lines.ts';
import { listedRangesBody, RangeCollector } from '../../packages/packing/plan/listed-ranges.ts';
import { LINES_IN_PART } from '../../packages/packing/seal/audit.ts';
import { type Corpus, corpusEtag, STAMP } from '../../test/support/memory-s3/listing.ts';
import { PIPELINE } from './case.ts';

const GENERATION = runIdOf(PIPELINE, 1);
const PLAN = '0'.repeat(24);
const HOUR_MILLISECONDS = 3_600_000;
const NOTED_AT_ONCE = 1_000;
const keys = packingKeys(PIPELINE, GENERATION);

export interface Kept {
  /** Objects by key. */
  readonly sealed: ReadonlyMap<string, Buffer>;
  /** Also what the plan of the generation had listed. */
  readonly known: ReadonlyMap<string, Buffer>;
}

/** @param objects how many of the corpus, from its first */
export function keptArrivals(corpus: Corpus, objects: number): Kept {
  const sealed = new Map<string, Buffer>();
  const parts: Manifest['arrivals']['parts'] = [];
  const ranges = new RangeCollector();
  for (let first = 0; first < objects; first += LINES_IN_PART) {
    const end = Math.min(objects, first + LINES_IN_PART);
    const text = new LineBuffer();
    for (let index = first; index < end; index += 1) {
      const [key, etag] = [corpus.keyAt(index), corpusEtag(index)];
      const line: SealedLine = [key, etag, corpus.sizeAt(index), 0];
      text.add(JSON.stringify(line));
      ranges.add(key, etag, true);
    }
    const list = keys.arrivals(parts.length);
    sealed.set(`${keys.generation}${list}`, compress(text.bytes));
    const [from, last] = [corpus.keyAt(first), corpus.keyAt(end - 1)];
    parts.push({ list, sha256: hash('sha256', text.bytes), lines: end - first, first: from, last });
  }
  sealed.set(keys.rejectionsOnly, Buffer.from(JSON.stringify(manifestOf(objects, parts))));
  const at = new Date(Date.parse(STAMP) - HOUR_MILLISECONDS).toISOString();
  const listed = [keys.planRanges(PLAN), listedRangesBody([], { ranges: ranges.ranges(), at })] as const;
  return { sealed, known: new Map([...sealed, listed]) };
}

/** Notes of these keys, as of a thousand notifications each. */
export function notesOf(noted: readonly string[]): ReadonlyMap<string, Buffer> {
  const notes = new Map<string, Buffer>();
  for (let first = 0; first < noted.length; first += NOTED_AT_ONCE) {
    const text = JSON.stringify(noted.slice(first, first + NOTED_AT_ONCE));
    notes.set(`${bucketKeys.notified(PIPELINE)}${first}.json`, Buffer.from(text));
  }
  return notes;
}

/** Its shards do not matter to a plan. */
const manifestOf = (objects: number, parts: Manifest['arrivals']['parts']): Manifest => ({
  version: DOCUMENT_VERSION,
  pipeline: PIPELINE,
  generation: GENERATION,
  format: DEFAULT_FORMAT,
  schema: {},
  seed: 0,
  plan: PLAN,
  listedAt: '2026-11-21T00:00:00.000Z',
  samples: 0,
  members: 0,
  repeated: 0,
  bytes: 0,
  shards: [],
  arrivals: { objects, packed: 0, rejected: objects, deferred: 0, parts },
  rejections: { byReason: {}, examples: [] },
});
