/** Texts at which a reader may stop: counted and shown, or rejected by declaration. */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import { reportQuality } from '../../../../functions/run/attempts/report-quality.ts';
import { accounts, incoming, packedInDrops, runOf } from '../../../../test/support/builders/compaction.ts';
import { PIPELINE, packAll, RUN, settings } from '../../../../test/support/builders/packing.ts';
import { fakeClock } from '../../../../test/support/fakes/clock.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { memoryStores } from '../../../../test/support/fakes/stores.ts';
import { writeQualityReport } from '../../quality/quality-report.ts';

const LATIN = Buffer.from([0x63, 0xe9, 0x0a]);
const DROP = {
  'a/1.jpg': 'one',
  'a/1.json': '{"right": [NaN, -Infinity]}',
  'a/2.jpg': 'two',
  'a/2.json': '{broken',
  'a/3.jpg': 'three',
  'a/3.txt': LATIN,
  'a/4.jpg': 'four',
  'a/4.jsonl': '{}\n\n{"x":1}\n{broken\nfalse]\n',
};

const reportOf = (store: MemoryBlobStore) =>
  writeQualityReport({ store }, { pipeline: PIPELINE, generation: RUN });

async function packed(
  changes: Partial<PackingSettings>,
  drop: Readonly<Record<string, string | Uint8Array>>,
) {
  const store = new MemoryBlobStore();
  // Of a source without such a checksum, all bytes are read.
  store.keptSum = 'crc32';
  for (const [key, body] of Object.entries(drop)) store.seed(`${incoming}${key}`, body);
  const sealed = await packAll(store, settings(changes));
  return { store, sealed };
}

describe('texts with faults', () => {
  it('are packed, counted and shown with examples', async () => {
    const { store, sealed } = await packed({}, DROP);
    expect(sealed).toMatchObject({ samples: 4, rejected: 0 });
    const report = await reportOf(store);
    const faults = (column: string) => report?.generationTally.columns[column]?.faulty;
    const none = { notText: 0, notJson: 0, brokenLines: 0 };
    expect(faults('json')).toEqual({
      ...none,
      notJson: 1,
      brokenLines: 1,
      examples: { notText: [], notJson: [`${incoming}a/2.json`] },
    });
    expect(faults('txt')).toMatchObject({ notText: 1, examples: { notText: [`${incoming}a/3.txt`] } });
    expect(faults('jsonl')).toMatchObject({ notJson: 1, brokenLines: 2 });
    expect(faults('image')).toBeUndefined();
    const page = store.body(`${PIPELINE}/dataset/${RUN}/quality/report.html`).toString();
    expect(page).toContain('2 lines or documents in 1 members are no JSON');
    expect(page).toContain('a/3.txt');
  });

  it('are named on the timeline', async () => {
    const { store } = await packed({}, DROP);
    const [stores, clock] = [memoryStores(), fakeClock()];
    const run = { runId: RUN, pipeline: PIPELINE, generation: RUN, hold: undefined };
    await reportQuality({ ...stores, clock }, { store }, run);
    const [entry] = await stores.timeline.list(RUN);
    expect(entry?.text).toContain('1 texts are no UTF-8, 3 lines or documents in 2 members are no JSON');
  });

  it('add up over generations', async () => {
    const drops = [DROP, { 'b/1.jpg': 'five', 'b/1.json': 'no' }];
    const store = await packedInDrops(drops, settings());
    const report = await writeQualityReport({ store }, { pipeline: PIPELINE, generation: runOf(2) });
    expect(report?.versionTally.columns['json']?.faulty).toMatchObject({ notJson: 2, brokenLines: 2 });
  });

  it.each(['webdataset', 'tfrecord', 'recordio'] as const)(
    'are rejected from %s as declared',
    async (format) => {
      const drop =
        format === 'recordio' ? { '1/1.json': '{}', '1/2.json': '{broken', '1/3.txt': LATIN } : DROP;
      const { store, sealed } = await packed({ format, reject: ['notText', 'notJson'] }, drop);
      const isPair = format !== 'recordio';
      expect(sealed.rejections.byReason).toEqual(
        isPair ? { notJson: 4, notText: 2 } : { notJson: 1, notText: 1 },
      );
      expect(sealed.samples).toBe(1);
      expect((await accounts(store)).filter((line) => line.endsWith(' packed'))).toHaveLength(isPair ? 2 : 1);
    },
  );

  it('may be rejected for one reason only', async () => {
    const { sealed } = await packed({ reject: ['notText'] }, DROP);
    expect(sealed).toMatchObject({ samples: 3, rejections: { byReason: { notText: 2 } } });
  });

  it('are rejected together with the copies of their samples', async () => {
    const { store, sealed } = await packed(
      { reject: ['notJson'], balance: 'over', remainder: 'even', shardsMultipleOf: 2 },
      { ...DROP, 'b/1.jpg': 'six', 'b/2.json': '{}', 'b/2.jpg': 'seven' },
    );
    expect(sealed.rejections.byReason).toEqual({ notJson: 4 });
    expect((await reportOf(store))?.versionTally.columns['json']?.faulty).toBeUndefined();
  });

  it('may be lines of files that are joined', async () => {
    const drop = { '1.json': '{}\n{}\n', '2.json': '{}\n{broken\n' };
    const lines = { kind: 'jsonl', header: 'none' } as const;
    const kept = await packed({ format: 'lines', lines }, drop);
    const columns = Object.values((await reportOf(kept.store))?.versionTally.columns ?? {});
    expect(columns).toMatchObject([{ members: 2, faulty: { notJson: 1, brokenLines: 1 } }]);
    const { sealed } = await packed({ format: 'lines', lines, reject: ['notJson'] }, drop);
    expect(sealed).toMatchObject({ samples: 1, rejections: { byReason: { notJson: 1 } } });
  });

  describe('which are larger than what is read at once', () => {
    const PADDING = ' '.repeat(2_500);
    const large = {
      'a/1.jpg': 'one',
      'a/1.json': `{"right": ${PADDING}[NaN, -Infinity]}`,
      'a/2.jpg': 'two',
      'a/2.json': `{"x": ${PADDING}1,}`,
      'a/3.jpg': 'three',
      'a/3.json': Buffer.concat([Buffer.from(`"${PADDING}`), LATIN.subarray(0, 2), Buffer.from('"')]),
    };

    it('are counted', async () => {
      const { store, sealed } = await packed({}, large);
      expect(sealed.samples).toBe(3);
      const faulty = (await reportOf(store))?.generationTally.columns['json']?.faulty;
      expect(faulty).toMatchObject({ notText: 1, notJson: 1, brokenLines: 1 });
    });

    it.each(['webdataset', 'tfrecord', 'mds', 'parquet'] as const)('are rejected from %s', async (format) => {
      const isStrict = format === 'mds' || format === 'parquet';
      const { sealed } = await packed(
        { format, ...(!isStrict && { reject: ['notText', 'notJson'] }) },
        large,
      );
      // A reader of Parquet gives the text of a JSON document.
      const broken = format === 'parquet' ? {} : { notJson: 2 };
      expect(sealed.rejections.byReason).toEqual({ notText: 2, ...broken });
    });

    it('are read, not copied, where they may be rejected', async () => {
      const lines = { kind: 'jsonl', header: 'none' } as const;
      const drop = { '1.jsonl': `{}\n${PADDING}\n`, '2.jsonl': `{}\n${PADDING}{broken\n` };
      const copied = await packed({ format: 'lines', lines }, drop);
      expect(Object.values((await reportOf(copied.store))?.versionTally.columns ?? {})).toMatchObject([
        { members: 2, faulty: { notJson: 0, unread: 2 } },
      ]);
      const page = copied.store.body(`${PIPELINE}/dataset/${RUN}/quality/report.html`).toString();
      expect(page).toContain('2 large texts were copied by S3 and not looked at');
      const { store, sealed } = await packed({ format: 'lines', lines, reject: ['notJson'] }, drop);
      expect(sealed).toMatchObject({ samples: 1, rejections: { byReason: { notJson: 1 } } });
      expect(store.copiedBytes).toBe(0);
    });
  });
});
