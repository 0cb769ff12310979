/** What every TestObjectStore does. */
import { expect, it } from 'vitest';
import type { Stores } from '../../../../functions/records/stores.ts';
import { AT, secondsAfter } from '../../builders/records.ts';

export function testObjectStoreContract(open: () => Promise<Pick<Stores, 'testObjects'>>): void {
  it('keeps when the newest event was taken', async () => {
    const { testObjects } = await open();
    await testObjects.setTaken('one', AT);
    await testObjects.setTaken('one', secondsAfter(5));
    expect(await testObjects.takenAt('one')).toBe(secondsAfter(5));
    expect(await testObjects.takenAt('two')).toBeUndefined();
  });
}
