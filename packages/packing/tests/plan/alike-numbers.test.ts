/** Labels that are one number in the shards: two classes would train as one, while all counts say two. */

import { describe, expect, it } from 'vitest';
import { runOf } from '../../../../test/support/builders/compaction.ts';
import { dropped, incoming, packAll, settings } from '../../../../test/support/builders/packing.ts';

const integers = settings({ format: 'tfrecord', labelType: 'integer' });
const SAME = 'these are the same number: ';

describe('labels that are one number', () => {
  it.each(['tfrecord', 'mds', 'parquet'] as const)('are refused by %s', async (format) => {
    const store = dropped(['007/a.jpg', '7/b.jpg', '8/c.jpg', '-0/d.jpg', '0/e.jpg']);
    await expect(packAll(store, settings({ format, labelType: 'integer' }))).rejects.toThrow(
      `${SAME}"-0" and "0", "007" and "7". Give each class one name`,
    );
  });

  it("are refused at the precision of recordio's header", async () => {
    const store = dropped(['16777216/a.jpg', '16777217/b.jpg', '1e1/c.jpg', '10/d.jpg']);
    await expect(packAll(store, settings({ format: 'recordio' }))).rejects.toThrow(
      `${SAME}"10" and "1e1", "16777216" and "16777217"`,
    );
  });

  it('are refused where annotations give them', async () => {
    const store = dropped(['a.jpg', 'b.jpg']);
    store.seed(`${incoming}labels.csv`, 'key,label\na,7\nb,07\n');
    const annotations = { file: 'labels.csv', key: 'key', label: 'label' };
    await expect(packAll(store, { ...integers, label: 'annotations', annotations })).rejects.toThrow(
      `${SAME}"07" and "7"`,
    );
  });

  it('are refused in a later drop', async () => {
    const store = dropped(['7/a.jpg']);
    await packAll(store, integers);
    dropped(['007/b.jpg'], store);
    await expect(packAll(store, integers, runOf(2))).rejects.toThrow(`${SAME}"007" and "7"`);
  });

  it('cannot come by another labelType', async () => {
    const store = dropped(['007/a.jpg', '7/b.jpg']);
    await packAll(store, settings({ format: 'tfrecord' }));
    dropped(['7/c.jpg'], store);
    await expect(packAll(store, integers, runOf(2))).rejects.toThrow(/packing\.labelType is "integer"/);
  });

  it('are two classes where shards hold texts', async () => {
    const store = dropped(['007/a.jpg', '7/b.jpg']);
    expect(await packAll(store, settings({ format: 'tfrecord' }))).toMatchObject({ samples: 2 });
  });

  it('do not count where a sample brings its own', async () => {
    const store = dropped(['007/a.jpg', '007/a.cls', '7/b.cls', '7/b.jpg']);
    for (const key of ['007/a.cls', '7/b.cls']) store.seed(`${incoming}${key}`, '3');
    expect(await packAll(store, integers)).toMatchObject({ samples: 2, rejected: 0 });
  });
});
