/** What every ModelStore does. */
import { expect, it } from 'vitest';
import type { PipelineModels } from '../../../../functions/records/models.ts';
import type { Stores } from '../../../../functions/records/stores.ts';
import { AT } from '../../builders/records.ts';

const decided = (pipeline: string, number: number): PipelineModels => {
  const decision = { runId: `${pipeline}-000001`, number, at: AT, by: 'ada', reason: 'x' };
  return {
    pipeline,
    number,
    models: [{ ...decision, uri: 's3://b/m.tar.gz', bytes: 7, etag: 'e', state: 'current' }],
    news: [{ ...decision, kind: 'ModelPromoted' }],
  };
};

export function modelStoreContract(open: () => Promise<Pick<Stores, 'models'>>): void {
  it('takes one of several decisions at once', async () => {
    const { models } = await open();
    for (const before of [undefined, 1]) {
      const next = decided('pipe-models', (before ?? 0) + 1);
      const put = await Promise.all([1, 2, 3].map(() => models.put(next, before)));
      expect(put.filter(Boolean)).toHaveLength(1);
    }
    expect(await models.get('pipe-models')).toEqual(decided('pipe-models', 2));
    expect(await models.put(decided('pipe-models', 9), undefined)).toBe(false);
    expect(await models.get('pipe-none')).toBeUndefined();
  });

  it('lists pipelines with unpublished decisions', async () => {
    const { models } = await open();
    await models.put(decided('pipe-published', 1), undefined);
    const unpublished = async () => (await models.listUnpublished()).map(({ pipeline }) => pipeline);
    expect(await unpublished()).toContain('pipe-published');
    expect(await models.setPublished('pipe-published', 2)).toBe(false);
    expect(await models.setPublished('pipe-published', 1)).toBe(true);
    expect(await unpublished()).not.toContain('pipe-published');
    expect(await models.get('pipe-published')).toMatchObject({ number: 1, news: [] });
  });
}
