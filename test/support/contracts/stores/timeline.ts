/** What every TimelineStore does. */
import { expect, it } from 'vitest';
import type { Stores } from '../../../../functions/records/stores.ts';
import { AT, secondsAfter } from '../../builders/records.ts';

export function timelineStoreContract(open: () => Promise<Pick<Stores, 'timeline'>>): void {
  it("lists entries by time and keeps an id's first", async () => {
    const { timeline } = await open();
    const entry = (id: string, seconds: number, text: string) =>
      timeline.add('his-b-000001', { id, at: secondsAfter(seconds), kind: 'Note', text });
    await entry('late', 20, 'late');
    await entry('early', 10, 'early');
    await entry('late', 5, 'changed');
    const texts = (await timeline.list('his-b-000001')).map((each) => each.text);
    expect(texts).toEqual(['early', 'late']);
  });

  it('keeps runs apart whose names begin alike', async () => {
    const { timeline } = await open();
    await timeline.add('his-c-000001', { id: 'a', at: AT, kind: 'Note', text: 'mine' });
    expect(await timeline.list('his-c-00000')).toEqual([]);
  });
}
