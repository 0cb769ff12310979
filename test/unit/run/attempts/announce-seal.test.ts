/** What a person reads of a seal: how much was packed, and what was not, with its reason. */
import type { SealResult } from '@tidewheel/packing/seal.ts';
import { describe, expect, it } from 'vitest';
import { announceSeal } from '../../../../functions/run/attempts/announce-seal.ts';
import { announceCompaction } from '../../../../functions/run/attempts/seal-run-compaction.ts';
import { runOf } from '../../../support/builders/records.ts';
import { fakeClock } from '../../../support/fakes/clock.ts';
import { memoryNotifier } from '../../../support/fakes/notifier.ts';
import { memoryStores } from '../../../support/fakes/stores.ts';

const run = { runId: 'digits-000001', pipeline: 'digits' };
const sealed = (changes: Partial<SealResult> = {}): SealResult => ({
  status: 'sealed',
  generation: run.runId,
  isUnpacked: false,
  shards: 1,
  samples: 9,
  bytes: 900,
  rejected: 0,
  rejections: { byReason: {}, examples: [] },
  unchanged: 0,
  removed: 0,
  ignored: 0,
  left: { objects: 0, byReason: {}, examples: [] },
  generations: 1,
  waiting: 0,
  ...changes,
});
const HOUR = 3_600;
const notes = { key: 'digits/incoming/notes.txt', reason: 'suffixNotAccepted' };

async function announced(result: SealResult) {
  const clock = fakeClock();
  const stores = memoryStores();
  await stores.runs.create(runOf('digits', 1));
  const notifier = memoryNotifier();
  await announceSeal({ ...stores, notifier, clock }, run, result);
  clock.advance(HOUR);
  await announceSeal({ ...stores, notifier, clock }, run, result);
  return {
    timeline: await stores.timeline.list(run.runId),
    record: await stores.runs.get(run.runId),
    notifier,
  };
}

describe('a seal', () => {
  it('names on the timeline what was rejected, and why', async () => {
    const rejections = { byReason: { suffixNotAccepted: 1 }, examples: [notes] };
    const { timeline, record } = await announced(sealed({ rejected: 1, rejections }));
    expect(timeline.map(({ text }) => text)).toEqual([
      '9 samples in 1 shard, 1 rejected: notes.txt (suffixNotAccepted)',
    ]);
    expect(record).toMatchObject({ generation: run.runId, rejected: { count: 1, ...rejections } });
  });

  it('puts a row without an object beside its opposite', async () => {
    const key = 'digits/incoming/train_images/1.jpg';
    const rejections = { byReason: { labelMissing: 1 }, examples: [{ key, reason: 'labelMissing' }] };
    const unknownRows = { rows: 1, of: 12, example: '1' };
    const { timeline } = await announced(
      sealed({ shards: 0, samples: 0, rejected: 1, rejections, unknownRows }),
    );
    expect(timeline[0]?.text).toContain(
      '1 of 12 rows of annotations name no object, such as 1, while train_images/1.jpg has no row (packing.annotations.folder and prefix say what rows leave out)',
    );
  });

  it('gives an example of dots in names', async () => {
    const dots = {
      joined: { objects: 2, example: 'turn.left.jpg' },
      named: { objects: 4, example: 'login/paypal.com.png' },
    };
    const { timeline } = await announced(sealed({ dots }));
    expect(timeline[0]?.text).toBe(
      '9 samples in 1 shard, 2 joined to samples by a word between dots (packing.innerSuffixes lists those words), such as turn.left.jpg, 4 with dots that stay in the name (packing.innerSuffixes lists words that join), such as login/paypal.com.png',
    );
  });

  it('keeps the time of its first announcement', async () => {
    const { record } = await announced(sealed());
    expect(record?.sealedAt).toBe(fakeClock().now().toISOString());
  });

  it('reports a batch of rejections only', async () => {
    const rejections = { byReason: { suffixNotAccepted: 1 }, examples: [notes] };
    const nothing = sealed({ status: 'nothingToTrain', shards: 0, samples: 0, rejected: 1, rejections });
    const { timeline, record } = await announced(nothing);
    expect(timeline[0]?.text).toBe('0 samples in 0 shards, 1 rejected: notes.txt (suffixNotAccepted)');
    expect(record?.generation).toBeUndefined();
    expect(record?.rejected?.count).toBe(1);
  });

  it('calls the same bytes no rejection', async () => {
    const again = sealed({ status: 'unchanged', shards: 0, samples: 0, unchanged: 2 });
    const { timeline, record } = await announced(again);
    expect(timeline).toMatchObject([
      { kind: 'ArrivalsUnchanged', text: '2 with the same bytes as before, under another ETag' },
    ]);
    expect(record?.rejected).toBeUndefined();
  });

  it('counts what is ignored, which is no rejection', async () => {
    const { timeline, record } = await announced(sealed({ ignored: 2 }));
    const ignored = '2 ignored, because systems and tools leave such files';
    expect(timeline.map(({ text }) => text)).toEqual([`9 samples in 1 shard, ${ignored}`]);
    expect(record?.rejected).toBeUndefined();
  });

  it('names what was deleted, which is no rejection', async () => {
    const { timeline, record } = await announced(sealed({ shards: 0, samples: 0, removed: 3 }));
    expect(timeline).toMatchObject([
      {
        kind: 'ArrivalsRemoved',
        text: '3 packed before and deleted since, so their samples leave the dataset',
      },
    ]);
    expect(record?.rejected).toBeUndefined();
  });

  it('is silent about rejections where there are none', async () => {
    const { timeline, record } = await announced(sealed());
    expect(timeline.map(({ text }) => text)).toEqual(['9 samples in 1 shard']);
    expect(record?.rejected).toBeUndefined();
  });
});

describe('a failed compaction', () => {
  it.each([
    [JSON.stringify({ errorMessage: 'declare "mds" again', trace: ['at x'] }), 'Error declare "mds" again'],
    [
      JSON.stringify({ errorMessage: 'declare "mds" again' }, undefined, 1).slice(0, -2),
      'Error declare "mds" again',
    ],
    ['out of memory', 'Error out of memory'],
  ])('says its reason in words: %s', async (cause, text) => {
    const stores = memoryStores();
    const failure = { status: 'failed', Error: 'Error', Cause: cause } as const;
    await announceCompaction({ ...stores, clock: fakeClock() }, run, failure);
    const [entry] = await stores.timeline.list(run.runId);
    expect(entry?.text).toBe(`generations stay separate: ${text}`);
  });
});

describe('the text of rejections', () => {
  const textOf = async (rejected: number, rejections: SealResult['rejections']) =>
    (await announced(sealed({ rejected, rejections }))).timeline[0]?.text ?? '';

  it('shows a few and counts the rest by reason', async () => {
    const examples = ['a', 'b', 'c', 'd'].map((name) => ({
      key: `digits/incoming/${name}`,
      reason: 'tooLarge',
    }));
    const byReason = { tooLarge: 40, suffixNotAccepted: 2 };
    expect(await textOf(42, { byReason, examples })).toBe(
      '9 samples in 1 shard, 42 rejected: a (tooLarge), b (tooLarge), c (tooLarge), and 39 more; in all 2 suffixNotAccepted, 40 tooLarge',
    );
  });

  it('escapes and shortens hostile keys', async () => {
    const keys = ['two\nlines', 'right\u202eto-left', 'nul\0byte', 'x'.repeat(1_000)];
    for (const key of keys) {
      const examples = [{ key: `digits/incoming/${key}`, reason: 'tooLarge' }];
      const text = await textOf(1, { byReason: { tooLarge: 1 }, examples });
      expect(text).toMatch(/^[\p{L}\p{N}\p{P}\p{S} ]+$/u);
      expect(text.length).toBeLessThan(160);
    }
  });
});
