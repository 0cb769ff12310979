/** What the quality report says of data that may be a mistake, and is packed as it came. */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import { packedInDrops } from '../../../../test/support/builders/compaction.ts';
import { PIPELINE, RUN, settings } from '../../../../test/support/builders/packing.ts';
import type { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { writeQualityReport } from '../../quality/quality-report.ts';
import type { QualityReport } from '../../quality/report-document.ts';

async function reportOf(
  drop: Readonly<Record<string, string>>,
  packing: PackingSettings,
): Promise<{ report: QualityReport | undefined; store: MemoryBlobStore }> {
  const store = await packedInDrops([drop], packing);
  const report = await writeQualityReport({ store }, { pipeline: PIPELINE, generation: RUN });
  return { report, store };
}

const page = (store: MemoryBlobStore): string =>
  store.body(`${PIPELINE}/dataset/${RUN}/quality/report.html`).toString();

describe('classes that read as the same', () => {
  it('are named together', async () => {
    const folders = [
      'Cat',
      'cat',
      'cat ',
      'caf\u00e9',
      'cafe\u0301',
      '007',
      '7',
      '70',
      'ice cream',
      'Ice_Cream',
    ];
    const drop = Object.fromEntries(folders.map((folder, index) => [`${folder}/${index}.bin`, `${index}`]));
    const { report, store } = await reportOf(drop, settings());
    expect(report?.alike).toEqual([
      ['007', '7'],
      ['Cat', 'cat', 'cat '],
      ['Ice_Cream', 'ice cream'],
      ['cafe\u0301', 'caf\u00e9'],
    ]);
    expect(page(store)).toContain('These may be one class');
  });

  it('are not said of others', async () => {
    const { report } = await reportOf({ 'cat/1.bin': '1', 'dog/2.bin': '2', '1/3.bin': '3' }, settings());
    expect(report?.alike).toBeUndefined();
  });
});

describe('headers of CSV sources without a declared one', () => {
  const none = settings({ format: 'lines', lines: { kind: 'csv', header: 'none' } });

  it.each([
    ['names above numbers', { 'a.csv': 'x,y,label\n1,2,cat\n', 'b.csv': '1,2,dog\n' }, [2, 1]],
    ['names above numbers in one column', { 'a.csv': 'price\n1.5\n' }, [1, 1]],
    ['an index of pandas', { 'a.csv': ',text,label\n0,a,b\n' }, [1, 1]],
    ['tabs and a mark', { 'a.csv': '\ufefftext\tlabel\r\nhello\t1\r\n' }, [1, 1]],
    ['the same line everywhere', { 'a.csv': 'text,label\na,b\n', 'b.csv': 'text,label\nc,d\n' }, [2, 2]],
  ])('are noticed by %s', async (_by, drop, [looked, alike]) => {
    const { report, store } = await reportOf(drop, none);
    expect(report?.headers).toMatchObject({ looked, alike });
    expect(page(store)).toContain('looks like a');
  });

  it.each([
    ['rows', { 'a.csv': '1,2,cat\n3,4,dog\n', 'b.csv': '1,2,cat\n' }],
    ['texts', { 'a.csv': 'good,pos\nbad,neg\n', 'b.csv': 'fine,pos\n' }],
  ])('are not said of %s', async (_of, drop) => {
    expect((await reportOf(drop, none)).report?.headers).toBeUndefined();
  });

  it('are not said where they are declared', async () => {
    const packing = settings({ format: 'lines', lines: { kind: 'csv', header: 'perShard' } });
    expect((await reportOf({ 'a.csv': 'x,y\n1,2\n' }, packing)).report?.headers).toBeUndefined();
  });
});
